import { z } from 'zod';

export const logrotateFrequencies = [
  'EVERY_MINUTE',
  'EVERY_FIVE_MINUTES',
  'HOURLY',
  'DAILY',
  'WEEKLY',
  'MONTHLY',
] as const;
export type LogrotateFrequency = (typeof logrotateFrequencies)[number];

const DateFormat = z
  .string()
  .regex(
    /^[A-Za-z0-9_.-]*(%[YmdHMSs][A-Za-z0-9_.-]*)+$/,
    'must be made of %Y %m %d %H %M %S %s, letters, digits, "_.-"',
  )
  .max(100)
  .refine((format) => /^[%0-9]/.test(format), { message: 'must begin with a part of the date or a digit' });

const byteUnits: Record<string, number> = { '': 1, k: 1024, M: 1024 ** 2, G: 1024 ** 3 };
const longestSize = 1024 ** 4;

/** Bytes of a size such as "10M". */
export const bytesOfSize = (text: string): number => {
  const [, number = '0', unit = ''] = /^(\d+)([kMG]?)$/.exec(text) ?? [];
  return Number(number) * (byteUnits[unit] ?? 1);
};

const relativePath = z
  .string()
  .min(1)
  .max(1_000)
  .refine((path) => !path.startsWith('/') && !path.includes('\0') && !path.split('/').includes('..'), {
    message: "must be a relative path without '..'",
  });

const Folder = z
  .string()
  .max(1_000)
  .regex(/^\/[^\0]*$/, 'must be an absolute path');

const AdditionalFile = z.strictObject({
  filename: relativePath,
  extension: z
    .string()
    .regex(/^\.?[A-Za-z0-9_-]{1,32}$/, 'must be a short ending')
    .optional(),
  dateformat: DateFormat.optional(),
  logrotateFrequencyOverride: z.enum(logrotateFrequencies).optional(),
  logrotateSizeOverride: z
    .string()
    .regex(/^\d{1,13}[kMG]?$/, 'must be a size such as 10M')
    .refine((text) => bytesOfSize(text) >= 1 && bytesOfSize(text) <= longestSize, { message: 'must be 1 to 1024G' })
    .optional(),
  deleteInExecutorCleanup: z.boolean().default(false),
});
export type AdditionalLog = z.infer<typeof AdditionalFile>;

/** Rotation of the logs of tasks by the agent; part of `cluster.local`. */
export const logSettings = {
  logrotateFrequency: z
    .enum(logrotateFrequencies)
    .default('DAILY')
    .describe('Interval of log rotation, in UTC, for tasks that name none'),
  logrotateCount: z.number().int().min(1).max(100_000).default(20).describe('Most rotated files of a log'),
  logrotateMaxageDays: z
    .number()
    .int()
    .min(1)
    .max(3_650)
    .default(7)
    .describe('Age in days at which rotated files are removed'),
  logrotateDateformat: DateFormat.default('%Y%m%d%s').describe('Date in the name of a rotated log'),
  logrotateExtrasDateformat: DateFormat.default('%Y%m%d').describe('Date in the names of rotated additional files'),
  logrotateAdditionalFiles: z
    .array(z.union([relativePath.transform((filename) => AdditionalFile.parse({ filename })), AdditionalFile]))
    .max(100)
    .default([])
    .describe('Further files of tasks with executorData that are rotated in place: names or globs, or records'),
  logrotateCompressionSettings: z
    .strictObject({
      compressCmd: z
        .string()
        .regex(/^\/[^\0]+$/, 'must be an absolute path')
        .optional()
        .describe('Path of the program'),
      compressOptions: z.array(z.string().max(1_000)).max(100).default([]).describe('Words after its path'),
      compressExt: z
        .string()
        .regex(/^[A-Za-z0-9_-]{1,32}$/, 'must be a short ending without a dot')
        .optional()
        .describe('Ending of its files, without a dot'),
    })
    .refine(({ compressCmd, compressExt }) => (compressCmd === undefined) === (compressExt === undefined), {
      message: 'compressCmd and compressExt go together',
    })
    .optional()
    .describe('A program that compresses from its input to its output, and the ending of its files; default: gzip'),
  tailLogLinesToSave: z
    .number()
    .int()
    .min(1)
    .max(100_000)
    .default(2_500)
    .describe('Last lines of the log of a finished task that are kept in tail_of_finished_service.log'),
  maxServiceLogSizeMb: z
    .number()
    .int()
    .min(1)
    .max(1_000_000)
    .optional()
    .describe('Size above which a log is rotated at once; default: logs are rotated by time only'),
  checkLogSizesEveryMillis: z
    .number()
    .int()
    .min(100)
    .max(86_400_000)
    .default(300_000)
    .describe('Time between two checks of the sizes of logs'),
  logWatcherDirectory: Folder.optional().describe(
    'Directory for records of logs with a loggingTag, for a program that follows them; default: log-watcher in the directory of the agent',
  ),
  uploadRecordsDirectory: Folder.optional().describe(
    'Directory for records of files to upload; default: uploads in the directory of the agent',
  ),
  uploaderInUse: z
    .boolean()
    .default(false)
    .describe('Another program uploads the files of these records, and removes the records; files are kept until then'),
  logRotationTimeoutSeconds: z
    .number()
    .int()
    .min(1)
    .max(86_400)
    .default(3_600)
    .describe('Time limit for rotation and compression of the logs of a task'),
};

/** Time for which the agent keeps the files of tasks that have ended; part of `cluster.local`. */
export const cleanupSettings = {
  cleanupAppDirectoryOfFailedTasksAfterMillis: z
    .number()
    .int()
    .min(0)
    .max(3_650 * 86_400_000)
    .default(86_400_000)
    .describe(
      'Time for which the app directory of a failed task is kept; those of other tasks are removed 15 minutes after the end',
    ),
  sandboxDiskHighWaterPct: z
    .number()
    .min(1)
    .max(100)
    .default(90)
    .describe('Fullness of the disk in percent above which the sandboxes of the tasks that ended first are removed'),
};
