import { z } from 'zod';
import { extendedRule, isExtendedName, mostExtendedCount, mostExtendedNames } from '../../core/extended-name.js';
import { isPathPart } from '../../core/path-part.js';
import { artifactSettings } from './artifact-settings.js';
import { count, millis, timeout } from './bounds.js';
import { containerSettings } from './container-settings.js';
import { cleanupSettings, logSettings } from './log-rotation-settings.js';
import { uploadSettings } from './log-store-settings.js';
import { TaskFilesSettings } from './task-files-settings.js';
import { taskStartSettings } from './task-start-settings.js';

export const PortRanges = z
  .string()
  .regex(/^\d+-\d+(,\d+-\d+)*$/, 'must be ranges such as "31000-31999" or "31000-31499,32000-32099"')
  .refine((text) => parsePortRanges(text).every(({ begin, end }) => begin >= 1 && begin <= end && end <= 65_535), {
    message: 'each range must begin at 1 or more, end at 65535 or less, and not end before it begins',
  });

const dots = 'must not be "." or "..", and must have no control characters: no path could name it';

/** One machine that the agent presents. Several on one agent serve examples and tests of racks and attributes. */
export const SlaveSetting = z.strictObject({
  id: z
    .string()
    .regex(/^[A-Za-z0-9_.-]{1,100}$/, 'must be 1 to 100 letters, digits, "_", "." or "-"')
    .refine(isPathPart, dots),
  hostname: z.string().min(1).default('localhost'),
  /** Absent: the attribute that names racks says it. */
  rackId: z.string().min(1).refine(isPathPart, dots).optional(),
  attributes: z.record(z.string(), z.string()).default({}),
  cpus: z.number().positive().max(1_000_000),
  memoryMb: z.number().positive().max(1_000_000_000_000),
  diskMb: z.number().min(0).max(1_000_000_000_000).default(0),
  ports: PortRanges.default('31000-31999'),
  /** Counts of further resources by name, such as GPUs: tasks ask for them, and no more are placed than there are. */
  extended: z
    .record(z.string().refine(isExtendedName, extendedRule), z.number().int().min(1).max(mostExtendedCount))
    .refine((counts) => Object.keys(counts).length <= mostExtendedNames, extendedRule)
    .optional(),
});
export type SlaveSetting = z.infer<typeof SlaveSetting>;

interface RackSettings {
  rackIdAttributeKey: string;
  defaultRackId: string;
}

/** Names of racks that no path could name, where attributes of machines or the default say them. */
export function checkRacks(
  { rackIdAttributeKey, defaultRackId }: RackSettings,
  slaves: readonly SlaveSetting[],
  [context, below]: [z.core.$RefinementCtx, below: readonly string[]],
): void {
  const refuse = (rack: string | undefined, path: (string | number)[]): void => {
    if (rack !== undefined && (rack === '' || !isPathPart(rack)))
      context.addIssue({ code: 'custom', path, message: `must not be empty, and ${dots}` });
  };
  refuse(defaultRackId, ['defaultRackId']);
  slaves.forEach(({ rackId, attributes }, at) => {
    if (rackId === undefined)
      refuse(attributes[rackIdAttributeKey], [...below, 'slaves', at, 'attributes', rackIdAttributeKey]);
  });
}

/** Program that an agent runs for a command that users ask for by name. */
export const ShellCommandSetting = z.strictObject({
  name: z.string().min(1),
  /** Program and arguments; no shell reads them. */
  command: z.array(z.string()).min(1),
  /** Options that add their flag when they are asked for, in this order. */
  options: z.array(z.strictObject({ name: z.string().min(1), flag: z.string() })).default([]),
  skipCommandPrefix: z.boolean().default(false),
  /** Skips the prefix where the task is a container. */
  skipCommandPrefixDockerOnly: z.boolean().default(false),
});
export type ShellCommandSetting = z.infer<typeof ShellCommandSetting>;

export function parsePortRanges(text: string): { begin: number; end: number }[] {
  return text.split(',').map((range) => {
    const [begin = 0, end = 0] = range.split('-').map(Number);
    return { begin, end };
  });
}

