import { z } from 'zod';
import { count, timeout } from './bounds.js';

const text = () => z.string().min(1).max(1_000);
const keys = { objstoreAccessKey: text().optional(), objstoreSecretKey: text().optional() };
const hasBothKeysOrNone = (pair: { objstoreAccessKey?: string; objstoreSecretKey?: string }): boolean =>
  (pair.objstoreAccessKey === undefined) === (pair.objstoreSecretKey === undefined);
const bothKeys = 'objstoreAccessKey and objstoreSecretKey go together';

/**
 * Store of `objstoreArtifacts`. Every caller who may deploy can fetch what these keys open, and only the agent knows
 * them.
 */
export const ArtifactStoreSettings = z
  .strictObject({
    endpoint: z
      .url({ protocol: /^https?$/, error: 'must be a URL such as http://store:9000' })
      .optional()
      .describe('Address of the store; default: that of AWS in the region'),
    region: text().default('us-east-1').describe('Region of the buckets'),
    usePathStyle: z
      .boolean()
      .optional()
      .describe('Name buckets in the path and not in the host name; default: true with an endpoint'),
    objstoreAccessKey: keys.objstoreAccessKey.describe(
      'Access key of the agent, for buckets without keys of their own; default: calls are not signed, for public buckets',
    ),
    objstoreSecretKey: keys.objstoreSecretKey.describe('The secret that belongs to it'),
    objstoreBucketCredentials: z
      .record(z.string(), z.strictObject(keys).refine(hasBothKeysOrNone, bothKeys))
      .default({})
      .describe('Different objstoreAccessKey and objstoreSecretKey, by bucket'),
    objstoreChunkSize: count(1_048_576, 5_368_709_120)
      .default(104_857_600)
      .describe('Size in bytes of the parts of a download; several are fetched at a time'),
    objstoreChunkRetries: count(1, 20).default(3).describe('Attempts for a part'),
    objstoreChunkDownloadTimeoutMillis: timeout(1)
      .default(30_000)
      .describe('Time without data after which a part is tried again'),
    objstoreDownloadTimeoutMillis: timeout(1).default(120_000).describe('Time limit for the download of an object'),
  })
  .refine(hasBothKeysOrNone, bothKeys);
export type ArtifactStoreSettings = z.infer<typeof ArtifactStoreSettings>;

/** The keys of `cluster.local` about the files that are fetched for tasks. Read by the scheduler and by the agents. */
export const artifactSettings = {
  allowedArtifactPaths: z
    .array(z.string().regex(/^\/[^\0]*$/, 'must be an absolute path'))
    .default([])
    .describe(
      "Directories of the machine from which artifacts may be copied by file: URL or path; they are read as the task's user",
    ),
  maxArtifactMegabytes: count(1, 1_000_000).default(2_048).describe('Largest artifact of a task, in MB'),
  maxTaskArtifactMegabytes: count(1, 10_000_000)
    .default(10_240)
    .describe('Most space of all artifacts of a task, packed or unpacked, in MB; never more than its disk'),
  maxArtifactFiles: count(1, 100_000_000).default(100_000).describe('Most files that artifacts unpack to'),
  artifactTimeoutSeconds: count(1, 86_400)
    .default(600)
    .describe('Time limit for fetching and unpacking the artifacts of a task'),
  artifactCacheMegabytes: count(0, 10_000_000)
    .default(2_048)
    .describe('Size of the cache of artifacts, in MB; the oldest are removed first'),
  verifyArtifactTls: z.boolean().default(true).describe('Require a trusted certificate of servers of artifacts'),
  artifactStore: ArtifactStoreSettings.optional(),
  artifactSignatureVerificationCommand: z
    .array(z.string().min(1).max(10_000))
    .min(1)
    .max(100)
    .default(['/usr/bin/gpg', '--verify', '{artifactSignaturePath}', '{artifactPath}'])
    .describe(
      'Program and arguments that verify a signature, with {artifactSignaturePath} and {artifactPath}; it runs as a user without rights, and exit code 0 means a valid signature',
    ),
  artifactSignatureKeys: z
    .string()
    .regex(/^\/[^\0]*$/, 'must be an absolute path')
    .optional()
    .describe(
      "Directory of gpg with the trusted public keys, of which the program gets a copy; default: that of the agent's user",
    ),
  failTaskOnInvalidArtifactSignature: z
    .boolean()
    .default(true)
    .describe('Fail a task whose artifact has an invalid signature; false: executor.log reports it'),
  failOnArtifactWithNoMatchingSignature: z
    .boolean()
    .default(false)
    .describe('Fail a task that has an artifact without a signature'),
  failOnSignatureWithNoMatchingArtifact: z
    .boolean()
    .default(false)
    .describe('Fail a task that has a signature without its artifact'),
  verifyAssignedPorts: z
    .boolean()
    .default(true)
    .describe('Try each port of a task before it starts; if a port is in use, the task is placed again'),
};
export type ArtifactSettings = Omit<z.infer<z.ZodObject<typeof artifactSettings>>, 'verifyAssignedPorts'>;
