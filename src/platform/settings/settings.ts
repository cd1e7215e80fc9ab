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
  maxNumInstancesPerRequest: count().default(25).describe('Most instances of one request'),
  maxNumCpusPerInstance: z.number().default(50).describe('Most cores of one task'),
  maxMemoryMbPerInstance: z.number().default(24_000).describe('Most memory in MB of one task'),
  maxDiskMbPerInstance: z.number().default(60_000).describe('Most disk in MB of one task'),
  maxNumCpusPerRequest: z.number().default(900).describe('Most cores of all instances of a request together'),
  maxMemoryMbPerRequest: z
    .number()
    .default(450_000)
    .describe('Most memory in MB of all instances of a request together'),
  maxDiskMbPerRequest: z.number().default(3_000_000).describe('Most disk in MB of all instances of a request together'),
  rackIdAttributeKey: z.string().default('rackid').describe('Attribute of a machine that names its rack'),
  defaultRackId: z.string().default('DEFAULT').describe('Rack of machines that name none'),
  agentReregisterTimeoutSeconds: seconds()
    .default(600)
    .describe(
      'How long a machine that vanished may take to come back; its lost tasks stay live for one and a half times as long',
    ),
  maxTasksPerOffer: count().default(0).describe('Most tasks placed on one machine in one round; 0: any number'),
  local: z
    .strictObject({
      slaves: z
        .array(z.unknown())
        .optional()
        .describe('Machines the local agent presents; default: one with what this machine has'),
      sandboxRetentionMillis: millis()
        .default(7 * 24 * 3600 * 1000)
        .describe('How long the files of an ended task are kept'),
      cgroups: z
        .enum(['auto', 'off'])
        .default('auto')
        .describe('auto: limit and track tasks with those cgroups that work on this machine'),
      checkThreadsEveryMillis: z.number().int().min(100).default(5_000).describe('Time between two counts of threads'),
      maxTaskMessageLength: z.number().int().min(20).default(80).describe('Longer messages of status updates are cut'),
    })
    .prefault({}),
});

const CrashLoopSettings = z.strictObject({
  cooldownFailureThreshold: count()
    .default(5)
    .describe('Failures within evaluateCooldownOverMinutes that start a cooldown'),
  evaluateCooldownOverMinutes: z.number().positive().default(1).describe('Time span over which failures are counted'),
});

const WebhookSettings = z.strictObject({
  maxQueuedUpdatesPerWebhook: count()
    .default(50)
    .describe('Updates that may wait for one webhook; beyond, a failed one becomes a dead letter; 0: any number'),
  deleteUndeliverableWebhooksAfterHours: count()
    .default(168)
    .describe('Age at which an update that cannot be delivered becomes a dead letter; 0: never'),
  maxConcurrent: count().default(100).describe('Deliveries in flight at once'),
  connectTimeoutMillis: millis().default(5_000).describe('Time to connect to a receiver'),
  requestTimeoutMillis: millis().default(60_000).describe('Time for a whole delivery'),
  firstRetryMillis: millis().default(1_000).describe('Wait after the first failed delivery; doubled each time'),
  lastRetryMillis: millis().default(600_000).describe('Longest wait between two deliveries of an update'),
  signingSecret: z.string().optional().describe('When set, deliveries are signed (Standard Webhooks)'),
});

