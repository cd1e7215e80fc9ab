import { z } from 'zod';
import { clusterObjectKinds } from '../../core/model/enums.js';
import { count } from './bounds.js';
import { ContainerSettings } from './container-settings.js';
import { PortRanges } from './local-settings.js';

const name = (longest: number) =>
  z
    .string()
    .max(longest)
    .regex(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/, 'must be lower-case letters, digits and "-"');
/** With or without a domain before it. */
const LabelKey = z
  .string()
  .max(317)
  .regex(
    /^([a-z0-9]([a-z0-9.-]*[a-z0-9])?\/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$/,
    'must be the key of a label',
  );
const LabelValue = z
  .string()
  .regex(
    /^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$/,
    'must be the value of a label: at most 63 letters and digits',
  );

/** The key `cluster.kubernetes` of the settings file, for MUSTER_CLUSTER=kubernetes. */
export const KubernetesSettings = z.strictObject({
  kubeconfig: z
    .string()
    .min(1)
    .max(4_096)
    .optional()
    .describe('Kubeconfig file; default: KUBECONFIG, ~/.kube/config, or the account of the pod'),
  context: z.string().min(1).max(1_000).optional().describe('Context of that file; default: its current one'),
  namespace: name(63)
    .optional()
    .describe('Namespace of the pods of tasks; default: that of the context, else `default`'),
  installation: name(30)
    .default('muster')
    .describe(
      'Name of this installation, to distinguish several in a namespace; part of the names of pods, and never changed',
    ),
  nodeSelector: z
    .record(LabelKey, LabelValue)
    .default({})
    .describe('Labels of the nodes that are slaves; default: all nodes'),
  rackLabel: LabelKey.default('topology.kubernetes.io/zone').describe('Label of a node that names its rack'),
  ports: PortRanges.default('20000-20999').describe(
    'Ports of each node for tasks; the annotation `muster/ports` of a node overrides them. Do not include those of NodePort services',
  ),
  tolerations: z
    .array(
      z.strictObject({
        key: LabelKey,
        value: LabelValue.optional().describe('Absent: any value'),
        effect: z.enum(['NoSchedule', 'NoExecute']).optional().describe('Absent: both'),
      }),
    )
    .max(100)
    .default([])
    .describe('Tolerated taints of nodes; nodes with other taints get no tasks'),
  image: z.string().min(1).max(500).default('docker.io/library/busybox:1.37').describe('Image of tasks that name none'),
  pullSecrets: z.array(name(253)).max(100).default([]).describe('Secrets of the namespace for pulls of images'),
  serviceAccount: name(253)
    .optional()
    .describe('Service account of the pods of tasks, whose token is never mounted; default: that of the namespace'),
  users: z
    .record(z.string().min(1).max(256), z.number().int().min(1).max(2_147_483_647))
    .default({})
    .describe('Users that a deploy may name, each with its number'),
  runAsUser: z
    .number()
    .int()
    .min(1)
    .max(2_147_483_647)
    .default(65_534)
    .describe('Number of the user (and group) of tasks that name none, while runAs is TASK_USER'),
  runAs: ContainerSettings.shape.runAs.describe(
    'TASK_USER: tasks are not root and have no capabilities; IMAGE_USER: tasks have the user of their image, often root',
  ),
  allowPrivileged: ContainerSettings.shape.allowPrivileged,
  allowedNetworks: z
    .array(z.enum(['BRIDGE', 'HOST']))
    .max(2)
    .default(['BRIDGE'])
    .describe('Networks that a deploy may name: BRIDGE, the network of pods, and HOST, that of the node'),
  allowedHostPaths: ContainerSettings.shape.allowedHostPaths.describe(
    'Directories of nodes that volumes may mount, each as a whole; tasks without a user of their own share one user there',
  ),
  allowedObjects: z
    .array(
      z.strictObject({
        kind: z.enum([...clusterObjectKinds, 'SERVICE_ACCOUNT']).describe('Kind of the object'),
        name: z
          .string()
          .max(253)
          .regex(/^[a-z0-9][a-z0-9.-]*[*]?$/, 'must be the name of an object, or its beginning and a *')
          .describe('Name of the object in the namespace of tasks; a * at the end matches any end'),
        groups: z
          .array(z.string().min(1).max(500))
          .min(1)
          .max(1_000)
          .optional()
          .describe('Groups whose requests may name the object; absent: all requests'),
      }),
    )
    .max(10_000)
    .default([])
    .describe(
      'Claims, config maps, secrets and service accounts that deploys may name; default: none. Never allow those of Muster',
    ),
  priorityClass: name(253).optional().describe('Priority class of the pods of tasks; default: that of the cluster'),
  nodeAccessGroups: z
    .array(z.string().min(1).max(500))
    .max(1_000)
    .optional()
    .describe(
      'Groups whose requests may use what allowPrivileged, allowedNetworks (HOST) and allowedHostPaths allow; default: all requests',
    ),
  agents: z
    .strictObject({
      secretFile: z
        .string()
        .min(1)
        .max(4_096)
        .describe(
          'File with the secret, at least 32 characters, that schedulers and the agents of all nodes share. Agents also accept that of a second line',
        ),
      namespace: name(63)
        .optional()
        .describe(
          'Namespace of the agents; default: that of the tasks. Another one separates tasks from secrets and agents',
        ),
    })
    .optional()
    .describe('The agents of the nodes, by which tasks have files, figures and commands; default: there are none'),
  startSeconds: count(1, 86_400)
    .default(600)
    .describe('Time limit for the start of a pod, including the pull of its image; beyond, the task has failed'),
  keepEndedPodsSeconds: count(60, 604_800)
    .default(3_600)
    .describe(
      'Time for which pods of ended tasks are kept, with their output; until then their ids cannot start again',
    ),
  maxEndedPods: count(1, 100_000)
    .default(1_000)
    .describe('Most such pods; beyond, the oldest are removed, after at least a minute'),
  callsAtOnce: count(1, 1_000)
    .default(32)
    .describe('Launches at a time; kills and cordons have a quarter of this number in addition'),
  callTimeoutMillis: count(100, 600_000).default(10_000).describe('Time limit for an answer of the API server'),
});
export type KubernetesSettings = z.infer<typeof KubernetesSettings>;
