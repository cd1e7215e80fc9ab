import { z } from 'zod';
import { isSigningKey } from '../../core/base64.js';
import { disableableActions } from '../../core/disasters/index.js';
import { isTargetPattern } from '../targets.js';
import { loadMetrics, slavePlacements } from '../../core/model/enums.js';
import { AuthSettings, checkAuthSections, LdapSettings, WebhookAuthSettings } from './auth-settings.js';
import { CrashLoopSettings } from './crash-loop-settings.js';
import { EventSettings } from './event-settings.js';
import { KubernetesSettings } from './kubernetes-settings.js';
import { checkRacks, LocalSettings } from './local-settings.js';
import { LogFolderSettings } from './log-store-settings.js';
import { ObjstoreSettings } from './objstore-settings.js';
import { isAtRoot, UiSettings } from './page-settings.js';
import { SmtpSettings, TaskMetadataSettings } from './smtp-settings.js';
import {
  amount,
  amountAbove0,
  count,
  days,
  hours,
  hoursAbove0,
  keptCount,
  keptDays,
  millis,
  minutes,
  minutesAbove0,
  seconds,
  timeout,
} from './bounds.js';
import { longestText } from '../http/input-limits.js';

/** Settings of the cluster: limits on what may be asked for, defaults for what was not said, and the driver's own. */
const ClusterSettings = z.strictObject({
  defaultCpus: amountAbove0().default(1).describe('Cores of a task whose deploy names no resources'),
  defaultMemory: amountAbove0().default(64).describe('Memory in MB of a task whose deploy names no resources'),
  defaultDisk: amount().default(0).describe('Disk in MB of a task whose deploy names no resources'),
  maxNumInstancesPerRequest: count().default(25).describe('Most instances of one request'),
  maxNumCpusPerInstance: amount().default(50).describe('Most cores of one task'),
  maxMemoryMbPerInstance: amount().default(24_000).describe('Most memory in MB of one task'),
  maxDiskMbPerInstance: amount().default(60_000).describe('Most disk in MB of one task'),
  maxNumCpusPerRequest: amount().default(900).describe('Most cores of all instances of a request together'),
  maxMemoryMbPerRequest: amount().default(450_000).describe('Most memory in MB of all instances of a request together'),
  maxDiskMbPerRequest: amount().default(3_000_000).describe('Most disk in MB of all instances of a request together'),
  rackIdAttributeKey: z.string().default('rackid').describe('Attribute of a machine that names its rack'),
  defaultRackId: z.string().default('DEFAULT').describe('Rack of machines that name none'),
  agentReregisterTimeoutSeconds: seconds()
    .default(600)
    .describe(
      'How long a machine that vanished, or an agent that does not answer, may take to come back before its tasks are given up; they stay live for one and a half times as long',
    ),
  maxTasksPerOffer: count().default(0).describe('Most tasks placed on one machine in one round; 0: any number'),
  cpuWeight: amount().default(0.4).describe('Weight of cpu in the score of a machine; only ratios count'),
  memWeight: amount().default(0.4).describe('Weight of memory in the score of a machine'),
  diskWeight: amount().default(0.2).describe('Weight of disk in the score of a machine'),
  allocatedResourceWeight: amount()
    .default(0.5)
    .describe('Weight of what a machine has promised to tasks; only its ratio to inUseResourceWeight counts'),
  inUseResourceWeight: amount().default(0.5).describe('Weight of what is really in use on a machine'),
  goodEnoughScoreThreshold: amount()
    .default(0.4)
    .describe('Accepted and without effect: the best machine is found without looking at all of them'),
  scoreUsingSystemLoad: z
    .enum(loadMetrics)
    .default('LOAD_5')
    .describe('Load by which machines are scored and shuffled: average of 1, 5 or 15 minutes'),
  omitForMissingUsageData: z
    .boolean()
    .default(false)
    .describe('Whether a machine without usage gets no tasks; otherwise it scores 0.5'),
  omitOverloadedHosts: z
    .boolean()
    .default(false)
    .describe('Whether a machine whose load would pass a threshold gets no tasks'),
  load1OverloadedThreshold: amount().default(1.5).describe('Highest 1-minute load per core for that'),
  load5OverloadedThreshold: amount().default(1).describe('Highest 5-minute load per core for that'),
  recheckMetricsLoad1Threshold: amount()
    .default(0.8)
    .describe('reCheckMetricsForLargeNewTaskCount: highest 1-minute load per core'),
  recheckMetricsLoad5Threshold: amount()
    .default(0.75)
    .describe('reCheckMetricsForLargeNewTaskCount: highest 5-minute load per core'),
  local: LocalSettings.prefault({}),
  kubernetes: KubernetesSettings.prefault({}),
});

