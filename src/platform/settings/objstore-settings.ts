import { z } from 'zod';
import { mayMeet, separatesRequests } from '../../core/logs/index.js';
import { count, millis, timeoutSeconds } from './bounds.js';

const text = () => z.string().min(1);
const bucket = {
  objstoreBucket: text(),
  objstoreAccessKey: text().optional(),
  objstoreSecretKey: text().optional(),
};
const hasBothKeysOrNone = (keys: { objstoreAccessKey?: string; objstoreSecretKey?: string }): boolean =>
  (keys.objstoreAccessKey === undefined) === (keys.objstoreSecretKey === undefined);
const bothKeys = 'objstoreAccessKey and objstoreSecretKey go together';

const ofGroups = () => z.record(z.string(), z.strictObject(bucket).refine(hasBothKeysOrNone, bothKeys)).default({});

const keyPattern = () =>
  text().refine(separatesRequests, {
    message:
      'must have %requestId/ or %taskId, before it only text, parts of the date, and %group in a folder before: else callers would see logs of others',
  });

const UploaderFile = z.strictObject({
  filename: text(),
  objstoreUploaderBucket: text().optional(),
  objstoreUploaderKeyPattern: keyPattern().optional(),
  objstoreUploaderFilenameHint: text().optional(),
  directory: text().optional(),
  checkSubdirectories: z.boolean().optional(),
});

/** A link is signed for so long at most: stores refuse longer ones. */
const longestLinkMillis = 7 * 24 * 3_600_000;

const access = {
  objstoreAccessKey: text()
    .optional()
    .describe('Access key of this service; default: that of its environment or its machine'),
  objstoreSecretKey: text().optional().describe('The secret that belongs to it'),
  endpoint: z
    .url({ protocol: /^https?$/, error: 'must be a URL such as http://store:9000' })
    .optional()
    .describe('Address of the store, also in links to files; default: that of AWS in the region'),
  region: text().default('us-east-1').describe('Region of the buckets'),
  usePathStyle: z
    .boolean()
    .optional()
    .describe('Name buckets in the path and not in the host name; default: true with an endpoint'),
};

/** Part of the section that those need who write to the store. */
export const StoreAccess = z
  .strictObject({ ...access, groupOverrides: ofGroups() })
  .refine(hasBothKeysOrNone, bothKeys);
export type StoreAccess = z.infer<typeof StoreAccess>;

/** The object store (S3 or one that speaks its protocol) that keeps the logs of tasks. Absent: there is none. */
export const ObjstoreSettings = z
  .strictObject({
    objstoreBucket: text().describe('Bucket of the logs; required in this section'),
    ...access,
    objstoreKeyFormat: keyPattern()
      .default('%requestId/%Y/%m/%taskId_%index-%s-%filename')
      .describe(
        'Pattern of the keys, with %requestId/ or %taskId to identify the request: %requestId, %group, %tag, %deployId, %host, %taskId, %filename, %fileext, %guid, %index; time of the file, in UTC: %Y, %m, %d, %H, %s (epoch milliseconds)',
      ),
    groupOverrides: ofGroups().describe(
      'By group of a request: objstoreBucket and keys of another bucket for its logs',
    ),
    groupObjstoreSearchConfigs: ofGroups().describe(
      'By group of a request: objstoreBucket and keys of a further bucket to search',
    ),
    objstoreUploaderAdditionalFiles: z
      .array(z.union([text().transform((filename) => ({ filename })), UploaderFile]))
      .default([{ filename: 'service.log' }])
      .describe(
        'Files of every task that are uploaded, by name or as ObjstoreUploaderFile; their buckets are searched',
      ),
    objstoreStorageClass: text().max(100).optional().describe('Storage class of uploads; default: that of the store'),
    applyObjstoreStorageClassAfterBytes: z
      .number()
      .int()
      .min(0)
      .max(1_000_000_000_000_000)
      .optional()
      .describe('Size in bytes above which files get this storage class; default: all files'),
    allowedUploaderBuckets: z
      .array(text())
      .max(1_000)
      .default([])
      .describe('Further buckets that a deploy or a run may name for its files; others are refused'),
    maxObjstoreThreads: count(1).default(3).describe('Calls of the store at a time, for one search'),
    waitForObjstoreListSeconds: timeoutSeconds()
      .default(5)
      .describe('Time for the store to list the objects of a search'),
    waitForObjstoreLinksSeconds: timeoutSeconds()
      .default(1)
      .describe('Time to read the metadata of the found objects and to sign the links'),
    expireObjstoreLinksAfterMillis: z
      .number()
      .int()
      .min(1_000)
      .max(longestLinkMillis)
      .default(86_400_000)
      .describe('Validity of a link to a file'),
    missingTaskDefaultObjstoreSearchPeriodMillis: millis(1)
      .default(259_200_000)
      .describe('Time after its start in which the logs of a task without history are searched'),
  })
  .refine(hasBothKeysOrNone, bothKeys)
  .superRefine(({ objstoreKeyFormat, objstoreUploaderAdditionalFiles }, context) => {
    const patterns = [
      objstoreKeyFormat,
      ...objstoreUploaderAdditionalFiles.map((file) =>
        'objstoreUploaderKeyPattern' in file ? file.objstoreUploaderKeyPattern : undefined,
      ),
    ];
    for (const [index, pattern] of patterns.entries()) {
      const other = patterns
        .slice(0, index)
        .find((one) => one !== undefined && pattern !== undefined && mayMeet(one, pattern));
      if (other === undefined) continue;
      context.addIssue({
        code: 'custom',
        path: ['objstoreUploaderAdditionalFiles', index - 1, 'objstoreUploaderKeyPattern'],
        message: `must begin as '${other}' does, up to the owner, or in a way that no such key can: else callers would see logs of others`,
      });
    }
  });
export type ObjstoreSettings = z.infer<typeof ObjstoreSettings>;