/** The key `cluster.local` of the settings file. The scheduler hands it to the agents that it starts, which read it again. */
export const LocalSettings = z.strictObject({
  slaves: z
    .array(SlaveSetting)
    .min(1)
    .refine((slaves) => new Set(slaves.map((slave) => slave.id)).size === slaves.length, {
      message: 'each slave needs an id of its own',
    })
    .optional()
    .describe('Machines that the local agent presents; default: one with the resources of this machine'),
  sandboxRetentionMillis: millis()
    .default(7 * 24 * 3600 * 1000)
    .describe('Time for which the files of an ended task are kept'),
  cgroups: z
    .enum(['auto', 'off'])
    .default('auto')
    .describe('auto: limit and track tasks with the cgroups of this machine'),
  tasksRunAs: z
    .enum(['OWN_USER', 'AGENT'])
    .default('OWN_USER')
    .describe('User of tasks that name none, if the agent is root: OWN_USER: one for each task; AGENT: root'),
  taskUsers: z
    .strictObject({
      first: z
        .number()
        .int()
        .min(1_000)
        .max(2_147_000_000)
        .default(1_900_000_000)
        .describe('Number of the first user (and group) that a task gets of its own; nothing else may use them'),
      count: z.number().int().min(1).max(1_000_000).default(65_536).describe('Number of users, from that one on'),
    })
    .default({ first: 1_900_000_000, count: 65_536 }),
  allowedRunUsers: z
    .array(z.string().min(1).max(256))
    .max(10_000)
    .default([])
    .describe(
      'Accounts that a deploy or a run may name; "*": all except denied ones. Tasks that name none have a user of their own',
    ),
  deniedRunUsers: z
    .array(z.string().min(1).max(256))
    .max(10_000)
    .default(['root'])
    .describe('Accounts that no deploy may name; root includes every account with user or group number 0'),
  maxProcessesPerTask: count(8, 4_194_304).default(4_096).describe('Most processes and threads of one task'),
  checkThreadsEveryMillis: timeout(100).default(5_000).describe('Time between two counts of threads'),
  maxTaskMessageLength: count(20, 100_000).default(80).describe('Longer messages of status updates are cut'),
  shellCommands: z
    .array(ShellCommandSetting)
    .refine((commands) => new Set(commands.map((command) => command.name)).size === commands.length, {
      message: 'each command needs a name of its own',
    })
    .default([])
    .describe(
      'Programs of agents for the commands of ui.shellCommands: name, command, options, skipCommandPrefix, skipCommandPrefixDockerOnly',
    ),
  shellCommandPrefix: z.array(z.string()).default([]).describe('Words put before each of them'),
  shellCommandPidPlaceholder: z.string().default('{PID}').describe('Word that becomes the process id of the task'),
  shellCommandUserPlaceholder: z.string().default('{USER}').describe('Word that becomes the user of the task'),
  runShellCommandBeforeKillDueToThreads: z
    .strictObject({
      name: z.string().min(1).describe('Shell command that runs in a task before it is killed for too many threads'),
      options: z.array(z.string()).default([]).describe('Options of that command'),
    })
    .optional(),
  shellCommandPidFile: z
    .string()
    .min(1)
    .regex(/^[^/\0]+$/, 'must be the name of a file')
    .default('.task-pid')
    .describe('File of a task with another process id for shell commands'),
  shellCommandTimeoutMillis: timeout().default(600_000).describe('Longest run of a shell command; 0: no limit'),
  agentHangSeconds: count(1, 86_400)
    .default(30)
    .describe('Time without an answer after which the agent ends itself and is restarted; its tasks go on'),
  reservedDiskMb: count()
    .optional()
    .describe('Free space of the disk in MB below which no task is started; default: 2 % of the disk, at most 512'),
  files: TaskFilesSettings.optional(),
  ...taskStartSettings,
  ...artifactSettings,
  ...logSettings,
  ...uploadSettings,
  ...cleanupSettings,
  ...containerSettings,
});
