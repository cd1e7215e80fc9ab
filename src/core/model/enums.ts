/** The vocabulary of the API: every enumeration as a list (for validation and documents) and as a type. */

export const requestTypes = ['SERVICE', 'WORKER', 'SCHEDULED', 'ON_DEMAND', 'RUN_ONCE'] as const;
export type RequestType = (typeof requestTypes)[number];

export const requestStates = [
  'ACTIVE',
  'DELETING',
  'DELETED',
  'PAUSED',
  'SYSTEM_COOLDOWN',
  'FINISHED',
  'DEPLOYING_TO_UNPAUSE',
] as const;
export type RequestState = (typeof requestStates)[number];

export const scheduleTypes = ['CRON', 'QUARTZ', 'RFC5545'] as const;
export type ScheduleType = (typeof scheduleTypes)[number];

/** Ends of a parent that its follower waits for: TASK_FINISHED, any other end but by the next run of a schedule, or any end. */
export const followConditions = ['SUCCESS', 'FAILURE', 'END'] as const;
export type FollowCondition = (typeof followConditions)[number];

export const followModes = ['ALL', 'ANY'] as const;
export type FollowMode = (typeof followModes)[number];

export const argumentSources = ['PARENT'] as const;
export type ArgumentSource = (typeof argumentSources)[number];

/** Treatment of a time of a schedule that comes while another run goes on. */
export const overlapPolicies = ['SKIP', 'ALLOW', 'BUFFER_ONE', 'BUFFER_ALL', 'REPLACE'] as const;
export type OverlapPolicy = (typeof overlapPolicies)[number];

/** Treatment of times of a schedule that passed without a start. */
export const missedRunPolicies = ['LAST', 'SKIP', 'ALL'] as const;
export type MissedRunPolicy = (typeof missedRunPolicies)[number];

/** Objects of a Kubernetes that volumes may show, by their names. */
export const clusterObjectKinds = ['PERSISTENT_VOLUME_CLAIM', 'CONFIG_MAP', 'SECRET'] as const;
export type ClusterObjectKind = (typeof clusterObjectKinds)[number];

export const slavePlacements = [
  'SEPARATE',
  'OPTIMISTIC',
  'GREEDY',
  'SEPARATE_BY_DEPLOY',
  'SEPARATE_BY_REQUEST',
  'SPREAD_ALL_SLAVES',
] as const;
export type SlavePlacement = (typeof slavePlacements)[number];

export const machineStates = [
  'MISSING_ON_STARTUP',
  'ACTIVE',
  'STARTING_DECOMMISSION',
  'DECOMMISSIONING',
  'DECOMMISSIONED',
  'DEAD',
  'FROZEN',
] as const;
export type MachineState = (typeof machineStates)[number];

export const taskStates = [
  'TASK_LAUNCHED',
  'TASK_STAGING',
  'TASK_STARTING',
  'TASK_RUNNING',
  'TASK_CLEANING',
  'TASK_KILLING',
  'TASK_FINISHED',
  'TASK_FAILED',
  'TASK_KILLED',
  'TASK_LOST',
  'TASK_LOST_WHILE_DOWN',
  'TASK_ERROR',
  'TASK_DROPPED',
  'TASK_GONE',
  'TASK_UNREACHABLE',
  'TASK_GONE_BY_OPERATOR',
  'TASK_UNKNOWN',
] as const;
export type TaskState = (typeof taskStates)[number];

export const pendingTypes = [
  'IMMEDIATE',
  'ONEOFF',
  'BOUNCE',
  'NEW_DEPLOY',
  'NEXT_DEPLOY_STEP',
  'UNPAUSED',
  'RETRY',
  'UPDATED_REQUEST',
  'DECOMISSIONED_SLAVE_OR_RACK',
  'TASK_DONE',
  'STARTUP',
  'CANCEL_BOUNCE',
  'TASK_BOUNCE',
  'DEPLOY_CANCELLED',
  'DEPLOY_FAILED',
  'DEPLOY_FINISHED',
  'TASK_RECOVERED',
  'BACKFILL',
] as const;
export type PendingType = (typeof pendingTypes)[number];

/** Runs that were promised: to a caller who asked for one, or by a run that was lost or may be tried again. */
export const promisedTypes: readonly PendingType[] = ['ONEOFF', 'IMMEDIATE', 'RETRY', 'BACKFILL'];

/** Promised runs that a schedule waits for: its next run comes after them. Those of a backfill go beside it. */
export const turnTypes: readonly PendingType[] = ['ONEOFF', 'IMMEDIATE', 'RETRY'];

