import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import { count, directoryPath } from '../platform/settings/bounds.js';
import { artifactSettings } from '../platform/settings/artifact-settings.js';
import { KubernetesSettings } from '../platform/settings/kubernetes-settings.js';
import { LocalSettings } from '../platform/settings/local-settings.js';
import { LogFolderSettings, uploadSettings } from '../platform/settings/log-store-settings.js';
import { StoreAccess } from '../platform/settings/objstore-settings.js';
import { leastSecretLength, readSecrets } from './keys.js';

const {
  sandboxRetentionMillis,
  sandboxDiskHighWaterPct,
  reservedDiskMb,
  maxProcessesPerTask,
  logrotateFrequency,
  logrotateCount,
  logrotateMaxageDays,
  logrotateDateformat,
  logrotateExtrasDateformat,
  logrotateAdditionalFiles,
  logrotateCompressionSettings,
  maxServiceLogSizeMb,
  checkLogSizesEveryMillis,
  logRotationTimeoutSeconds,
  maxTaskThreads,
  threadCheckerType,
  checkThreadsEveryMillis,
  cleanupAppDirectoryOfFailedTasksAfterMillis,
} = LocalSettings.shape;
const { keepDays, maxMegabytes } = LogFolderSettings.shape;
/** An agent sees nothing of its node but what it mounts, and looks at no ports. */
const { allowedArtifactPaths: _paths, verifyAssignedPorts: _ports, artifactStore, ...artifacts } = artifactSettings;

/** The file of an agent of a node. */
export const PodAgentSettings = z.strictObject({
  installation: KubernetesSettings.shape.installation,
  root: directoryPath()
    .optional()
    .describe(
      'Directory of the node for the sandboxes, with the same path in the pod; default: /var/lib/muster/ and the installation',
    ),
  secretFile: directoryPath()
    .default('/etc/muster/secret/agent')
    .describe(
      `File with the secret of schedulers and agents, at least ${leastSecretLength} characters; agents also accept that of a second line`,
    ),
  host: z.string().min(1).max(253).default('0.0.0.0').describe('Address of the agent'),
  port: z.number().int().min(0).max(65_535).default(7098).describe('Port of the agent'),
  podLogs: directoryPath().default('/var/log/pods').describe('Directory of the kubelet with the output of containers'),
  cgroups: directoryPath().default('/sys/fs/cgroup').describe('Directory of the cgroups of the node'),
  logMegabytes: count(1, 1_000_000)
    .default(100)
    .describe(
      'Most MB of each output of a task with its rotated files: a quarter is rotated at once, and beyond, the oldest are deleted',
    ),
  sandboxRetentionMillis,
  sandboxDiskHighWaterPct,
  reservedDiskMb,
  maxProcessesPerTask,
  logrotateFrequency,
  logrotateCount,
  logrotateMaxageDays,
  logrotateDateformat,
  logrotateExtrasDateformat,
  logrotateAdditionalFiles,
  logrotateCompressionSettings,
  maxServiceLogSizeMb,
  checkLogSizesEveryMillis,
  logRotationTimeoutSeconds,
  objstore: StoreAccess.optional().describe(
    'Object store of the logs, as in the section objstore of the schedulers: endpoint, region, usePathStyle, objstoreAccessKey, objstoreSecretKey, groupOverrides',
  ),
  logFolder: z
    .strictObject({ directory: directoryPath(), keepDays, maxMegabytes, group: count(0, 2_147_483_647).optional() })
    .optional()
    .describe(
      'Without objstore, the directory of the logs, one for all agents and schedulers: directory, keepDays, maxMegabytes, group (number of the group that may read it)',
    ),
  ...uploadSettings,
  maxTaskThreads,
  threadCheckerType,
  checkThreadsEveryMillis,
  // How a task ended the agent does not know.
  cleanupAppDirectoryOfFailedTasksAfterMillis: cleanupAppDirectoryOfFailedTasksAfterMillis.describe(
    'Time for which the app directory of a task with executorData is kept, however it ended',
  ),
  ...artifacts,
  artifactStore: artifactStore.describe(
    'Object store of objstoreArtifacts; its keys are those of `cluster.local.artifactStore` in settings.md',
  ),
});
export type PodAgentSettings = z.infer<typeof PodAgentSettings> & { root: string; secrets: string[] };

/** Throws an error whose message lists every wrong setting by name. */
export function readPodAgentSettings(path: string | undefined): PodAgentSettings {
  const result = PodAgentSettings.safeParse((path === undefined ? undefined : parse(readFileSync(path, 'utf8'))) ?? {});
  if (!result.success) {
    const problems = result.error.issues.map((issue) => `${issue.path.join('.') || path}: ${issue.message}`);
    throw new Error(`Cannot start, fix these settings:\n  ${problems.join('\n  ')}`);
  }
  const { data } = result;
  const secrets = readSecrets(data.secretFile, 'secretFile');
  return { ...data, root: data.root ?? `/var/lib/muster/${data.installation}`, secrets };
}