const portion = () => z.number().min(0).max(1);
const DisasterDetectionSettings = z.strictObject({
  enabled: z.boolean().default(true).describe('Whether disasters are looked for'),
  runEveryMillis: millis().default(10_000).describe('Time between two looks (poller `disasters`)'),
  statsHistorySize: count(1).default(10).describe('Data points kept; disasters are seen in these'),
  checkLateTasks: z.boolean().default(true).describe('Whether tasks that start late can be a disaster'),
  fewestLateTasks: count(1)
    .default(5)
    .describe(
      'Late tasks below which their share says nothing: on a small cluster one task that waits is a large share',
    ),
  warningOverdueTaskPortion: portion().default(0.05).describe('Share of late tasks that counts together with the lag'),
  criticalOverdueTaskPortion: portion().default(0.1).describe('Share of late tasks that is a disaster by itself'),
  warningAvgTaskLagMillis: millis()
    .default(120_000)
    .describe('Average lag of overdue tasks that counts together with their share'),
  criticalAvgTaskLagMillis: millis()
    .default(240_000)
    .describe('The same that is a disaster as soon as the share is above its warning'),
  triggerAfterMillisOverTaskLagThreshold: millis()
    .default(45_000)
    .describe('How long a share or a lag must have lasted'),
  checkLostSlaves: z.boolean().default(true).describe('Whether lost slaves can be a disaster'),
  criticalLostSlavePortion: portion().default(0.2).describe('Share of slaves lost that is a disaster'),
  includeLostSlavesInLastMillis: millis().default(30_000).describe('Span of time in which they count together'),
  checkLostTasks: z.boolean().default(true).describe('Whether lost tasks can be a disaster'),
  criticalLostTaskPortion: portion().default(0.2).describe('Share of tasks lost that is a disaster'),
  includeLostTasksInLastMillis: millis().default(30_000).describe('Span of time in which they count together'),
  lostTaskReasons: z
    .array(z.string())
    .default([
      'REASON_INVALID_OFFERS',
      'REASON_AGENT_UNKNOWN',
      'REASON_AGENT_REMOVED',
      'REASON_AGENT_RESTARTED',
      'REASON_MASTER_DISCONNECTED',
    ])
    .describe(
      'Reasons of lost tasks that count; REASON_CONTAINER_LAUNCH_FAILED and REASON_TASK_INVALID never do: a deploy can bring them about',
    ),
  disableActionsOnDisaster: z
    .array(z.enum(disableableActions))
    .default([])
    .describe('Actions that are switched off while there is a disaster'),
  defaultDisabledActionExpiration: millis()
    .default(900_000)
    .describe('Milliseconds after which they come back when the disaster is one that ends by itself'),
});

