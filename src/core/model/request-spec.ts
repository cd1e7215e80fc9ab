import type { EmailDestination, RequestType, ScheduleType, SlavePlacement, UserAction } from './enums.js';

export interface Request {
  id: string;
  requestType: RequestType;
  owners?: string[];
  numRetriesOnFailure?: number;
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
  restart?: RestartPolicy;
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
