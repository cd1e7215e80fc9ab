import { podContainerName, podSandboxPath } from '../../pod-agent/pod-agent-api.js';
import { imageOf, type ContainerInfo } from '../../core/model/deploy.js';
import type { LaunchSpec } from '../../core/model/launch.js';
import { networkKind } from '../../agent/containers/rules.js';
import { appDirectory } from '../../agent/sandbox/sandbox-layout.js';
import type { KubernetesSettings } from '../../platform/settings/kubernetes-settings.js';
import { accountOf, objectVolume, secretVariables } from './cluster-objects.js';
import { withArtifacts } from './artifacts-of-pod.js';
import { containerResources, literal, wholeSeconds } from './container-values.js';
import {
  annotations,
  endFinalizer,
  installationLabel,
  labelValueOf,
  podNameOf,
  requestLabel,
  tombstoneLabel,
} from './names.js';
import type { ContainerPort, Metadata, Pod } from './objects.js';
import { shareOfMain, withPrograms } from './programs-of-pod.js';
import { stopWords } from './stop-of-pod.js';
import { exitCodesText } from './statuses-of-pod.js';

const sandboxVolume = 'sandbox';

/** Directories of its node that the agent there has made for a pod. */
export interface PreparedPod {
  /** For its files. */
  path: string;
  /** Where it waits for those that are fetched; absent: there are none. */
  artifacts?: string;
}

/**
 * The pod of a task, bound to the node that the scheduler chose. What its deploy may ask for was judged before. `prepared` absent: its
 * files go with the pod.
 */
export function podOfTask(spec: LaunchSpec, settings: KubernetesSettings, prepared?: PreparedPod): Pod {
  const { container } = spec;
  const isPrivileged = container?.docker?.privileged === true;
  const hostNetwork = container !== undefined && networkKind(container, spec.executorData !== undefined) === 'HOST';
  const image = container && imageOf(container);
  const volumes = volumesOf(container, userOf(spec, settings));
  const sandbox = prepared ? { hostPath: { path: prepared.path, type: 'Directory' } } : { emptyDir: {} };
  const pod: Pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: metadataOf(spec, settings),
    spec: {
      nodeName: spec.slaveId,
      restartPolicy: 'Never',
      ...accountOf(spec, settings),
      enableServiceLinks: false,
      ...(settings.pullSecrets.length > 0 && { imagePullSecrets: settings.pullSecrets.map((name) => ({ name })) }),
      ...(hostNetwork && { hostNetwork: true }),
      // Else a command would be process 1 of its container, which a signal ends only when it expects one.
      ...(container === undefined && { shareProcessNamespace: true }),
      ...(settings.priorityClass !== undefined && { priorityClassName: settings.priorityClass }),
      terminationGracePeriodSeconds: wholeSeconds(spec.killGraceMillis),
      tolerations: tolerations(settings),
      securityContext: podSecurity(spec, settings),
      volumes: [{ name: sandboxVolume, ...sandbox }, ...volumes.map(({ volume }) => volume)],
      containers: [
        {
          name: podContainerName,
          image: image?.name ?? settings.image,
          imagePullPolicy: image?.isPulled ? 'Always' : 'IfNotPresent',
          ...commandOf(spec),
          workingDir: workingDirectory(spec, prepared),
          env: [
            ...Object.entries(spec.environment).map(([name, value]) => ({ name, value: literal(value) })),
            ...secretVariables(spec.secretEnvironment),
          ],
          resources: containerResources(shareOfMain(spec)),
          ports: portsOf(spec, hostNetwork),
          securityContext: containerSecurity(settings, isPrivileged),
          ...startupProbe(spec),
          ...lifecycle(spec, hostNetwork),
          terminationMessagePolicy: 'File',
          volumeMounts: [{ name: sandboxVolume, mountPath: podSandboxPath }, ...volumes.map(({ mount }) => mount)],
        },
      ],
    },
  };
  const whole = withPrograms(pod, spec);
  return prepared?.artifacts === undefined ? whole : withArtifacts(whole, settings, prepared.artifacts);
}

/** As of a container of a local agent. Without an agent nothing makes the directory for the user of the task. */
const workingDirectory = ({ executorData }: LaunchSpec, prepared: PreparedPod | undefined): string =>
  executorData && prepared ? `${podSandboxPath}/${appDirectory}` : podSandboxPath;

/** For which a launch was refused, so that the same launch is refused again. */
export interface Obstacle {
  portInUse?: number;
  isDiskFull?: boolean;
}

/**
 * A pod with the name that the pod of the task would have, which never runs: a gate that is never opened keeps it from
 * any node.
 */
export function tombstoneOf(
  taskId: string,
  settings: KubernetesSettings,
  { portInUse, isDiskFull = false }: Obstacle = {},
): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: podNameOf(settings.installation, taskId),
      labels: { [installationLabel]: settings.installation, [tombstoneLabel]: 'true' },
      annotations: {
        [annotations.taskId]: taskId,
        ...(portInUse !== undefined && { [annotations.portInUse]: String(portInUse) }),
        ...(isDiskFull && { [annotations.diskFull]: 'true' }),
      },
    },
    spec: {
      restartPolicy: 'Never',
      automountServiceAccountToken: false,
      schedulingGates: [{ name: tombstoneLabel }],
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        { name: podContainerName, image: settings.image, securityContext: containerSecurity(settings, false) },
      ],
    },
  };
}

