import { z } from 'zod';
import { count } from './bounds.js';

/** One word of a command line; with `=`, so that no value is taken for an option. */
const Word = z
  .string()
  .min(1)
  .max(4_096)
  .regex(/^[^\0]*$/, 'must not contain a NUL character');
const Words = () => z.array(Word).max(100);

/** What only the agent sets, and what has a field of its own in a deploy with a rule of its own. */
const reservedParameters = new Set(
  (
    'a attach attach-stdin cap-add-file cidfile conmon-pidfile cgroup-parent cgroups d detach e env env-file env-host i interactive ' +
    'image-volume log-driver log-opt mount name net network no-healthcheck p passwd pidfile privileged publish publish-all P pull q ' +
    'replace rm rootfs sig-proxy sdnotify t tty v volume volumes-from volume-driver preserve-fds systemd'
  ).split(' '),
);

/** The keys that no deploy may use whatever the operator says, or does not need to. */
export const isReservedParameter = (key: string): boolean => reservedParameters.has(key);

/** What reaches nothing beside the container itself. */
const harmlessParameters = ['entrypoint', 'h', 'hostname', 'init', 'read-only', 'stop-signal', 'w', 'workdir'];

/** Under `cluster.local.containers`: what runs containers, and what a deploy may ask of them. */
export const ContainerSettings = z.strictObject({
  engine: z
    .string()
    .regex(/^[A-Za-z0-9/][A-Za-z0-9_./+-]{0,4095}$/, 'must be the name or the absolute path of a program')
    .default('auto')
    .describe('Program that runs containers; auto: docker or podman, the first that works here; off: none'),
  required: z
    .boolean()
    .default(true)
    .describe('Whether a deploy with a container is refused while no machine can run one; false: it waits for one'),
  engineArguments: Words().default([]).describe('Words after its name in each of its commands, such as --runtime=runc'),
  createArguments: Words().default([]).describe('Further options with which each container is created'),
  dockerPrefix: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,30}$/, 'must be 1 to 31 letters, digits, "_", "." or "-"')
    .default('se-')
    .describe('Begin of the names of containers; the id of the task follows'),
  sandboxPath: z
    .string()
    .regex(/^(\/[A-Za-z0-9_.-]*[A-Za-z0-9_-]){1,16}$/, 'must be an absolute path')
    .default('/mnt/cluster/sandbox')
    .describe("Where a container finds the task's files"),
  runAs: z
    .enum(['TASK_USER', 'IMAGE_USER'])
    .default('TASK_USER')
    .describe(
      'TASK_USER: containers have the user that the task has, and no capabilities; IMAGE_USER: that of their image, often root',
    ),
  maxDockerPullAttempts: count(1, 20).default(2).describe('How often an image is asked for before the task fails'),
  dockerClientTimeLimitSeconds: count(1, 86_400).default(300).describe('Longest run of one command of the engine'),
  dockerStopTimeout: count(0, 86_400)
    .default(15)
    .describe(
      'Seconds between the stop of a container with executorData and its end by force, unless the deploy says so',
    ),
  dockerInheritVariables: z
    .array(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of a variable'))
    .max(1_000)
    .default([])
    .describe('Variables of the agent that every container gets'),
  registryLogin: z
    .strictObject({
      user: z.string().min(1).max(256).describe('Who the agent is to a registry of images'),
      password: z.string().min(1).max(10_000).describe('The password, or token, of that user'),
      server: z
        .string()
        .regex(/^[A-Za-z0-9][A-Za-z0-9.:_-]{0,254}$/, 'must be a host, with or without a port')
        .describe('Host of the registry'),
    })
    .optional(),
  allowPrivileged: z
    .boolean()
    .default(false)
    .describe('Whether a deploy may ask for privileged containers, which have all rights of root on their machine'),
  allowedNetworks: z
    .array(z.string().min(1).max(100))
    .max(1_000)
    .default(['BRIDGE', 'NONE'])
    .describe('Networks that a deploy may name: BRIDGE, NONE, HOST, and names of networks of the engine'),
  allowedHostPaths: z
    .array(z.string().regex(/^\/[^\0]*$/, 'must be an absolute path'))
    .max(1_000)
    .default([])
    .describe('Folders of the machine of which volumes may show all or a part'),
  allowedVolumes: z
    .array(z.string().min(1).max(200))
    .max(1_000)
    .default([])
    .describe('Volumes of the engine that a deploy may name; a * at the end stands for any end'),
  allowedVolumeDrivers: z
    .array(z.string().min(1).max(100))
    .max(100)
    .default([])
    .describe('Drivers of volumes that a deploy may name and give options; with local it reaches any folder'),
  allowedParameters: z
    .array(
      z
        .string()
        .regex(/^[A-Za-z0-9][A-Za-z0-9-]{0,63}$/, 'must be an option without the dashes before it')
        .refine((key) => !isReservedParameter(key), 'is not for deploys: it has a field or a setting of its own'),
    )
    .max(1_000)
    .default(harmlessParameters)
    .describe(
      'Options of the engine that a deploy may set; some, such as device, cap-add or user, are as good as root',
    ),
});
export type ContainerSettings = z.infer<typeof ContainerSettings>;

export const containerSettings = { containers: ContainerSettings.prefault({}) };
