import { z } from 'zod';
import { AuthSettings, checkAuthSections, LdapSettings, WebhookAuthSettings } from './auth-settings.js';
import { count, millis, seconds, timeout } from './bounds.js';
import { ClusterSettings, machineSettings, placementSettings } from './cluster-settings.js';
import { CrashLoopSettings } from './crash-loop-settings.js';
import { deploySettings, loadBalancerSettings } from './deploy-settings.js';
import { DisasterDetectionSettings } from './disaster-settings.js';
import { EventSettings } from './event-settings.js';
import { GateSettings, PrometheusSettings } from './gate-settings.js';
import { DnsSettings } from './dns-settings.js';
import { HistoryPurgingSettings, historySettings } from './history-settings.js';
import { httpSettings } from './http-settings.js';
import { checkRacks } from './local-settings.js';
import { LogFolderSettings } from './log-store-settings.js';
import { ObjstoreSettings } from './objstore-settings.js';
import { UiSettings } from './page-settings.js';
import { requestSettings } from './request-settings.js';
import { prioritySettings, schedulerSettings, usageSettings } from './scheduler-settings.js';
import { SmtpSettings, TaskMetadataSettings } from './smtp-settings.js';
import { jobSettings, taskSettings } from './task-settings.js';
import { WebhookSettings } from './webhook-settings.js';

export const logLevels = ['error', 'warn', 'info', 'debug', 'trace'] as const;
export type LogLevel = (typeof logLevels)[number];
export const logFormats = ['auto', 'pretty', 'json'] as const;
export type LogFormat = (typeof logFormats)[number];

/** The settings file: every key with its default; units are in the names. */
const Sections = z.strictObject({
  log: z
    .strictObject({
      level: z.enum(logLevels).default('info').describe('Lowest level of messages (MUSTER_LOG_LEVEL)'),
      format: z
        .enum(logFormats)
        .default('auto')
        .describe(
          'pretty: lines for people; json: one JSON object per line; auto: pretty on a terminal, else json (MUSTER_LOG_FORMAT)',
        ),
    })
    .prefault({}),
  auth: AuthSettings.prefault({}),
  agent: z
    .strictObject({
      requireIsolation: z
        .boolean()
        .default(false)
        .describe('Refuse to start an agent whose tasks would have its own user, as without root'),
      keepTasks: z
        .boolean()
        .default(false)
        .describe(
          'Keep agent and tasks running when `muster start` stops; the next start finds them (MUSTER_KEEP_TASKS, --keep-tasks)',
        ),
    })
    .prefault({}),
  cluster: ClusterSettings.superRefine((settings, context) =>
    checkRacks(settings, settings.local.slaves ?? [], [context, ['local']]),
  ).prefault({}),
  network: z
    .strictObject({
      defaultPortMapping: z
        .boolean()
        .default(false)
        .describe('Map each port of a container in network BRIDGE without port mappings to the same number'),
    })
    .prefault({}),
  crashLoop: CrashLoopSettings.prefault({}),
  disasterDetection: DisasterDetectionSettings.prefault({}),
  historyPurging: HistoryPurgingSettings.prefault({}),
  ldap: LdapSettings.prefault({}),
  ui: UiSettings.prefault({}),
  webhookAuth: WebhookAuthSettings.prefault({}),
  objstore: ObjstoreSettings.optional(),
  logFolder: LogFolderSettings.prefault({}),
  dns: DnsSettings.prefault({}),
  events: EventSettings.prefault({}),
  webhooks: WebhookSettings.prefault({}),
  gates: GateSettings.prefault({}),
  prometheus: PrometheusSettings.prefault({}),
  smtp: SmtpSettings.optional(),
  taskMetadata: TaskMetadataSettings.prefault({}),
  auditRetentionDays: z
    .number()
    .int()
    .min(1)
    .max(3_650)
    .default(30)
    .describe('Days for which the audit trail keeps a call'),
  auditMaxRows: z
    .number()
    .int()
    .min(1_000)
    .max(100_000_000)
    .default(1_000_000)
    .describe('Most calls that the audit trail keeps; beyond, the oldest are deleted, those of unknown callers first'),
  ldapCacheEnabled: z.boolean().default(true).describe('Cache answers of the directory'),
  ldapCacheSize: count(1).default(100).describe('Most users in that cache'),
  ldapCacheExpireMillis: millis().default(60_000).describe('Age at which a cached answer is refreshed'),
  legacyFieldNames: z
    .enum(['off', 'accept', 'accept+emit'])
    .default('accept')
    .describe('Names of older clients: refuse, accept on input, or also write'),
  compatibility: z
    .enum(['off', '1.5'], { error: 'must be "1.5", in quotes, or "off"' })
    .default('off')
    .describe(
      '1.5: for unmodified clients up to that version. Answers also have the older names (legacyFieldNames); input may have numbers and truth values as text, 0 and 1 as truth values, and JSON with a wrong Content-Encoding',
    ),
  ...requestSettings,
  ...placementSettings,
  ...schedulerSettings,
  ...historySettings,
  ...usageSettings,
  ...jobSettings,
  ...deploySettings,
  ...taskSettings,
  ...loadBalancerSettings,
  ...machineSettings,
  ...prioritySettings,
  saveStateEverySeconds: seconds()
    .default(30)
    .describe('Greatest age of an answer of /api/state; time between two reports of an instance about itself'),
  sandboxDefaultsToTaskId: z
    .boolean()
    .default(false)
    .describe('Begin browsing a sandbox without path in the directory of the task id'),
  sandboxHttpTimeoutMillis: timeout().default(2_000).describe('Time for an agent to answer about files'),
  ...httpSettings,
});

/** Any page whatever could act with what the browser of a caller knows: cookies, and its place in the network. */
function checkCors({ value, issues }: z.core.ParsePayload<z.infer<typeof Sections>>): void {
  const { enabled, allowedOrigins, allowCredentials } = value.cors;
  if (!(enabled || value.enableCorsFilter) || !allowCredentials || !allowedOrigins.includes('*')) return;
  const message = "must name the origins while cors.allowCredentials is true: '*' goes without credentials only";
  issues.push({ code: 'custom', path: ['cors', 'allowedOrigins'], message, input: allowedOrigins });
}

function checkCompatibility({ value, issues }: z.core.ParsePayload<z.infer<typeof Sections>>): void {
  const { compatibility, legacyFieldNames } = value;
  if (compatibility === 'off' || legacyFieldNames !== 'off') return;
  const message = 'must not be off with compatibility, which accepts and writes these names';
  issues.push({ code: 'custom', path: ['legacyFieldNames'], message, input: legacyFieldNames });
}

/** Everything the settings file may say. */
export const SettingsFile = Sections.check(checkAuthSections, checkCors, checkCompatibility);
export type SettingsFile = z.infer<typeof SettingsFile>;

/** Everything that can be set: the file above plus what comes from the environment and the command line. */
export interface Settings extends SettingsFile {
  port: number;
  host: string;
  /** URL of this instance for other instances and people; undefined: by the host name and the port. */
  advertisedUrl?: string;
  /** undefined: start the embedded server. */
  databaseUrl: string | undefined;
  dataDir: string;
  clusterDriver: 'local' | 'kubernetes' | 'simulated';
}

export const SETTINGS = Symbol('Settings');