function metadataOf(spec: LaunchSpec, { installation }: KubernetesSettings): Metadata {
  return {
    name: podNameOf(installation, spec.taskId),
    labels: { [installationLabel]: installation, [requestLabel]: labelValueOf(spec.requestId) },
    annotations: {
      [annotations.taskId]: spec.taskId,
      [annotations.incarnation]: spec.incarnation,
      ...(spec.launchId !== undefined && { [annotations.launchId]: spec.launchId }),
      ...(spec.successfulExitCodes.length > 0 && {
        [annotations.successfulExitCodes]: exitCodesText(spec.successfulExitCodes),
      }),
    },
    finalizers: [endFinalizer],
  };
}

/** A node that falls silent is given up by the scheduler's own rules, not by the cluster's. */
const tolerations = (settings: KubernetesSettings) => [
  ...['not-ready', 'unreachable'].map((taint) => ({
    key: `node.kubernetes.io/${taint}`,
    operator: 'Exists',
    effect: 'NoExecute',
  })),
  ...settings.tolerations.map(({ key, value, effect }) => ({
    key,
    ...(value === undefined ? { operator: 'Exists' } : { operator: 'Equal', value }),
    ...(effect !== undefined && { effect }),
  })),
];

/** Number of its user and group; undefined: its image says who it is. */
export function userOf({ user }: LaunchSpec, { users, runAs, runAsUser }: KubernetesSettings): number | undefined {
  const named = user === undefined ? undefined : users[user];
  return named ?? (runAs === 'IMAGE_USER' ? undefined : runAsUser);
}

function podSecurity(spec: LaunchSpec, settings: KubernetesSettings): Record<string, unknown> {
  const seccompProfile = { type: 'RuntimeDefault' };
  const uid = userOf(spec, settings);
  if (uid === undefined) return { seccompProfile };
  return { runAsNonRoot: true, runAsUser: uid, runAsGroup: uid, fsGroup: uid, seccompProfile };
}

const containerSecurity = ({ runAs }: KubernetesSettings, isPrivileged: boolean): Record<string, unknown> =>
  isPrivileged
    ? { privileged: true }
    : { allowPrivilegeEscalation: false, ...(runAs === 'TASK_USER' && { capabilities: { drop: ['ALL'] } }) };

/** In a container of its own image the words go to what that image starts. */
function commandOf({ command, container, executorData }: LaunchSpec): { command?: string[]; args?: string[] } {
  const { shell, value } = command;
  if (executorData) {
    const line = ['/bin/sh', '-c', [value, ...command.arguments].join(' ')];
    const { maxOpenFiles } = executorData;
    return { command: (maxOpenFiles === undefined ? line : withOpenFiles(maxOpenFiles, line)).map(literal) };
  }
  if (shell) return { command: ['/bin/sh', '-c', value, 'sh', ...command.arguments].map(literal) };
  const words = [...(value === '' ? [] : [value]), ...command.arguments].map(literal);
  return container ? { args: words } : { command: words };
}

/** Kubernetes has no field for it. The shell becomes what it starts. */
const withOpenFiles = (limit: number, words: readonly string[]): string[] => [
  '/bin/sh',
  '-c',
  `ulimit -n ${limit} || exit 125; exec "$@"`,
  'sh',
  ...words,
];

/** Ports that the deploy maps; other ports of the task are the same inside and outside. */
function portsOf({ ports, container }: LaunchSpec, hostNetwork: boolean): ContainerPort[] {
  const mapped = [
    ...(container?.docker?.portMappings ?? []),
    ...(container?.networkInfos ?? []).flatMap(({ portMappings = [] }) => portMappings),
  ];
  const byHostPort = new Map<string, ContainerPort>();
  for (const { hostPort, containerPort, protocol } of mapped)
    byHostPort.set(`${hostPort}/${protocol ?? 'tcp'}`, {
      hostPort,
      containerPort: hostNetwork ? hostPort : containerPort,
      protocol: (protocol ?? 'tcp').toUpperCase(),
    });
  const isMapped = new Set(mapped.map(({ hostPort }) => hostPort));
  for (const port of ports)
    if (!isMapped.has(port)) byHostPort.set(`${port}/tcp`, { hostPort: port, containerPort: port, protocol: 'TCP' });
  return [...byHostPort.values()];
}

function startupProbe({ healthcheckResultFile }: LaunchSpec): { startupProbe?: Record<string, unknown> } {
  if (!healthcheckResultFile) return {};
  const { path, intervalSeconds, timeoutSeconds } = healthcheckResultFile;
  const periodSeconds = Math.max(1, Math.round(intervalSeconds));
  const failureThreshold = Math.max(1, Math.ceil(timeoutSeconds / periodSeconds));
  return { startupProbe: { exec: { command: ['test', '-e', path] }, periodSeconds, failureThreshold } };
}

/** Within the grace, which begins with it. */
function lifecycle(spec: LaunchSpec, hostNetwork: boolean): { lifecycle?: Record<string, unknown> } {
  const { http } = spec.preStop ?? {};
  const words = stopWords(spec);
  if (words) return { lifecycle: { preStop: { exec: { command: words } } } };
  if (!http) return {};
  const port = portsOf(spec, hostNetwork).find(({ hostPort }) => hostPort === http.port)?.containerPort ?? http.port;
  return { lifecycle: { preStop: { httpGet: { path: http.uri, port } } } };
}

function volumesOf(container: ContainerInfo | undefined, group: number | undefined) {
  return (container?.volumes ?? []).map((volume, index) => {
    const { containerPath = '', hostPath, mode } = volume;
    const name = `volume-${index}`;
    return {
      volume: { name, ...(objectVolume(volume, group) ?? { hostPath: { path: hostPath ?? containerPath } }) },
      mount: { name, mountPath: containerPath, readOnly: mode !== 'RW' },
    };
  });
}
