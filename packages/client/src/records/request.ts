import { type Int32, type Int64, record, type WordOf, words } from '../schema.js';

/** How the tasks of a request are spread over the machines. */
export const SlavePlacement = words(
  'SEPARATE',
  'OPTIMISTIC',
  'GREEDY',
  'SEPARATE_BY_DEPLOY',
  'SEPARATE_BY_REQUEST',
  'SPREAD_ALL_SLAVES',
);
export type SlavePlacement = WordOf<typeof SlavePlacement>;

/**
 * What a request is: SERVICE and WORKER run until they are removed, SCHEDULED at its times, ON_DEMAND when asked,
 * RUN_ONCE once per deploy.
 */
export const RequestType = words('SERVICE', 'WORKER', 'SCHEDULED', 'ON_DEMAND', 'RUN_ONCE');
export type RequestType = WordOf<typeof RequestType>;

/** How a schedule is to be read. */
export type ScheduleType = 'CRON' | 'QUARTZ' | 'RFC5545';

/**
 * What is to run: its type, how often or in how many instances, and where. What exactly runs is said by its deploys.
 */
export interface Request {
  /** Names the request, and never another one: letters, digits, '_' and '-'. */
  id: string;
  /**
   * SERVICE and WORKER run until they are removed, SCHEDULED at its times, ON_DEMAND when asked, RUN_ONCE once per
   * deploy. Cannot change, but for SERVICE and WORKER without load balancer.
   */
  requestType: RequestType;
  /** Whom it belongs to: e-mail addresses. */
  owners?: string[];
  /** How many times a failed run is tried again. Not for SERVICE and WORKER. */
  numRetriesOnFailure?: Int32;
  /**
   * When a SCHEDULED request runs, as scheduleType says: a cron expression, a Quartz expression, or a rule of RFC
   * 5545 such as "DTSTART=20260101T040000 RRULE:FREQ=DAILY"; a rule without DTSTART begins with the minute in which
   * it is looked at.
   */
  schedule?: string;
  /** How many tasks run at once; 1 unless said otherwise. Of an ON_DEMAND request: how many runs at most. */
  instances?: Int32;
  /**
   * The most instances that it may be given, by an update or a scale. Only of SERVICE and WORKER. An addition of
   * version 1.5 of this API.
   */
  maxScale?: Int32;
  /** Milliseconds after which old runs that have to go are killed. Not for SERVICE and WORKER. */
  killOldNonLongRunningTasksAfterMillis?: Int64;
  /** Milliseconds a run may take before it is killed; 0: as soon as it has started. Not for SERVICE and WORKER. */
  taskExecutionTimeLimitMillis?: Int64;
  /** How schedule is to be read; CRON unless said otherwise. */
  scheduleType?: ScheduleType;
  /** The schedule as a Quartz expression; derived from a cron schedule. When both are sent, this one counts. */
  quartzSchedule?: string;
  /**
   * Time zone of the schedule, UTC unless said otherwise. A time that clocks show twice runs once, one that they skip
   * runs when they do; schedules that run within every hour follow the hours that pass.
   */
  scheduleTimeZone?: string;
  /** Run on these racks only. */
  rackAffinity?: string[];
  /** How the tasks are spread over the machines. */
  slavePlacement?: SlavePlacement;
  /** Attributes a machine must have. */
  requiredSlaveAttributes?: Record<string, string>;
  /** Attributes that open machines reserved by them. */
  allowedSlaveAttributes?: Record<string, string>;
  /** By attribute and value: the percentage of tasks that at least run on such machines. */
  slaveAttributeMinimums?: Record<string, Record<string, Int32>>;
  /** Milliseconds a run is expected to take; for warnings in the dashboard. */
  scheduledExpectedRuntimeMillis?: Int64;
  /** Milliseconds between the end of a run and the next one at least. */
  waitAtLeastMillisAfterTaskFinishesForReschedule?: Int64;
  /** Group whose members may see and change it. */
  group?: string;
  /** Further groups whose members may see and change it. */
  readWriteGroups?: string[];
  /** Groups whose members may see it. */
  readOnlyGroups?: string[];
  /**
   * By group: the actions that its members may take, on top of what lets them change the request. When it is given,
   * no other callers but administrators may take them: run now (EXEC), bounce, pause and unpause, scale, prioritize,
   * kill tasks, delete scheduled tasks, run shell commands. An addition of version 1.5 of this API.
   */
  actionPermissions?: Record<
    string,
    (
      'EXEC' | 'BOUNCE' | 'PAUSE' | 'SCALE' | 'PRIORITIZE' | 'KILL_TASK' | 'DELETE_SCHEDULED_TASK' | 'RUN_SHELL_COMMAND'
    )[]
  >;
  /** Who is told of which event by mail, in place of the configured recipients. */
  emailConfigurationOverrides?: Record<string, ('OWNERS' | 'ACTION_TAKER' | 'ADMINS')[]>;
  /** Lines of a task's log that match are shown in mails about its failure. */
  taskLogErrorRegex?: string;
  /** From 0 to 1; tasks of higher priority are placed first. */
  taskPriorityLevel?: number;
  /** Kept for older clients; has no effect. */
  maxTasksPerOffer?: Int32;
  /** Role whose resources are used. Not supported. */
  requiredRole?: string;
  /** Data center it belongs to; not interpreted. */
  dataCenter?: string;
  /**
   * @deprecated Older form of requestType: false is ON_DEMAND, true SERVICE or WORKER; SCHEDULED when there is a schedule.
   */
  daemon?: boolean;
  /** @deprecated Older name of hideEvenNumberAcrossRacksHint. */
  hideEvenNumberAcrossRacks?: boolean;
  /** Spread the tasks evenly over the racks. Only SERVICE and WORKER. */
  rackSensitive?: boolean;
  /** Its tasks are put into a load balancer. Only SERVICE and WORKER; cannot change. */
  loadBalanced?: boolean;
  /** A scale is followed by a bounce unless it says otherwise. */
  bounceAfterScale?: boolean;
  /** Its tasks count as healthy without being checked. */
  skipHealthchecks?: boolean;
  /** Whether taskLogErrorRegex heeds case. */
  taskLogErrorRegexCaseSensitive?: boolean;
  /** A bounce may put the new task on the machine of the old one. */
  allowBounceToSameHost?: boolean;
  /** The dashboard does not hint at numbers of instances that divide evenly among the racks. */
  hideEvenNumberAcrossRacksHint?: boolean;
}
export const Request = record<Request>('Request');
