import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import { count } from '../platform/settings/bounds.js';
import { KubernetesSettings } from '../platform/settings/kubernetes-settings.js';
import { LocalSettings } from '../platform/settings/local-settings.js';
import { leastSecretLength, readSecrets } from './keys.js';

const Directory = z
  .string()
  .max(4_096)
  .regex(/^\/[^\0]*[^/\0]$/, 'must be an absolute path');
const { sandboxRetentionMillis, sandboxDiskHighWaterPct, reservedDiskMb, maxProcessesPerTask } = LocalSettings.shape;

/** The file of an agent of a node. */
export const PodAgentSettings = z.strictObject({
  installation: KubernetesSettings.shape.installation,
  root: Directory.optional().describe(
    'Directory of the node for the sandboxes, with the same path in the pod; default: /var/lib/muster/ and the installation',
  ),
  secretFile: Directory.default('/etc/muster/secret/agent').describe(
    `File with the secret of schedulers and agents, at least ${leastSecretLength} characters; agents also accept that of a second line`,
  ),
  host: z.string().min(1).max(253).default('0.0.0.0').describe('Address of the agent'),
  port: z.number().int().min(0).max(65_535).default(7098).describe('Port of the agent'),
  podLogs: Directory.default('/var/log/pods').describe('Directory of the kubelet with the output of containers'),
  cgroups: Directory.default('/sys/fs/cgroup').describe('Directory of the cgroups of the node'),
  logMegabytes: count(1, 1_000_000)
    .default(100)
    .describe('Most MB of each output of a task; beyond, the older half is deleted'),
  sandboxRetentionMillis,
  sandboxDiskHighWaterPct,
  reservedDiskMb,
  maxProcessesPerTask,
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
