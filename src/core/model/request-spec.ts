import type { EmailDestination, RequestType, ScheduleType, SlavePlacement, UserAction } from './enums.js';

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

/** Number of tasks of a request: one unless it says otherwise. */
export const instancesOf = (request: Pick<Request, 'instances'> | undefined): number => request?.instances ?? 1;

export interface ShellCommand {
  name: string;
  options?: string[];
  user?: string;
  logfileName?: string;
}
