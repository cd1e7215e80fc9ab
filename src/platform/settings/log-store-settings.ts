import { z } from 'zod';
import type { ObjstoreUploaderFile } from '../../core/model/deploy.js';
import { count, directoryPath } from './bounds.js';
import { ObjstoreSettings } from './objstore-settings.js';

/** Directory of the agent that keeps the logs of tasks when there is no object store. */
export const LogFolderSettings = z.strictObject({
  enabled: z.boolean().default(true).describe('Keep logs of tasks in a directory, if there is no section objstore'),
  directory: directoryPath()
    .optional()
    .describe(
      'That directory; default: archive in the directory of the agent. On Kubernetes a volume of schedulers and agents; default there: none',
    ),
  keepDays: z.number().int().min(1).max(3_650).default(30).describe('Days for which a log is kept there'),
  maxMegabytes: count(1, 1_000_000_000)
    .default(5_120)
    .describe('Most space of all logs, in MB; the oldest are removed first. Each counts at least 4 KB'),
});

/** Location of the logs of tasks, and their names there. */
export type LogStore = ObjstoreSettings & { kind: 'BUCKET' | 'FOLDER' };

interface StoreChoice {
  objstore?: ObjstoreSettings;
  logFolder: { enabled: boolean; directory?: string };
  clusterDriver: string;
}

/** undefined: they are kept nowhere. */
export function logStoreOf({ objstore, logFolder, clusterDriver }: StoreChoice): LogStore | undefined {
  if (objstore) return { kind: 'BUCKET', ...objstore };
  // The data directories of schedulers and agents on Kubernetes are not the same.
  const isKept = logFolder.enabled && (clusterDriver === 'local' || logFolder.directory !== undefined);
  if (!isKept) return undefined;
  return { kind: 'FOLDER', ...ObjstoreSettings.parse({ objstoreBucket: 'logs' }) };
}

/**
 * Buckets that files of a deploy or a run may be uploaded to; undefined: any, because none is used. `group`: that of the request,
 * or all where it is not known yet.
 */
export function uploadBucketsOf({ objstore }: StoreChoice, group: { name?: string } | 'ALL'): string[] | undefined {
  if (!objstore) return undefined;
  const { objstoreBucket, allowedUploaderBuckets, objstoreUploaderAdditionalFiles, groupOverrides } = objstore;
  const ofGroups = Object.entries(groupOverrides).filter(([name]) => group === 'ALL' || name === group.name);
  return [
    objstoreBucket,
    ...allowedUploaderBuckets,
    ...objstoreUploaderAdditionalFiles.flatMap((file: ObjstoreUploaderFile) => file.objstoreUploaderBucket ?? []),
    ...ofGroups.map(([, bucket]) => bucket.objstoreBucket),
  ];
}

/** Upload of logs by the agent; part of `cluster.local`. */
export const uploadSettings = {
  checkUploadsEverySeconds: count(1, 86_400)
    .default(600)
    .describe(
      'Time between two uploads of rotated logs and further files of running tasks; files of ended tasks are uploaded at once',
    ),
  checkForOpenFiles: z
    .boolean()
    .default(true)
    .describe('Postpone files of running tasks that a process of the task has open'),
  executorMaxUploadThreads: count(1, 100).default(4).describe('Uploads at a time'),
  maxUploadMegabytesPerSecond: z
    .number()
    .min(0.01)
    .max(1_000_000)
    .default(50)
    .describe(
      'Bandwidth of all uploads of the agent, for disk and network, in MB per second; a part of a large file is read at that rate and then sent at once',
    ),
  maxUploadFileMegabytes: count(1, 5_000_000)
    .default(10_240)
    .describe(
      'Size in MB above which files are not uploaded, because one of them would delay those of all other tasks',
    ),
  maxSingleUploadSizeBytes: count(5_242_880, 5_368_709_120)
    .default(104_857_600)
    .describe('Size in bytes above which files are uploaded in parts'),
  // Twice as much is in memory while a part is sent.
  uploadPartSize: count(5_242_880, 536_870_912)
    .default(20_971_520)
    .describe('Size of a part in bytes; each upload in parts needs twice as much memory'),
  retryCount: count(1, 20).default(2).describe('Attempts for a file or a part before it is postponed'),
  retryWaitMs: count(0, 600_000)
    .default(1_000)
    .describe('Pause between two attempts; for a part shorter at first, and doubled each time'),
  uploadIdleSeconds: count(1, 86_400).default(30).describe('Time without progress after which an upload is given up'),
  objstoreContentHeaders: z
    .array(
      z.strictObject({
        filenameEndsWith: z.string().min(1).max(255),
        contentType: z.string().min(1).max(255).optional(),
        contentEncoding: z.string().min(1).max(255).optional(),
      }),
    )
    .max(100)
    .default([])
    .describe('Content type and encoding of uploads, by the end of the file name; the first match counts'),
};
