import type { Autoscale } from './autoscale.js';
import type {
  ArgumentSource,
  EmailDestination,
  FollowCondition,
  FollowMode,
  MissedRunPolicy,
  OverlapPolicy,
  RequestType,
  ScheduleType,
  SlavePlacement,
  UserAction,
} from './enums.js';

/** One of several schedules of a request. */
export interface ScheduleEntry {
  schedule: string;
  scheduleType?: ScheduleType;
  scheduleTimeZone?: string;
}

export interface MissedRuns {
  policy: MissedRunPolicy;
  /** The most milliseconds after its planned time that a run may start. */
  withinMillis?: number;
}

/** A window that recurs by a schedule, or one between two times. */
export interface TimeWindow extends Partial<ScheduleEntry> {
  /** Length of a window that recurs. */
  durationMillis?: number;
  /** Epoch milliseconds; the first of the window. */
  from?: number;
  /** Epoch milliseconds; the first behind the window. */
  to?: number;
}

export interface Request {
  id: string;
  requestType: RequestType;
  owners?: string[];
  numRetriesOnFailure?: number;
  retry?: RetryPolicy;
  /** Runs that fail in a row before it is paused. */
  pauseAfterFailures?: number;
  keepRuns?: KeptRuns;
  concurrencyGroup?: ConcurrencyGroup;
  schedule?: string;
  instances?: number;
  /** The most instances that it may be given. Only SERVICE and WORKER. */
  maxScale?: number;
  rackSensitive?: boolean;
  loadBalanced?: boolean;
  killOldNonLongRunningTasksAfterMillis?: number;
  taskExecutionTimeLimitMillis?: number;
  scheduleType?: ScheduleType;
  quartzSchedule?: string;
  scheduleTimeZone?: string;
  /** In place of `schedule`: a run at each time that one of them names. */
  schedules?: ScheduleEntry[];
  overlapPolicy?: OverlapPolicy;
  missedRuns?: MissedRuns;
  scheduleJitterMillis?: number;
  /** Epoch milliseconds; no run is planned before. */
  startAt?: number;
  /** Epoch milliseconds; no run is planned after. */
  endAt?: number;
  maxRuns?: number;
  exclusions?: TimeWindow[];
  /** Deploys start in these only. Absent: at any time. */
  deployWindows?: TimeWindow[];
  rackAffinity?: string[];
  slavePlacement?: SlavePlacement;
  requiredSlaveAttributes?: Record<string, string>;
  allowedSlaveAttributes?: Record<string, string>;
  slaveAttributeMinimums?: Record<string, Record<string, number>>;
  scheduledExpectedRuntimeMillis?: number;
  waitAtLeastMillisAfterTaskFinishesForReschedule?: number;
  group?: string;
  readWriteGroups?: string[];
  readOnlyGroups?: string[];
  /** By group: the actions it may take, which no other group may. Absent: all who may change the request may take all. */
  actionPermissions?: Record<string, UserAction[]>;
  bounceAfterScale?: boolean;
  skipHealthchecks?: boolean;
  emailConfigurationOverrides?: Record<string, EmailDestination[]>;
  taskLogErrorRegex?: string;
  taskLogErrorRegexCaseSensitive?: boolean;
  taskPriorityLevel?: number;
  maxTasksPerOffer?: number;
  allowBounceToSameHost?: boolean;
  requiredRole?: string;
  dataCenter?: string;
  hideEvenNumberAcrossRacksHint?: boolean;
  /** Parents: the requests whose runs are followed by runs of this one. */
  after?: Parent[];
  /** ALL: a run when every parent has ended so in one flow; ANY: a run for each end. Absent: ALL. */
  afterMode?: FollowMode;
  /** Source of the arguments of runs that follow a parent. Absent: they have none. */
  argsFrom?: ArgumentSource;
  restart?: RestartPolicy;
  /** Requests that have to be in service before its first task starts. Only SERVICE and WORKER. */
  startAfter?: string[];
  /** Only SERVICE and WORKER. */
  autoscale?: Autoscale;
}

/** A request whose runs are followed, and by which of their ends. */
export interface Parent {
  requestId: string;
  on: FollowCondition;
}

/** Tries of a run after the first. */
export interface RetryPolicy {
  /** The most tries after the first. */
  attempts: number;
  delayMillis?: number;
  backoffFactor?: number;
  maxDelayMillis?: number;
  /** Share of a delay by which it may be shorter. */
  jitter?: number;
  /** Exit codes: of runs that failed by themselves only those with one of these are tried again. */
  onExitCodes?: number[];
  /** Exit codes of runs that are not tried again. */
  notOnExitCodes?: number[];
  onTimeLimit?: boolean;
  onLost?: boolean;
}

/** Requests that name one group share its limit of active runs. */
export interface ConcurrencyGroup {
  name: string;
  limit: number;
}

/** Ended tasks whose history and sandboxes are kept: what one of the two lets go goes. */
export interface KeptRuns {
  /** The newest so many. */
  count?: number;
  /** Those of the last so many days. */
  days?: number;
}

/** Delays of instances that failed, in place of the cooldown of the cluster. Only SERVICE and WORKER. */
export interface RestartPolicy {
  initialDelayMillis?: number;
  backoffFactor?: number;
  maxDelayMillis?: number;
  resetAfterMillis?: number;
  maxRestarts?: number;
}

/** Number of tasks of a request: one unless it says otherwise. */
export const instancesOf = (request: Pick<Request, 'instances'> | undefined): number => request?.instances ?? 1;

export interface ShellCommand {
  name: string;
  options?: string[];
  user?: string;
  logfileName?: string;
}
