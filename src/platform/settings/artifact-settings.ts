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
      .describe('Where the store is; default: that of AWS in the region'),
    region: text().default('us-east-1').describe('Region of the buckets'),
    usePathStyle: z
      .boolean()
      .optional()
      .describe('Whether buckets are named in the path and not in the host name; default: with an endpoint'),
    objstoreAccessKey: keys.objstoreAccessKey.describe(
      'Who the agent is to the store, for buckets that have no keys of their own; default: calls are not signed, for public buckets',
    ),
    objstoreSecretKey: keys.objstoreSecretKey.describe('The secret that belongs to it'),
    objstoreBucketCredentials: z
      .record(z.string(), z.strictObject(keys).refine(hasBothKeysOrNone, bothKeys))
      .default({})
      .describe('By bucket: objstoreAccessKey and objstoreSecretKey, where they differ'),
    objstoreChunkSize: count(1_048_576, 5_368_709_120)
      .default(104_857_600)
      .describe('Size in bytes of the parts in which an object is fetched, several at a time'),
    objstoreChunkRetries: count(1, 20).default(3).describe('Times that a part is tried'),
    objstoreChunkDownloadTimeoutMillis: timeout(1)
      .default(30_000)
      .describe('How long a part may bring nothing before it is tried again'),
    objstoreDownloadTimeoutMillis: timeout(1).default(120_000).describe('Longest time in which an object is fetched'),
  })
  .refine(hasBothKeysOrNone, bothKeys);
export type ArtifactStoreSettings = z.infer<typeof ArtifactStoreSettings>;

/** The keys of `cluster.local` about the files that are fetched for tasks. Read by the scheduler and by the agent. */
export const artifactSettings = {
  allowedArtifactPaths: z
    .array(z.string().regex(/^\/[^\0]*$/, 'must be an absolute path'))
    .default([])
    .describe(
      "Folders of the machine from which artifacts may be copied by file: URL or path; they are read as the task's user",
    ),
  maxArtifactMegabytes: count(1, 1_000_000).default(2_048).describe('Largest file that is fetched for a task, in MB'),
  maxTaskArtifactMegabytes: count(1, 10_000_000)
    .default(10_240)
    .describe('Most that all files fetched for a task take, packed or unpacked, in MB; never more than its disk'),
  maxArtifactFiles: count(1, 100_000_000).default(100_000).describe('Most files that artifacts unpack to'),
  artifactTimeoutSeconds: count(1, 86_400)
    .default(600)
    .describe('Longest time in which the files of a task are fetched and unpacked'),
  artifactCacheMegabytes: count(0, 10_000_000)
    .default(2_048)
    .describe('Most that the agent keeps of files it has fetched, for further tasks, in MB; the oldest go first'),
  verifyArtifactTls: z
    .boolean()
    .default(true)
    .describe('Whether servers of artifacts have to show a certificate that is trusted'),
  artifactStore: ArtifactStoreSettings.optional(),
  artifactSignatureVerificationCommand: z
    .array(z.string().min(1).max(10_000))
    .min(1)
    .max(100)
    .default(['/usr/bin/gpg', '--verify', '{artifactSignaturePath}', '{artifactPath}'])
    .describe(
      'Program and arguments that check a signature, with {artifactSignaturePath} and {artifactPath}; it runs as a user without rights, and 0 is its exit code when the signature is good',
    ),
  artifactSignatureKeys: z
    .string()
    .regex(/^\/[^\0]*$/, 'must be an absolute path')
    .optional()
    .describe(
      "Folder of gpg with the public keys to trust, of which the program gets a copy; default: that of the agent's user",
    ),
  failTaskOnInvalidArtifactSignature: z
    .boolean()
    .default(true)
    .describe('Whether a task fails whose artifact has a signature that is not good; else executor.log says so'),
  failOnArtifactWithNoMatchingSignature: z
    .boolean()
    .default(false)
    .describe('Whether a task fails that has an artifact to fetch without a signature'),
  failOnSignatureWithNoMatchingArtifact: z
    .boolean()
    .default(false)
    .describe('Whether a task fails that has a signature without its artifact'),
  verifyAssignedPorts: z
    .boolean()
    .default(true)
    .describe('Whether each port of a task is tried before it starts; a taken one has it placed anew'),
};
