import { statfsSync } from 'node:fs';
import { availableParallelism, hostname, totalmem } from 'node:os';
import { z } from 'zod';
import type { logSettings } from '../platform/settings/log-rotation-settings.js';
import type { LogStore, uploadSettings } from '../platform/settings/log-store-settings.js';
import type { StoreAccess } from '../platform/settings/objstore-settings.js';
import { checkRacks, LocalSettings, type SlaveSetting } from '../platform/settings/local-settings.js';

const keys = { objstoreAccessKey: z.string().optional(), objstoreSecretKey: z.string().optional() };

/** Target of log uploads: the part of the scheduler's settings that the agent needs. */
const UploadTarget = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('FOLDER'),
    keepDays: z.number(),
    maxMegabytes: z.number(),
    directory: z.string().optional(),
    /** The directory is that of several agents. */
    shared: z.strictObject({ agent: z.string(), group: z.number().optional() }).optional(),
  }),
  z.strictObject({
    kind: z.literal('BUCKET'),
    endpoint: z.string().optional(),
    region: z.string(),
    usePathStyle: z.boolean().optional(),
    ...keys,
    /** By bucket, where they differ. */
    bucketKeys: z.record(z.string(), z.strictObject(keys)),
  }),
]);
export type UploadTarget = z.infer<typeof UploadTarget>;

/** The key `cluster.local` of the settings file, how racks are named, and where logs go. */
export const LocalClusterSettings = LocalSettings.extend({
  rackIdAttributeKey: z.string().default('rackid').describe('Attribute of a machine that names its rack'),
  defaultRackId: z.string().default('DEFAULT').describe('Rack of machines without that attribute'),
  uploadTarget: UploadTarget.optional(),
  requireIsolation: z.boolean().default(false),
}).superRefine((settings, context) => checkRacks(settings, settings.slaves ?? [], [context, []]));
export type LocalClusterSettings = z.infer<typeof LocalClusterSettings>;

/** Settings by which agents of every kind rotate and upload logs. */
export type LogSettings = Pick<
  LocalClusterSettings,
  keyof typeof logSettings | keyof typeof uploadSettings | 'uploadTarget' | 'reservedDiskMb'
>;

interface SettingsForAgent {
  agent: { requireIsolation: boolean };
  cluster: { local: object; rackIdAttributeKey: string; defaultRackId: string };
  logFolder: { keepDays: number; maxMegabytes: number; directory?: string };
}

/** Settings that an agent needs. `logStore`: store for the logs of tasks. */
export const settingsOfAgent = (
  { agent: { requireIsolation }, cluster: { local, rackIdAttributeKey, defaultRackId }, logFolder }: SettingsForAgent,
  logStore: LogStore | undefined,
): object => ({
  ...local,
  requireIsolation,
  rackIdAttributeKey,
  defaultRackId,
  ...(logStore && { uploadTarget: uploadTargetOf(logStore, logFolder) }),
});

function uploadTargetOf(
  store: LogStore,
  { keepDays, maxMegabytes, directory }: SettingsForAgent['logFolder'],
): UploadTarget {
  return store.kind === 'FOLDER' ? { kind: 'FOLDER', keepDays, maxMegabytes, directory } : bucketTarget(store);
}

/** Access to an object store, as its section of the settings says it. */
export function bucketTarget({
  endpoint,
  region,
  usePathStyle,
  objstoreAccessKey,
  objstoreSecretKey,
  groupOverrides,
}: StoreAccess): UploadTarget {
  const bucketKeys = Object.fromEntries(
    Object.values(groupOverrides).map((of) => [
      of.objstoreBucket,
      { objstoreAccessKey: of.objstoreAccessKey, objstoreSecretKey: of.objstoreSecretKey },
    ]),
  );
  return { kind: 'BUCKET', endpoint, region, usePathStyle, objstoreAccessKey, objstoreSecretKey, bucketKeys };
}

/** Throws an error whose message lists every wrong setting by name. */
export function readLocalClusterSettings(value: unknown): LocalClusterSettings {
  const result = LocalClusterSettings.safeParse(value ?? {});
  if (result.success) return result.data;
  const problems = result.error.issues.map((issue) => `cluster.local.${issue.path.join('.')}: ${issue.message}`);
  throw new Error(`Cannot start, fix these settings:\n  ${problems.join('\n  ')}`);
}

/** The default slave: this machine. `directory` says which disk its sandboxes lie on. */
export function thisMachine(directory: string): SlaveSetting {
  const disk = statfsSync(directory);
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