export const taskCleanupTypes = [
  'BOUNCING',
  'DECOMMISSION_TIMEOUT',
  'DECOMISSIONING',
  'DEPLOY_CANCELED',
  'DEPLOY_FAILED',
  'DEPLOY_STEP_FINISHED',
  'INCREMENTAL_BOUNCE',
  'INCREMENTAL_DEPLOY_CANCELLED',
  'INCREMENTAL_DEPLOY_FAILED',
  'NEW_DEPLOY_SUCCEEDED',
  'OVERDUE_NEW_TASK',
  'PAUSE',
  'PAUSING',
  'PRIORITY_KILL',
  'REBALANCE_CPU_USAGE',
  'REBALANCE_MEMORY_USAGE',
  'REBALANCE_RACKS',
  'REBALANCE_SLAVE_ATTRIBUTES',
  'REPLACED_BY_NEXT_RUN',
  'REQUEST_DELETING',
  'SCALING_DOWN',
  'TASK_EXCEEDED_TIME_LIMIT',
  'UNHEALTHY_NEW_TASK',
  'UNHEALTHY_TASK',
  'USER_REQUESTED',
  'USER_REQUESTED_DESTROY',
  'USER_REQUESTED_TASK_BOUNCE',
] as const;
export type TaskCleanupType = (typeof taskCleanupTypes)[number];

export const requestCleanupTypes = ['DELETING', 'PAUSING', 'BOUNCE', 'INCREMENTAL_BOUNCE'] as const;
export type RequestCleanupType = (typeof requestCleanupTypes)[number];

export const taskFailureTypes = [
  'OOM',
  'OUT_OF_DISK_SPACE',
  'BAD_EXIT_CODE',
  'UNEXPECTED_EXIT',
  'LOST_SLAVE',
  'MESOS_ERROR',
  'STARTUP_FAILURE',
] as const;
export type TaskFailureType = (typeof taskFailureTypes)[number];

export const crashLoopTypes = [
  'FAST_FAILURE_LOOP',
  'STARTUP_FAILURE_LOOP',
  'OOM',
  'SINGLE_INSTANCE_FAILURE_LOOP',
  'MULTI_INSTANCE_FAILURE',
  'SLOW_FAILURES',
  'UNEXPECTED_EXITS',
] as const;
export type CrashLoopType = (typeof crashLoopTypes)[number];

export const deployStates = [
  'SUCCEEDED',
  'FAILED_INTERNAL_STATE',
  'CANCELING',
  'WAITING',
  'OVERDUE',
  'FAILED',
  'CANCELED',
] as const;
export type DeployState = (typeof deployStates)[number];

export const deployFailureReasons = [
  'TASK_FAILED_ON_STARTUP',
  'TASK_FAILED_HEALTH_CHECKS',
  'TASK_COULD_NOT_BE_SCHEDULED',
  'TASK_NEVER_ENTERED_RUNNING',
  'TASK_EXPECTED_RUNNING_FINISHED',
  'DEPLOY_CANCELLED',
  'DEPLOY_OVERDUE',
  'FAILED_TO_SAVE_DEPLOY_STATE',
  'LOAD_BALANCER_UPDATE_FAILED',
  'PENDING_DEPLOY_REMOVED',
] as const;
export type DeployFailureReason = (typeof deployFailureReasons)[number];

/** Conditions for the next group of a canary deploy after one is healthy. */
export const canaryAcceptanceModes = ['NONE', 'TIMED', 'CHECKS'] as const;
export type CanaryAcceptanceMode = (typeof canaryAcceptanceModes)[number];

export const deployAcceptanceStates = ['PENDING', 'SUCCEEDED', 'FAILED'] as const;
export type DeployAcceptanceState = (typeof deployAcceptanceStates)[number];

export const requestEventTypes = [
  'CREATED',
  'UPDATED',
  'DELETING',
  'DELETED',
  'PAUSED',
  'UNPAUSED',
  'ENTERED_COOLDOWN',
  'EXITED_COOLDOWN',
  'FINISHED',
  'DEPLOYED_TO_UNPAUSE',
  'BOUNCED',
  'SCALED',
  'SCALE_REVERTED',
] as const;
export type RequestEventType = (typeof requestEventTypes)[number];

export const healthcheckProtocols = ['HTTP', 'HTTPS', 'HTTP2', 'HTTPS2'] as const;
export type HealthcheckProtocol = (typeof healthcheckProtocols)[number];

