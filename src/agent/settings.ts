import { statfsSync } from 'node:fs';
import { availableParallelism, hostname, totalmem } from 'node:os';
import { z } from 'zod';
import { LocalSettings, type SlaveSetting } from '../platform/settings/local-settings.js';

/** The key `cluster.local` of the settings file, and how racks are named. */
export const LocalClusterSettings = LocalSettings.extend({
  rackIdAttributeKey: z.string().default('rackid').describe('Attribute of a machine that names its rack'),
  defaultRackId: z.string().default('DEFAULT').describe('Rack of machines that name none'),
});
export type LocalClusterSettings = z.infer<typeof LocalClusterSettings>;

/** What an agent has to know of the settings of the cluster. */
export const settingsOfAgent = ({
  local,
  rackIdAttributeKey,
  defaultRackId,
}: {
  local: object;
  rackIdAttributeKey: string;
  defaultRackId: string;
}): object => ({ ...local, rackIdAttributeKey, defaultRackId });

/** Throws an error whose message lists every wrong setting by name. */
export function readLocalClusterSettings(value: unknown): LocalClusterSettings {
  const result = LocalClusterSettings.safeParse(value ?? {});
  if (result.success) return result.data;
  const problems = result.error.issues.map((issue) => `cluster.local.${issue.path.join('.')}: ${issue.message}`);
  throw new Error(`Cannot start, fix these settings:\n  ${problems.join('\n  ')}`);
}

/** The default slave: this machine. `folder` says which disk its sandboxes lie on. */
export function thisMachine(folder: string): SlaveSetting {
  const disk = statfsSync(folder);
  const megabyte = 1024 * 1024;
  return {
    id: `${hostname().replace(/[^A-Za-z0-9_.-]/g, '-')}-local`,
    hostname: 'localhost',
    attributes: {},
    cpus: availableParallelism(),
    memoryMb: Math.floor(totalmem() / megabyte),
    diskMb: Math.floor((disk.bavail * disk.bsize) / megabyte),
    ports: '31000-31999',
  };
}