const WebhookSettings = z.strictObject({
  maxQueuedUpdatesPerWebhook: count()
    .default(50)
    .describe(
      'Updates waiting for one webhook beyond which one that fails becomes a dead letter; as a webhook that fails is sent one at a time, more may wait (maxWaitingUpdatesPerWebhook); 0: any number',
    ),
  deleteUndeliverableWebhooksAfterHours: hours()
    .int()
    .default(168)
    .describe('Age at which an update that cannot be delivered becomes a dead letter; 0: never'),
  maxConcurrent: count().default(100).describe('Deliveries in flight at once'),
  connectTimeoutMillis: timeout().default(5_000).describe('Time to connect to a receiver'),
  requestTimeoutMillis: timeout().default(60_000).describe('Time for a whole delivery'),
  firstRetryMillis: millis().default(1_000).describe('Wait after the first failed delivery; doubled each time'),
  lastRetryMillis: millis().default(600_000).describe('Longest wait between two deliveries of an update'),
  signingSecret: z
    .string()
    .refine(isSigningKey, 'must be base64 behind whsec_')
    .optional()
    .describe('When set, deliveries are signed (Standard Webhooks)'),
  maxWaitingUpdatesPerWebhook: z
    .number()
    .int()
    .min(1)
    .max(1_000_000)
    .default(3_000)
    .describe('Updates that may wait for one webhook at all; a further one is dropped, counted and warned of'),
  deleteDeadLettersAfterHours: hours()
    .default(168)
    .describe('Age at which an update that was given up is forgotten; 0: never'),
  maxDeadLettersPerWebhook: count()
    .default(3_000)
    .describe('Updates given up that are kept of one webhook, the newest; 0: any number'),
  allowedTargets: z
    .array(
      z
        .string()
        .refine(isTargetPattern, 'must be an address, a range of addresses (10.0.0.0/8) or a name (*.example.com)'),
    )
    .optional()
    .describe(
      'Where updates may be sent to: names (`*.example.com`: all below), addresses, ranges. Private addresses only by address or range. Unless set: anywhere',
    ),
});

const TaskPurgeLimits = z.strictObject({
  deleteTaskHistoryAfterDays: keptDays(),
  deleteTaskHistoryAfterTasksPerRequest: keptCount(),
  deleteTaskHistoryBytesAfterDays: keptDays(),
  deleteTaskHistoryBytesAfterTasksPerRequest: keptCount(),
});

/** What of the history goes, and when. Values below 1 set no limit. */
const HistoryPurgingSettings = z.strictObject({
  enabled: z
    .boolean()
    .default(false)
    .describe(
      'Whether old history goes by itself; deleteTaskHistoryAfterDays or ...AfterTasksPerRequest must be set too',
    ),
  checkTaskHistoryEveryHours: hours().default(24).describe('Time between two purges (poller `history-purge`)'),
  deleteTaskHistoryAfterDays: keptDays().default(0).describe('Age at which an ended task is forgotten'),
  deleteTaskHistoryAfterTasksPerRequest: keptCount().default(0).describe('Newest ended tasks kept per request'),
  deleteTaskHistoryBytesAfterDays: keptDays()
    .default(365)
    .describe('Age at which the details of an ended task go; it is still listed'),
  deleteTaskHistoryBytesAfterTasksPerRequest: keptCount()
    .default(10_000)
    .describe('Newest ended tasks per request that keep their details'),
  purgeLimitPerQuery: count(1).default(25_000).describe('Most rows that one statement touches'),
  purgeStaleRequestIdsAfterDays: keptDays().default(7).describe('Age at which figures of deleted requests go'),
  purgeRequestHistoryAfterDays: keptDays().default(365).describe('Age at which a change of a request is forgotten'),
  purgeDeployHistoryAfterDays: keptDays()
    .default(365)
    .describe('Age at which a deploy that is not in use is forgotten'),
  requestOverrides: z
    .record(z.string(), TaskPurgeLimits.partial())
    .default({})
    .describe('The four keys about tasks by request id, where they differ'),
});

/** The settings file: every key with its default; units are in the names. */
export const logLevels = ['error', 'warn', 'info', 'debug', 'trace'] as const;
export type LogLevel = (typeof logLevels)[number];
export const logFormats = ['auto', 'pretty', 'json'] as const;
export type LogFormat = (typeof logFormats)[number];

export const mostWorkers = 64;

