import { z } from 'zod';
import { slavePlacements } from '../../core/model/enums.js';

const seconds = () => z.number().min(0);
const millis = () => z.number().int().min(0);
const count = () => z.number().int().min(0);

/** Settings of the cluster: limits on what may be asked for, defaults for what was not said, and the driver's own. */
const ClusterSettings = z.strictObject({
  defaultCpus: z.number().positive().default(1).describe('Cores of a task whose deploy names no resources'),
  defaultMemory: z.number().positive().default(64).describe('Memory in MB of a task whose deploy names no resources'),
  defaultDisk: z.number().min(0).default(0).describe('Disk in MB of a task whose deploy names no resources'),
  maxNumInstancesPerRequest: count().default(25),
  maxNumCpusPerInstance: z.number().default(50),
  maxMemoryMbPerInstance: z.number().default(24_000),
  maxDiskMbPerInstance: z.number().default(60_000),
  maxNumCpusPerRequest: z.number().default(900),
  maxMemoryMbPerRequest: z.number().default(450_000),
  maxDiskMbPerRequest: z.number().default(3_000_000),
  rackIdAttributeKey: z.string().default('rackid'),
  defaultRackId: z.string().default('DEFAULT'),
  agentReregisterTimeoutSeconds: seconds().default(600),
  maxTasksPerOffer: count().default(0).describe('Most tasks placed on one machine in one round; 0: any number'),
  local: z
    .strictObject({
      slaves: z
        .array(z.unknown())
        .optional()
        .describe('Machines the local agent presents; default: one with what this machine has'),
      sandboxRetentionMillis: millis().default(7 * 24 * 3600 * 1000),
    })
    .prefault({}),
});

const CrashLoopSettings = z.strictObject({
  cooldownFailureThreshold: count()
    .default(5)
    .describe('Failures within evaluateCooldownOverMinutes that start a cooldown'),
  evaluateCooldownOverMinutes: z.number().positive().default(1),
});

const WebhookSettings = z.strictObject({
  maxQueuedUpdatesPerWebhook: count().default(50),
  deleteUndeliverableWebhooksAfterHours: count().default(168),
  maxConcurrent: count().default(100),
  connectTimeoutMillis: millis().default(5_000),
  requestTimeoutMillis: millis().default(60_000),
  firstRetryMillis: millis().default(1_000),
  lastRetryMillis: millis().default(600_000),
  signingSecret: z.string().optional(),
});

/** The settings file: every key with its default; units are in the names. */
export const SettingsFile = z.strictObject({
  cluster: ClusterSettings.prefault({}),
  crashLoop: CrashLoopSettings.prefault({}),
  webhooks: WebhookSettings.prefault({}),
  legacyFieldNames: z.enum(['off', 'accept', 'accept+emit']).default('accept'),
  maxRequestIdSize: count().default(100),
  maxDeployIdSize: count().default(50),
  createDeployIds: z.boolean().default(false),
  deployIdLength: z.number().int().min(4).max(32).default(8),
  allowRequestsWithoutOwners: z.boolean().default(true),
  allowDeployOfPausedRequests: z.boolean().default(false),
  allowBounceToSameHost: z.boolean().default(false),
  defaultSlavePlacement: z.enum(slavePlacements).default('GREEDY'),
  placementLeniency: z.number().min(0).default(0.09),
  expectedRacksCount: count().optional(),
  rebalanceRacksOnScaleDown: z.boolean().default(false),
  maxScaleDownWithoutAcknowledgement: count().default(10),
  maxRunNowTaskLaunchDelayDays: count().default(30),
  maxActiveOnDemandTasksPerRequest: count().default(0),
  checkSchedulerEverySeconds: seconds().default(1),
  checkDeploysEverySeconds: seconds().default(5),
  cleanupEverySeconds: seconds().default(5),
  checkExpiringUserActionEveryMillis: millis().default(45_000),
  startNewReconcileEverySeconds: seconds().default(600),
  reconcileLaunchAfterMillis: millis().default(180_000),
  persistHistoryEverySeconds: seconds().default(120),
  checkWebhooksEveryMillis: millis().default(10_000),
  checkUsageEveryMillis: millis().default(60_000),
  cleanUsageEveryMillis: millis().default(300_000),
  numUsageToKeep: count().default(15),
  checkJobsEveryMillis: millis().default(600_000),
  taskExecutionTimeLimitMillis: millis().optional(),
  cooldownMinScheduleSeconds: seconds().default(120),
  deployHealthyBySeconds: seconds().default(120),
  considerTaskHealthyAfterRunningForSeconds: seconds().default(5),
  defaultDeployStepWaitTimeMs: millis().default(0),
  defaultDeployMaxTaskRetries: count().default(0),
  healthcheckIntervalSeconds: seconds().default(5),
  healthcheckTimeoutSeconds: seconds().default(5),
  startupTimeoutSeconds: seconds().default(45),
  startupIntervalSeconds: seconds().default(2),
  startupDelaySeconds: seconds().optional(),
  healthcheckMaxRetries: count().optional(),
  healthcheckMaxTotalTimeoutSeconds: seconds().optional(),
  healthcheckFailureStatusCodes: z.array(z.number().int()).default([]),
  maxHealthcheckResponseBodyBytes: count().default(8_192),
  newTaskCheckerBaseDelaySeconds: seconds().default(1),
  checkNewTasksEverySeconds: seconds().default(5),
  killAfterTasksDoNotRunDefaultSeconds: seconds().default(600),
  killTaskIfNotHealthyAfterSeconds: seconds().default(600),
  killNonLongRunningTasksInCleanupAfterSeconds: seconds().default(86_400),
  askDriverToKillTasksAgainAfterMillis: millis().default(300_000),
  pendingDeployHoldTaskDuringDecommissionMillis: millis().default(600_000),
  defaultValueForKillTasksOfPausedRequests: z.boolean().default(true),
  defaultBounceExpirationMinutes: z.number().positive().default(60),
  hardKillAfterMillis: millis()
    .default(180_000)
    .describe('Time between SIGTERM and SIGKILL unless the deploy says otherwise'),
  maxDecommissioningSlaves: count().default(2),
  maxMachineHistoryEntries: count().default(10),
  defaultTaskPriorityLevel: z.number().default(0.3),
  defaultTaskPriorityLevelForRequestType: z.record(z.string(), z.number()).default({ WORKER: 0.5, SERVICE: 0.7 }),
  schedulerPriorityWeightFactor: z.number().default(1),
  deltaAfterWhichTasksAreLateMillis: millis().default(30_000),
  saveStateEverySeconds: seconds().default(30),
  sandboxDefaultsToTaskId: z.boolean().default(false),
  sandboxHttpTimeoutMillis: millis().default(2_000),
  maxRequestBodyBytes: count().default(10_485_760),
});
export type SettingsFile = z.infer<typeof SettingsFile>;

/** Everything that can be set: the file above plus what comes from the environment and the command line. */
export interface Settings extends SettingsFile {
  port: number;
  host: string;
  /** undefined: start the embedded server. */
  databaseUrl: string | undefined;
  dataDir: string;
  allowTestResourceCalls: boolean;
  clusterDriver: 'local' | 'kubernetes' | 'simulated';
}

export const SETTINGS = Symbol('Settings');