/** Signals by which a task may be asked to end. */
export const killSignals = ['SIGTERM', 'SIGINT', 'SIGQUIT', 'SIGHUP', 'SIGUSR1', 'SIGUSR2'] as const;
export type KillSignal = (typeof killSignals)[number];

/** Programs around the main one of a task: steps before it, programs beside it, steps after it. */
export const programRoles = ['INIT', 'SIDECAR', 'POST'] as const;
export type ProgramRole = (typeof programRoles)[number];

/** States of such a program. A sidecar that has ended is FAILED, with whatever exit code, until it is started again. */
export const programStates = ['RUNNING', 'SUCCEEDED', 'FAILED'] as const;
export type ProgramState = (typeof programStates)[number];

/** Order in which a deploy starts new tasks and ends old ones. */
export const deployStrategies = ['NEW_FIRST', 'OLD_FIRST'] as const;
export type DeployStrategy = (typeof deployStrategies)[number];

/** Ways to ask a task whether it is healthy. */
export const healthcheckTypes = ['HTTP', 'TCP', 'GRPC', 'COMMAND'] as const;
export type HealthcheckType = (typeof healthcheckTypes)[number];

/** Consequences for a task that fails its liveness checks: it is replaced, or only told of. */
export const livenessActions = ['RESTART', 'NONE'] as const;
export type LivenessAction = (typeof livenessActions)[number];

/** Reasons why a task that fails its liveness checks is not replaced now. */
export const sickTaskWaits = [
  'ACTION_NONE',
  'CANNOT_JUDGE',
  'COOLDOWN',
  'DEPLOY_IN_PROGRESS',
  'LIMIT',
  'BACK_OFF',
  'RESTART_DELAY',
] as const;
export type SickTaskWait = (typeof sickTaskWaits)[number];

export const healthcheckMethods = ['GET', 'POST'] as const;
export type HealthcheckMethod = (typeof healthcheckMethods)[number];

export const loadBalancerStates = [
  'UNKNOWN',
  'FAILED',
  'WAITING',
  'SUCCESS',
  'CANCELING',
  'CANCELED',
  'INVALID_REQUEST_NOOP',
] as const;
export type LoadBalancerState = (typeof loadBalancerStates)[number];

export const loadBalancerRequestTypes = ['ADD', 'REMOVE', 'DEPLOY', 'DELETE'] as const;
export type LoadBalancerRequestType = (typeof loadBalancerRequestTypes)[number];

/** PRE_ENQUEUE: written down before anything was sent. */
export const loadBalancerMethods = ['PRE_ENQUEUE', 'ENQUEUE', 'CHECK_STATE', 'CANCEL', 'DELETE'] as const;
export type LoadBalancerMethod = (typeof loadBalancerMethods)[number];

/** Load of a machine, averaged over 1, 5 or 15 minutes. */
export const loadMetrics = ['LOAD_1', 'LOAD_5', 'LOAD_15'] as const;
export type LoadMetric = (typeof loadMetrics)[number];

export const webhookTypes = ['TASK', 'REQUEST', 'DEPLOY', 'CRASHLOOP', 'ELEVATED_ACCESS'] as const;
export type WebhookType = (typeof webhookTypes)[number];

export const emailDestinations = ['OWNERS', 'ACTION_TAKER', 'ADMINS'] as const;
export type EmailDestination = (typeof emailDestinations)[number];

export const emailTypes = [
  'TASK_LOST',
  'TASK_KILLED',
  'TASK_FINISHED_SCHEDULED',
  'TASK_FINISHED_LONG_RUNNING',
  'TASK_FINISHED_ON_DEMAND',
  'TASK_FINISHED_RUN_ONCE',
  'TASK_FAILED',
  'TASK_SCHEDULED_OVERDUE_TO_FINISH',
  'TASK_KILLED_DECOMISSIONED',
  'TASK_KILLED_UNHEALTHY',
  'TASK_FAILED_DECOMISSIONED',
  'REQUEST_IN_COOLDOWN',
  'REPLACEMENT_TASKS_FAILING',
  'SCHEDULER_ABORTING',
  'REQUEST_REMOVED',
  'REQUEST_PAUSED',
  'REQUEST_UNPAUSED',
  'REQUEST_SCALED',
  'DISASTER_DETECTED',
] as const;
export type EmailType = (typeof emailTypes)[number];