const Sections = z.strictObject({
  log: z
    .strictObject({
      level: z.enum(logLevels).default('info').describe('Messages of this weight and above (MUSTER_LOG_LEVEL)'),
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
        .describe('Whether an agent refuses to start where tasks would have its own user, as without root'),
      keepTasks: z
        .boolean()
        .default(false)
        .describe(
          'Whether agent and tasks run on when `muster start` stops, for the next start to find them (MUSTER_KEEP_TASKS, --keep-tasks)',
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
        .describe(
          'Whether containers in network BRIDGE without port mappings get each of their ports under its own number',
        ),
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
  events: EventSettings.prefault({}),
  webhooks: WebhookSettings.prefault({}),
  smtp: SmtpSettings.optional(),
  taskMetadata: TaskMetadataSettings.prefault({}),
  auditRetentionDays: z.number().int().min(1).max(3_650).default(30).describe('Days that the audit trail keeps a call'),
  auditMaxRows: z
    .number()
    .int()
    .min(1_000)
    .max(100_000_000)
    .default(1_000_000)
    .describe('Calls that the audit trail keeps; beyond, the oldest go, those of unknown callers first'),
  ldapCacheEnabled: z.boolean().default(true).describe('Whether answers of the directory are kept'),
  ldapCacheSize: count(1).default(100).describe('Users kept of its answers'),
  ldapCacheExpireMillis: millis().default(60_000).describe('Age at which a kept answer is asked for again'),
  legacyFieldNames: z
    .enum(['off', 'accept', 'accept+emit'])
    .default('accept')
    .describe('Names of older clients: refuse, accept on input, or also write'),
  compatibility: z
    .enum(['off', '1.5'], { error: 'must be "1.5", in quotes, or "off"' })
    .default('off')
    .describe(
      '1.5: for unmodified clients up to that version: writes the older names too (legacyFieldNames), reads numbers and truth values sent as text, 0 and 1 as truth values, and JSON that says it is encoded but is not',
    ),
  maxUserIdSize: count(0, longestText.name)
    .default(100)
    .describe('Longest id of a user who keeps settings, in characters'),
  maxRequestIdSize: count(0, longestText.name).default(100).describe('Longest request id, in characters'),
  maxRecordBytes: count(16_384, 16_777_216)
    .default(262_144)
    .describe('Largest request, deploy or run as a whole, in bytes of its JSON; what is stored and larger goes on'),
  maxRequestsPerGroup: count(1)
    .default(20_000)
    .describe('Requests of one group; those without a group count as one; beyond, new ones are refused with 400'),
  maxPendingRunsPerRequest: count(1)
    .default(5_000)
    .describe('Runs of one request that were asked for and wait; beyond, new ones are refused with 429'),
  maxPendingRunsPerGroup: count(1)
    .default(20_000)
    .describe('The same of all requests of one group; those without a group count as one'),
  maxRunIdSize: count(0, longestText.name).default(100).describe('Longest id of a run, in characters'),
  maxStarredRequestsPerUser: count().default(5_000).describe('Requests that one user may star'),
  maxDeployIdSize: count(0, longestText.name).default(50).describe('Longest deploy id, in characters'),
  createDeployIds: z.boolean().default(false).describe('Make an id for a deploy that is sent without one'),
  deployIdLength: z.number().int().min(4).max(32).default(8).describe('Length of such an id'),
  enforceSignedArtifacts: z.boolean().default(false).describe('Refuse deploys with artifacts that are not signed'),
  validDockerRegistries: z.array(z.string()).default([]).describe('Registries images may come from; empty: any'),
  maxConcurrentHealthchecks: count(1)
    .default(128)
    .describe('Health checks at once; the others wait in line. Those that have no answer after 250 ms do not count'),
  healthcheckPortNumbers: z
    .array(z.number().int().min(1).max(65_535))
    .default([])
    .describe('Fixed ports that health checks may ask for by portNumber, besides the ports of the task itself'),
  maxHealthcheckResultsPerTask: count(1)
    .default(100)
    .describe('Results of health checks that are kept of a task, the newest'),
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
  preferredSlaveScaleFactor: amount()
    .default(1.5)
    .describe('Factor on the score of a machine that suits a task better than others'),
  highCpuSlaveCutOff: amount().default(1.5).describe('Cores per GB above which something leans to cpu'),
  highMemorySlaveCutOff: amount().default(0.5).describe('Cores per GB below which something leans to memory'),
  reCheckMetricsForLargeNewTaskCount: z
    .boolean()
    .default(false)
    .describe('Whether a machine is asked for its load when many tasks have started there since its last sample'),
  placementLeniency: amount().default(0.09).describe('OPTIMISTIC placement: tolerance per pending task'),
  expectedRacksCount: count().optional().describe('Number of racks to spread over; default: the active ones'),
  rebalanceRacksOnScaleDown: z.boolean().default(false).describe('Whether scaling down evens out the racks'),
  maxScaleDownWithoutAcknowledgement: count()
    .default(10)
    .describe('Largest scale-down without largeScaleDownAcknowledged=true'),
  maxRunNowTaskLaunchDelayDays: days().default(30).describe('How far ahead runAt may lie'),
  maxActiveOnDemandTasksPerRequest: count()
    .default(0)
    .describe('Runs at once of an ON_DEMAND request without instances; 0: any number'),
  checkSchedulerEverySeconds: seconds().default(1).describe('Timer of the poller `scheduler`; it is also woken'),
  checkDeploysEverySeconds: seconds().default(5).describe('Timer of the poller `deploys`; it is also woken'),
  cleanupEverySeconds: seconds().default(5).describe('Timer of the poller `cleanup`; it is also woken'),
  checkExpiringUserActionEveryMillis: millis()
    .default(45_000)
    .describe(
      'Timer of the pollers `expiring-requests`, `expiring-machines`, `expiring-priority-freeze`, which take back what has lapsed',
    ),
  startNewReconcileEverySeconds: seconds()
    .default(600)
    .describe('Time between two comparisons of our tasks with those of the machines (poller `reconciliation`)'),
  checkReconcileWhenRunningEveryMillis: millis()
    .default(30_000)
    .describe('Time after which machines that did not answer such a comparison are asked again'),
  reconcileLaunchAfterMillis: millis()
    .default(180_000)
    .describe('Age at which a launch without any status is asked after'),
  persistHistoryEverySeconds: seconds()
    .default(120)
    .describe('Timer of the poller `history`, which moves ended tasks to the history; it is also woken'),
  historyPollerConcurrency: count(1, 20)
    .default(1)
    .describe('Batches of 500 ended tasks that this poller moves at once'),
  storeAllClusterTaskInfoForDebugging: z
    .boolean()
    .default(false)
    .describe('Whether records of tasks keep the executor data of the deploy'),
  leadership: z
    .strictObject({
      competes: z
        .boolean()
        .default(true)
        .describe('Whether this instance may lead; false: it serves the API alone, and another one has to schedule'),
    })
    .prefault({}),
  sqlFallBackToBytesFields: z
    .boolean()
    .default(true)
    .describe(
      'Whether history of an older installation is read from its old payloads until the backfill has been there',
    ),
  checkWebhooksEveryMillis: millis().default(10_000).describe('Timer of the poller `webhooks`; it is also woken'),
  checkQueuedMailsEveryMillis: millis().default(15_000).describe('Timer of the poller `mails`; it is also woken'),
  checkUsageEveryMillis: millis()
    .default(60_000)
    .describe('Time between two samples of resource usage (poller `usage`)'),
  cleanUsageEveryMillis: millis()
    .default(300_000)
    .describe('Time between two removals of old samples (poller `usage-cleaner`)'),
  numUsageToKeep: count().default(15).describe('Newest samples kept per task'),
  maxConcurrentUsageCollections: count(1).default(15).describe('Slaves sampled at once'),
  shuffleTasksForOverloadedSlaves: z
    .boolean()
    .default(false)
    .describe('Whether tasks are moved off slaves that are overloaded'),
  shuffleTasksWhenSlaveMemoryUtilizationPercentageExceeds: z
    .number()
    .min(0)
    .max(1)
    .default(0.82)
    .describe('Share of its memory in use, 0 to 1, above which a slave is overloaded'),
  minutesBeforeNewTaskEligibleForShuffle: minutes()
    .int()
    .default(15)
    .describe('Whole minutes that a task must have run before it is moved'),
  maxTasksToShuffleTotal: count().default(6).describe('Tasks on the move at once in the cluster'),
  maxTasksToShufflePerHost: count().default(2).describe('Tasks on the move at once off one slave'),
  doNotShuffleRequests: z
    .array(z.string())
    .default([])
    .describe('Requests whose tasks are never moved, besides those of the shuffle blacklist'),
  checkJobsEveryMillis: millis()
    .default(600_000)
    .describe(
      'Time between two looks at the run times of all jobs (poller `jobs`); each is looked at when its own time has come, too',
    ),
  taskExecutionTimeLimitMillis: millis()
    .optional()
    .describe('Longest run of a task that is not long-running; default: no limit'),
  warnIfScheduledJobIsRunningForAtLeastMillis: millis()
    .default(86_400_000)
    .describe('Shortest run of a scheduled job that may be called overdue'),
  warnIfScheduledJobIsRunningPastNextRunPct: count()
    .default(200)
    .describe('Share of its expected run time, in percent, beyond which a run is called overdue'),
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
    .array(z.number().int().min(100).max(599))
    .default([])
    .describe('Status codes that make a task unhealthy at once'),
  maxHealthcheckResponseBodyBytes: count(0, 1_048_576)
    .default(8_192)
    .describe('Bytes of a health check answer that are kept'),
  newTaskCheckerBaseDelaySeconds: seconds().default(1).describe('First delay of the check of new tasks'),
  checkNewTasksEverySeconds: seconds()
    .default(5)
    .describe('Time between two checks of a new task (poller `new-tasks`)'),
  killAfterTasksDoNotRunDefaultSeconds: seconds()
    .default(600)
    .describe('Age at which a task that never ran is replaced'),
  killTaskIfNotHealthyAfterSeconds: seconds()
    .default(600)
    .describe('Run time after which a task that never was healthy is replaced'),
  killNonLongRunningTasksInCleanupAfterSeconds: seconds()
    .default(86_400)
    .describe('How long a job may go on after it was told to go'),
  loadBalancerUri: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('Where the load balancer takes changes; default: there is none'),
  loadBalancerQueryParams: z
    .record(z.string(), z.string())
    .default({})
    .describe('Query parameters of these calls, such as a key'),
  loadBalancerRequestTimeoutMillis: timeout(1).default(2_000).describe('Time for one call to the load balancer'),
  loadBalancerRemovalGracePeriodMillis: millis()
    .default(0)
    .describe('How long a task runs on after the load balancer has let go of it'),
  deleteRemovedRequestsFromLoadBalancer: z
    .boolean()
    .default(false)
    .describe(
      'Whether the service of a deleted request goes from the load balancer, unless the deletion says so itself',
    ),
  preResolveUpstreamDNS: z
    .boolean()
    .default(false)
    .describe('Whether the load balancer is asked to resolve host names of upstreams itself, beforehand'),
  skipDNSPreResolutionForRequests: z
    .array(z.string())
    .default([])
    .describe('Requests for which preResolveUpstreamDNS does not hold'),
  taskLabelForLoadBalancerUpstreamGroup: z
    .string()
    .optional()
    .describe('Label of a task that names the group of its upstream'),
  checkUpstreamsEverySeconds: seconds()
    .default(600)
    .describe('Time between two searches for upstreams behind which there is no task (poller `upstream-check`)'),
  askDriverToKillTasksAgainAfterMillis: millis().default(300_000).describe('Time after which a kill is sent again'),
  pendingDeployHoldTaskDuringDecommissionMillis: millis()
    .default(600_000)
    .describe('How long a task of a deploy in progress stays on a machine that is decommissioned'),
  defaultValueForKillTasksOfPausedRequests: z
    .boolean()
    .default(true)
    .describe('Whether pausing kills tasks unless killTasks says otherwise'),
  defaultBounceExpirationMinutes: minutesAbove0().default(60).describe('Time after which a bounce is given up'),
  dispatchTaskShellCommandsEverySeconds: seconds()
    .default(5)
    .describe('Timer of the poller `shell-commands`, which sends them to machines; it is also woken'),
  runBeforeKillTimeoutMillis: timeout()
    .default(300_000)
    .describe('How long a kill waits for the shell command that is to run before it'),
  maxUnfinishedShellCommandsPerTask: count()
    .default(10)
    .describe('Shell commands of one task that may wait or run at once'),
  maxShellCommandsKeptPerTask: count().default(500).describe('Newest shell commands kept in the record of a task'),
  allowTestResourceCalls: z
    .boolean()
    .default(false)
    .describe('Whether the operations below /api/test may break this instance; MUSTER_ALLOW_TEST_RESOURCE_CALLS wins'),
  allowedMetadataTypes: z.array(z.string()).default([]).describe('Types of notes on tasks; empty: any'),
  maxMetadataTypeLength: count(0, longestText.name).default(200).describe('Longest type of such a note, in characters'),
  maxMetadataTitleLength: count(0, longestText.note)
    .default(2_000)
    .describe('Titles of such notes must be shorter, in characters'),
  maxMetadataMessageLength: count(0, longestText.note).default(10_000).describe('The same of their messages'),
  maxMetadataPerTask: count().default(1_000).describe('Notes that one task may have'),
  hardKillAfterMillis: millis()
    .default(180_000)
    .describe('Time between SIGTERM and SIGKILL unless the deploy says otherwise'),
  cpuHardLimit: amountAbove0()
    .optional()
    .describe('Cores up to which every task may burst, at least; default: no hard limit'),
  cpuHardLimitScaleFactor: amountAbove0().default(1.25).describe('Hard limit of larger tasks, per core asked for'),
  maxDecommissioningSlaves: count().default(2).describe('Slaves that may be decommissioned at once'),
  maxMachineHistoryEntries: count().default(10).describe('Newest states kept per machine'),
  reconcileSlavesEveryMinutes: minutes()
    .default(60)
    .describe(
      'Time between two comparisons of our slaves with those that the cluster lists (poller `slave-reconciliation`)',
    ),
  deleteDeadSlavesAfterHours: hoursAbove0()
    .default(168)
    .describe('How long the record of a slave is kept that is DEAD or MISSING_ON_STARTUP'),
  cleanInactiveHostListEveryHours: hoursAbove0().default(24).describe('How long a host stays marked inactive'),
  commonHostnameSuffixToOmit: z.string().optional().describe('End of host names that slaves are shown without'),
  spreadAllSlavesEnabled: z
    .boolean()
    .default(false)
    .describe('Whether requests with placement SPREAD_ALL_SLAVES are accepted and follow the number of active slaves'),
  checkAutoSpreadAllSlavesEverySeconds: seconds()
    .default(30)
    .describe('Time between two adjustments of their instances (poller `spread-all`)'),
  defaultTaskPriorityLevel: amount().default(0.3).describe('Priority of requests that name none'),
  defaultTaskPriorityLevelForRequestType: z
    .record(z.string(), amount())
    .default({ WORKER: 0.5, SERVICE: 0.7 })
    .describe('The same by request type'),
  checkPriorityKillsEveryMillis: millis()
    .default(30_000)
    .describe('Timer of the poller `priority-kills`, which kills what a priority freeze tells it to'),
  schedulerPriorityWeightFactor: amount()
    .max(1_000)
    .default(1)
    .describe('Exponent of the priority against the waiting time'),
  deltaAfterWhichTasksAreLateMillis: millis()
    .default(30_000)
    .describe('Delay after which a pending task counts as late'),
  saveStateEverySeconds: seconds()
    .default(30)
    .describe('Age of the state that /api/state may answer with; time between two notes of an instance about itself'),
  sandboxDefaultsToTaskId: z
    .boolean()
    .default(false)
    .describe('Whether browsing a sandbox without path begins in the folder of the task id'),
  sandboxHttpTimeoutMillis: timeout().default(2_000).describe('Time for an agent to answer about files'),
  maxRequestBodyBytes: count(0, 268_435_456).default(10_485_760).describe('Largest body of a call'),
  cors: z
    .strictObject({
      enabled: z.boolean().default(false).describe('Whether pages of other origins may call the API'),
      allowedOrigins: z.array(z.string()).default(['*']).describe('Those that may; *: all of them'),
      allowedMethods: z
        .array(z.string())
        .default(['OPTIONS', 'GET', 'PUT', 'POST', 'DELETE', 'HEAD'])
        .describe('Methods they may use'),
      allowedHeaders: z
        .array(z.string())
        .default(['X-Requested-With', 'Content-Type', 'Accept', 'Origin', 'Authorization', 'Idempotency-Key', 'Prefer'])
        .describe('Headers they may send'),
      allowCredentials: z.boolean().default(true).describe('Whether cookies and credentials may come along'),
    })
    .prefault({}),
  enableCorsFilter: z.boolean().default(false).describe('Older name of cors.enabled'),
  http: z
    .strictObject({
      contextPath: z
        .string()
        .max(longestText.name)
        .regex(/^(\/[\w~-][\w.~-]*)*$/, 'must be empty or a path such as /scheduler, without a slash at its end')
        .refine((path) => !isAtRoot(path), 'is a path that answers at the root as well')
        .default('')
        .describe(
          'Path below which everything stands: API, page, documents. /healthz, /readyz, /metrics and / answer at the root, too',
        ),
      allowedHosts: z
        .array(
          z
            .string()
            .regex(
              /^(\*\.)?[\w.-]+(:\d{1,5})?$|^\[[\da-fA-F:.]+\](:\d{1,5})?$/,
              'must be a host name, with a port or without, or *. and a domain',
            ),
        )
        .default([])
        .describe(
          'Further names by which callers reach this service, such as that of a proxy; *.example.com: all names below. Loopback names, the bound and the advertised address are known',
        ),
      workers: z
        .number()
        .int()
        .min(0)
        .max(mostWorkers)
        .optional()
        .describe(
          'Processes that serve the API, so that callers do not delay the process that schedules; 0: that one serves it as well. Unless set: half of the cores, 4 at most, and none below 4 cores (MUSTER_HTTP_WORKERS)',
        ),
      idempotencyKeyHours: z
        .number()
        .int()
        .min(1)
        .max(720)
        .default(24)
        .describe('Hours for which a call with an Idempotency-Key that is repeated gets the first answer'),
      maxConcurrentCalls: count()
        .default(1_000)
        .describe('Calls answered at a time; more are refused with 503. API workers share the number evenly'),
      maxCallsInWorkPerCaller: count(1)
        .default(4)
        .describe(
          'Calls of one user, administrators excepted, that are worked on at a time while authentication is on; further ones wait. While others call who have taken less time, each of these turns rests three times as long as its call took',
        ),
      placesForAdministrators: count()
        .default(50)
        .describe('Calls of administrators answered beyond these, while it is known who calls'),
      requestTimeoutMillis: timeout().default(180_000).describe('Time for a caller to send a whole call'),
      bodyTimeoutMillis: timeout(100)
        .default(10_000)
        .describe('Time for the body of a call; longer only while 64 KB or more come each second'),
      maxUnfinishedBodiesPerAddress: count(1)
        .default(500)
        .describe('Bodies of calls from one address that are waited for; further ones have half a second'),
      answerTimeoutMillis: timeout(100)
        .default(30_000)
        .describe('Time for a caller to read more of its answer; then its connection ends'),
      headersTimeoutMillis: timeout().default(30_000).describe('Time for a caller to send the headers of a call'),
      keepAliveTimeoutMillis: timeout().default(65_000).describe('How long a connection without calls is kept'),
    })
    .prefault({}),
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
  /** How other instances and people are told to reach this one; undefined: by the host name and the port. */
  advertisedUrl?: string;
  /** undefined: start the embedded server. */
  databaseUrl: string | undefined;
  dataDir: string;
  clusterDriver: 'local' | 'kubernetes' | 'simulated';
}

export const SETTINGS = Symbol('Settings');