/** The settings file: every key with its default; units are in the names. */
export const SettingsFile = z.strictObject({
  cluster: ClusterSettings.prefault({}),
  crashLoop: CrashLoopSettings.prefault({}),
  webhooks: WebhookSettings.prefault({}),
  legacyFieldNames: z
    .enum(['off', 'accept', 'accept+emit'])
    .default('accept')
    .describe('Names of older clients: refuse, accept on input, or also write'),
  maxRequestIdSize: count().default(100).describe('Longest request id, in characters'),
  maxDeployIdSize: count().default(50).describe('Longest deploy id, in characters'),
  createDeployIds: z.boolean().default(false).describe('Make an id for a deploy that is sent without one'),
  deployIdLength: z.number().int().min(4).max(32).default(8).describe('Length of such an id'),
  enforceSignedArtifacts: z.boolean().default(false).describe('Refuse deploys with artifacts that are not signed'),
  validDockerRegistries: z.array(z.string()).default([]).describe('Registries images may come from; empty: any'),
  maxConcurrentHealthchecks: z
    .number()
    .int()
    .positive()
    .default(128)
    .describe('Health checks in flight at once; the others wait in line'),
  allowRequestsWithoutOwners: z.boolean().default(true).describe('Whether a request may name no owners'),
  allowDeployOfPausedRequests: z
    .boolean()
    .default(false)
    .describe('Whether a paused request can be deployed; nothing runs until it is unpaused'),
  allowBounceToSameHost: z
    .boolean()
    .default(false)
    .describe('Whether the replacement of a bounced task may run where the old one still does'),
  defaultSlavePlacement: z.enum(slavePlacements).default('GREEDY').describe('Placement of requests that name none'),
  reserveSlavesWithAttributes: z
    .record(z.string(), z.array(z.string()))
    .default({})
    .describe('Attribute values whose machines only take tasks that require or allow them'),
  preemptibleTasksOnlyMachineAttributes: z
    .record(z.string(), z.string())
    .default({})
    .describe('Machines with all of these attributes only take long-running tasks and short runs'),
  preemptibleTaskMaxExpectedRuntimeMs: millis()
    .default(900_000)
    .describe('Longest average of runs that count as short'),
  placementLeniency: z.number().min(0).default(0.09).describe('OPTIMISTIC placement: tolerance per pending task'),
  expectedRacksCount: count().optional().describe('Number of racks to spread over; default: the active ones'),
  rebalanceRacksOnScaleDown: z.boolean().default(false).describe('Whether scaling down evens out the racks'),
  maxScaleDownWithoutAcknowledgement: count()
    .default(10)
    .describe('Largest scale-down without largeScaleDownAcknowledged=true'),
  maxRunNowTaskLaunchDelayDays: count().default(30).describe('How far ahead runAt may lie'),
  maxActiveOnDemandTasksPerRequest: count()
    .default(0)
    .describe('Runs at once of an ON_DEMAND request without instances; 0: any number'),
  checkSchedulerEverySeconds: seconds().default(1).describe('Timer of the scheduler; it is also woken'),
  checkDeploysEverySeconds: seconds().default(5).describe('Timer of the deploy poller; it is also woken'),
  cleanupEverySeconds: seconds().default(5).describe('Timer of the cleanup poller; it is also woken'),
  checkExpiringUserActionEveryMillis: millis()
    .default(45_000)
    .describe('Timer of the poller that reverts lapsed actions'),
  startNewReconcileEverySeconds: seconds()
    .default(600)
    .describe('Time between two comparisons of our tasks with those of the machines'),
  checkReconcileWhenRunningEveryMillis: millis()
    .default(30_000)
    .describe('Time after which machines that did not answer such a comparison are asked again'),
  reconcileLaunchAfterMillis: millis()
    .default(180_000)
    .describe('Age at which a launch without any status is asked after'),
  persistHistoryEverySeconds: seconds()
    .default(120)
    .describe('Timer of the poller that moves ended tasks to the history; it is also woken'),
  checkWebhooksEveryMillis: millis().default(10_000).describe('Timer of the webhook poller; it is also woken'),
  checkUsageEveryMillis: millis().default(60_000).describe('Time between two samples of resource usage'),
  cleanUsageEveryMillis: millis().default(300_000).describe('Time between two removals of old samples'),
  numUsageToKeep: count().default(15).describe('Newest samples kept per task'),
  checkJobsEveryMillis: millis().default(600_000).describe('Time between two checks of run times'),
  taskExecutionTimeLimitMillis: millis()
    .optional()
    .describe('Longest run of a task that is not long-running; default: no limit'),
  cooldownMinScheduleSeconds: seconds().default(120).describe('Earliest start of a task while its request cools down'),
  deployHealthyBySeconds: seconds().default(120).describe('Time in which a deploy step must become healthy'),
  considerTaskHealthyAfterRunningForSeconds: seconds()
    .default(5)
    .describe('Time after which a running task without health check counts as healthy'),
  defaultDeployStepWaitTimeMs: millis().default(0).describe('Wait between two steps of an incremental deploy'),
  defaultDeployMaxTaskRetries: count().default(0).describe('Failed tasks that a deploy tolerates'),
  healthcheckIntervalSeconds: seconds().default(5).describe('Wait after a failed health check'),
  healthcheckTimeoutSeconds: seconds().default(5).describe('Time for one health check'),
  startupTimeoutSeconds: seconds().default(45).describe('Time in which connection refusals are tolerated'),
  startupIntervalSeconds: seconds().default(2).describe('Wait between health checks while connections are refused'),
  startupDelaySeconds: seconds().optional().describe('Wait before the first health check'),
  healthcheckMaxRetries: count()
    .optional()
    .describe('Failed health checks after which a task is unhealthy, less one; default: any number'),
  healthcheckMaxTotalTimeoutSeconds: seconds()
    .optional()
    .describe('Longest total health check time a deploy may ask for'),
  healthcheckFailureStatusCodes: z
    .array(z.number().int())
    .default([])
    .describe('Status codes that make a task unhealthy at once'),
  maxHealthcheckResponseBodyBytes: count().default(8_192).describe('Bytes of a health check answer that are kept'),
  newTaskCheckerBaseDelaySeconds: seconds().default(1).describe('First delay of the check of new tasks'),
  checkNewTasksEverySeconds: seconds().default(5).describe('Time between two checks of a new task'),
  killAfterTasksDoNotRunDefaultSeconds: seconds()
    .default(600)
    .describe('Age at which a task that never ran is replaced'),
  killTaskIfNotHealthyAfterSeconds: seconds()
    .default(600)
    .describe('Run time after which a task that never was healthy is replaced'),
  killNonLongRunningTasksInCleanupAfterSeconds: seconds()
    .default(86_400)
    .describe('How long a job may go on after it was told to go'),
  askDriverToKillTasksAgainAfterMillis: millis().default(300_000).describe('Time after which a kill is sent again'),
  pendingDeployHoldTaskDuringDecommissionMillis: millis()
    .default(600_000)
    .describe('How long a task of a deploy in progress stays on a machine that is decommissioned'),
  defaultValueForKillTasksOfPausedRequests: z
    .boolean()
    .default(true)
    .describe('Whether pausing kills tasks unless killTasks says otherwise'),
  defaultBounceExpirationMinutes: z.number().positive().default(60).describe('Time after which a bounce is given up'),
  hardKillAfterMillis: millis()
    .default(180_000)
    .describe('Time between SIGTERM and SIGKILL unless the deploy says otherwise'),
  cpuHardLimit: z
    .number()
    .positive()
    .optional()
    .describe('Cores up to which every task may burst, at least; default: no hard limit'),
  cpuHardLimitScaleFactor: z
    .number()
    .positive()
    .default(1.25)
    .describe('Hard limit of larger tasks, per core asked for'),
  maxDecommissioningSlaves: count().default(2).describe('Slaves that may be decommissioned at once'),
  maxMachineHistoryEntries: count().default(10).describe('Newest states kept per machine'),
  defaultTaskPriorityLevel: z.number().default(0.3).describe('Priority of requests that name none'),
  defaultTaskPriorityLevelForRequestType: z
    .record(z.string(), z.number())
    .default({ WORKER: 0.5, SERVICE: 0.7 })
    .describe('The same by request type'),
  schedulerPriorityWeightFactor: z.number().default(1).describe('Exponent of the priority against the waiting time'),
  deltaAfterWhichTasksAreLateMillis: millis()
    .default(30_000)
    .describe('Delay after which a pending task counts as late'),
  saveStateEverySeconds: seconds().default(30).describe('Age of the state that /api/state may answer with'),
  sandboxDefaultsToTaskId: z
    .boolean()
    .default(false)
    .describe('Whether browsing a sandbox without path begins in the folder of the task id'),
  sandboxHttpTimeoutMillis: millis().default(2_000).describe('Time for an agent to answer about files'),
  maxRequestBodyBytes: count().default(10_485_760).describe('Largest body of a call'),
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
  logLevel: LogLevel;
  /** auto: for people on a terminal, JSON elsewhere. */
  logFormat: 'auto' | 'pretty' | 'json';
}

export const logLevels = ['error', 'warn', 'info', 'debug', 'trace'] as const;
export type LogLevel = (typeof logLevels)[number];

export const SETTINGS = Symbol('Settings');
