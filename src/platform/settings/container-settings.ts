import { z } from 'zod';
import { count } from './bounds.js';
import { harmlessParameters, isReservedParameter, isSwitch } from './engine-options.js';

/** One word of a command line. */
const Word = z
  .string()
  .min(1)
  .max(4_096)
  .regex(/^[^\0]*$/, 'must not contain a NUL character');
const Words = () => z.array(Word).max(100);

/** An option whose value stands in one word with it; only a switch has none. */
const CreateWord = Word.refine((word) => {
  const [, name = '', value] = /^--([A-Za-z0-9][A-Za-z0-9-]+)(=.*)?$/s.exec(word) ?? [];
  return name !== '' && (value !== undefined || isSwitch(name));
}, 'must be a long option in one word with its value, such as --ulimit=nofile=1024:1024');

/** Under `cluster.local.containers`: what runs containers, and what a deploy may ask of them. */
export const ContainerSettings = z.strictObject({
  engine: z
    .string()
    .regex(/^[A-Za-z0-9/][A-Za-z0-9_./+-]{0,4095}$/, 'must be the name or the absolute path of a program')
    .default('auto')
    .describe('Program that runs containers; auto: docker or podman, the first that works on the machine; off: none'),
  required: z
    .boolean()
    .default(true)
    .describe('Refuse a deploy with a container while no machine can run one; false: its tasks wait for one'),
  engineArguments: Words().default([]).describe('Arguments after its name in each command, such as --runtime=runc'),
  createArguments: z
    .array(CreateWord)
    .max(100)
    .default([])
    .describe('Further options of each new container, each in one word with its value'),
  dockerPrefix: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,30}$/, 'must be 1 to 31 letters, digits, "_", "." or "-"')
    .default('se-')
    .describe('Prefix of the names of containers; the id of the task follows'),
  sandboxPath: z
    .string()
    .regex(/^(\/[A-Za-z0-9_.-]*[A-Za-z0-9_-]){1,16}$/, 'must be an absolute path')
    .default('/mnt/cluster/sandbox')
    .describe("Path of the task's files in a container"),
  runAs: z
    .enum(['TASK_USER', 'IMAGE_USER'])
    .default('TASK_USER')
    .describe(
      'TASK_USER: containers have the user of the task and no capabilities; IMAGE_USER: the user of their image, often root',
    ),
  imageCacheMegabytes: count(0, 1_000_000_000)
    .default(20_480)
    .describe(
      'Most space in MB of unused images that the agent pulled; the oldest are removed first. A larger image is not kept',
    ),
  imageKeepDays: count(0, 3_650)
    .default(14)
    .describe('Days after which an unused image that the agent pulled is removed; 0: never'),
  maxDockerPullAttempts: count(1, 20).default(2).describe('Attempts to pull an image before the task fails'),
  dockerClientTimeLimitSeconds: count(1, 86_400).default(300).describe('Longest run of one command of the engine'),
  dockerStopTimeout: count(0, 86_400)
    .default(15)
    .describe(
      'Seconds between the stop of a container with executorData and its forced end, unless the deploy has its own value',
    ),
  dockerInheritVariables: z
    .array(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of a variable'))
    .max(1_000)
    .default([])
    .describe('Variables of the agent that every container gets'),
  registryLogin: z
    .strictObject({
      user: z.string().min(1).max(256).describe('User of the agent at a registry of images'),
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
    .describe('Allow privileged containers, which have all rights of root on their machine'),
  allowedNetworks: z
    .array(z.string().min(1).max(100))
    .max(1_000)
    .default(['BRIDGE', 'NONE'])
    .describe('Networks that a deploy may name: BRIDGE, NONE, HOST, and names of networks of the engine'),
  allowedHostPaths: z
    .array(z.string().regex(/^\/[^\0]*$/, 'must be an absolute path'))
    .max(1_000)
    .default([])
    .describe(
      'Directories of the machine that volumes may mount; parts of them only if no container can be root and no other user can change them',
    ),
  allowedVolumes: z
    .array(z.string().min(1).max(200))
    .max(1_000)
    .default([])
    .describe(
      'Volumes of the engine that any deploy of any group may name; a * at the end matches any end. They are kept until the operator removes them',
    ),
  allowedVolumeDrivers: z
    .array(z.string().min(1).max(100))
    .max(100)
    .default([])
    .describe('Drivers of volumes that a deploy may name with options; local reaches any directory'),
  allowedParameters: z
    .array(
      z
        .string()
        .regex(/^[A-Za-z0-9][A-Za-z0-9-]{0,63}$/, 'must be an option without the dashes before it')
        .refine((key) => !isReservedParameter(key), 'is not for deploys: it has a field or a setting of its own'),
    )
    .max(1_000)
    .default([...harmlessParameters])
    .describe('Options of the engine that a deploy may set; some, such as device, cap-add or user, are equal to root'),
});
export type ContainerSettings = z.infer<typeof ContainerSettings>;

export const containerSettings = { containers: ContainerSettings.prefault({}) };