export const actionTypes = [
  'BOUNCE_REQUEST',
  'SCALE_REQUEST',
  'PRIORITY_REQUEST',
  'REMOVE_REQUEST',
  'CREATE_REQUEST',
  'UPDATE_REQUEST',
  'VIEW_REQUEST',
  'PAUSE_REQUEST',
  'KILL_TASK',
  'BOUNCE_TASK',
  'RUN_SHELL_COMMAND',
  'ADD_METADATA',
  'DEPLOY',
  'CANCEL_DEPLOY',
  'ADD_WEBHOOK',
  'REMOVE_WEBHOOK',
  'VIEW_WEBHOOKS',
  'TASK_RECONCILIATION',
  'STARTUP_TASK_RECONCILIATION',
  'RUN_HEALTH_CHECKS',
  'ADD_DISASTER',
  'REMOVE_DISASTER',
  'DISABLE_ACTION',
  'ENABLE_ACTION',
  'VIEW_DISASTERS',
  'FREEZE_SLAVE',
  'ACTIVATE_SLAVE',
  'DECOMMISSION_SLAVE',
  'VIEW_SLAVES',
  'FREEZE_RACK',
  'ACTIVATE_RACK',
  'DECOMMISSION_RACK',
  'VIEW_RACKS',
  'SEND_EMAIL',
  'PROCESS_OFFERS',
  'CACHE_OFFERS',
  'EXPENSIVE_API_CALLS',
  'RUN_CLEANUP_POLLER',
  'RUN_DEPLOY_POLLER',
  'RUN_SCHEDULER_POLLER',
  'RUN_EXPIRING_ACTION_POLLER',
  'RUN_UPSTREAM_POLLER',
  'TASK_SHUFFLE',
] as const;
/** Actions that operators can switch off. */
export type ActionType = (typeof actionTypes)[number];

/** Actions that a request can restrict to some of the groups that may change it. */
export const userActions = [
  'EXEC',
  'BOUNCE',
  'PAUSE',
  'SCALE',
  'PRIORITIZE',
  'KILL_TASK',
  'DELETE_SCHEDULED_TASK',
  'RUN_SHELL_COMMAND',
  'APPROVE',
] as const;
export type UserAction = (typeof userActions)[number];

export const disasterTypes = ['EXCESSIVE_TASK_LAG', 'LOST_SLAVES', 'LOST_TASKS', 'USER_INITIATED'] as const;
export type DisasterType = (typeof disasterTypes)[number];

/** A machine's reports about a shell command, in the order in which they come. The last three end it. */
export const shellCommandUpdateTypes = ['ACKED', 'STARTED', 'INVALID', 'FINISHED', 'FAILED'] as const;
export type ShellCommandUpdateType = (typeof shellCommandUpdateTypes)[number];

export const expiringKinds = ['BOUNCE', 'PAUSE', 'SCALE', 'PRIORITY', 'SKIP_HEALTHCHECKS', 'SLAVE', 'RACK'] as const;
export type ExpiringKind = (typeof expiringKinds)[number];

/** A task in one of these states has ended and never changes again. */
const terminalTaskStates: ReadonlySet<TaskState> = new Set<TaskState>([
  'TASK_FINISHED',
  'TASK_FAILED',
  'TASK_KILLED',
  'TASK_LOST',
  'TASK_LOST_WHILE_DOWN',
  'TASK_ERROR',
  'TASK_DROPPED',
  'TASK_GONE',
  'TASK_UNREACHABLE',
  'TASK_GONE_BY_OPERATOR',
  'TASK_UNKNOWN',
]);
export const isTerminal = (state: TaskState): boolean => terminalTaskStates.has(state);

/** Its main program is over, whatever of it goes on: it does its work no more. */
export const isMainOver = (state: TaskState): boolean => isTerminal(state) || state === 'TASK_KILLING';

/** SERVICE and WORKER: kept running, and rolled out task by task as part of their deploy ("deployable"). */
export const isLongRunning = (type: RequestType): boolean => type === 'SERVICE' || type === 'WORKER';
/** Always-running types are queued again by themselves when a task ends. */
export const isAlwaysRunning = (type: RequestType): boolean => isLongRunning(type) || type === 'SCHEDULED';

/** Requests in these states get new tasks. */
export const isRunnable = (state: RequestState): boolean =>
  state === 'ACTIVE' || state === 'SYSTEM_COOLDOWN' || state === 'DEPLOYING_TO_UNPAUSE';

export const runnableStates: readonly RequestState[] = requestStates.filter(isRunnable);
