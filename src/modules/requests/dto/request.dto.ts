import { ApiProperty } from '@nestjs/swagger';
import { IsBoolean, IsOptional } from 'class-validator';
import {
  argumentSources,
  emailDestinations,
  followModes,
  requestTypes,
  scheduleTypes,
  slavePlacements,
  userActions,
  type ArgumentSource,
  type EmailDestination,
  type FollowMode,
  type RequestType,
  type ScheduleType,
  type SlavePlacement,
  type UserAction,
} from '../../../core/model/enums.js';
import { withoutAbsent } from '../../../core/without-absent.js';
import type { Request } from '../../../core/model/request.js';
import { readLegacyType } from '../../../core/request-validation/index.js';
import {
  Decimal,
  everyValue,
  Int32,
  is,
  NestedList,
  OneOf,
  raw,
  TextMap,
  Texts,
  Text,
  Millis,
  Nested,
  Small,
} from '../../../platform/http/fields.js';
import { ParentDto } from './parent.dto.js';
import { mostMembers } from '../../../platform/http/input-limits.js';
import { Holds } from '../../../platform/http/known-members.js';
import { Since } from '../../../platform/http/since.js';
import { RunPoliciesDto } from './run-policies.dto.js';
import { mostWindows, TimeWindowDto } from './request-timing.dto.js';
import { AutoscaleDto } from './autoscale.dto.js';
import { RestartPolicyDto } from './restart-policy.dto.js';

const isActions = (value: unknown): boolean =>
  Array.isArray(value) && value.every((action) => (userActions as readonly unknown[]).includes(action));
const isDestinations = (value: unknown): boolean =>
  Array.isArray(value) && value.every((word) => (emailDestinations as readonly unknown[]).includes(word));
/** Largest int32; the limit of 100 is checked for the single value, by the rules of requests. */
const mostPercent = 2_147_483_647;
const isMinimums = (value: unknown): boolean =>
  everyValue(value, (percent) => Number.isInteger(percent) && Math.abs(Number(percent)) <= mostPercent);

/**
 * A request: its type, its schedule or number of instances, and where its tasks run. Its deploys say which program
 * runs.
 */
export class RequestDto extends RunPoliciesDto implements Request {
  /** Names the request, and never another one: letters, digits, '_' and '-'. */
  @ApiProperty({ pattern: '^[a-zA-Z0-9_-]+$' })
  @IsOptional()
  @Text('name')
  id: string;
  /**
   * SERVICE and WORKER run until they are removed, SCHEDULED at its times, ON_DEMAND when asked, RUN_ONCE once per deploy. Cannot
   * change, but for SERVICE and WORKER without load balancer.
   */
  @IsOptional()
  @OneOf(requestTypes, 'RequestType')
  requestType: RequestType;
  /** E-mail addresses of the people who own it; mails go to them. */
  @IsOptional()
  @Texts('name')
  owners?: string[];
  /** Number of times that a failed run is tried again. Not for SERVICE and WORKER. Default: 0. */
  @IsOptional()
  @Int32()
  numRetriesOnFailure?: number;
  /**
   * Schedule of a SCHEDULED request, as scheduleType says: a cron expression, a Quartz expression, or a rule of RFC
   * 5545 such as "DTSTART=20260101T040000 RRULE:FREQ=DAILY"; a rule without DTSTART begins with the minute in which it
   * is looked at.
   */
  @IsOptional()
  @Text('expression')
  schedule?: string;
  /**
   * Number of tasks that run at once. Of an ON_DEMAND request: the most runs at once; without it, any number. Default: 1.
   */
  @IsOptional()
  @Int32()
  instances?: number;
  /** The most instances that it may be given, by an update or a scale. Only of SERVICE and WORKER. */
  @Since('1.5')
  @IsOptional()
  @Int32()
  maxScale?: number;
  /** Spread the tasks evenly over the racks. Only SERVICE and WORKER. */
  @IsOptional()
  @IsBoolean()
  rackSensitive?: boolean;
  /** Its tasks are put into a load balancer. Only SERVICE and WORKER; cannot change. */
  @IsOptional()
  @IsBoolean()
  loadBalanced?: boolean;
  /**
   * Milliseconds after which a run that was told to end is killed. Not for SERVICE and WORKER. Default: the setting
   * killNonLongRunningTasksInCleanupAfterSeconds (86400 seconds).
   */
  @IsOptional()
  @Millis()
  killOldNonLongRunningTasksAfterMillis?: number;
  /**
   * Milliseconds a run may take before it is killed; 0: as soon as it has started. Not for SERVICE and WORKER. Default:
   * the setting taskExecutionTimeLimitMillis (no limit).
   */
  @IsOptional()
  @Millis()
  taskExecutionTimeLimitMillis?: number;
  /** Language of the schedule. Default: CRON. */
  @IsOptional()
  @OneOf(scheduleTypes, 'ScheduleType')
  scheduleType?: ScheduleType;
  /** The schedule as a Quartz expression; derived from a cron schedule. When both are sent, this one counts. */
  @IsOptional()
  @Text('expression')
  quartzSchedule?: string;
  /**
   * Time zone of the schedule. A time that clocks show twice runs once, one that they skip runs when they do; schedules
   * that run within every hour follow the hours that pass. Default: UTC.
   */
  @IsOptional()
  @Text('name')
  scheduleTimeZone?: string;
  /** Run on these racks only. */
  @IsOptional()
  @Texts('name')
  rackAffinity?: string[];
  /** The way in which the tasks are spread over the machines. Default: the setting defaultSlavePlacement (GREEDY). */
  @IsOptional()
  @OneOf(slavePlacements, 'SlavePlacement')
  slavePlacement?: SlavePlacement;
  /** Attributes a machine must have, each with its value. */
  @IsOptional()
  @TextMap()
  requiredSlaveAttributes?: Record<string, string>;
  /** Attributes of reserved machines that the tasks may use: without them a reserved machine gets none. */
  @IsOptional()
  @TextMap()
  allowedSlaveAttributes?: Record<string, string>;
  /** By attribute and value: the least percentage of the tasks that run on such machines. */
  @IsOptional()
  @Holds('MAP_OF_NUMBERS')
  @raw((value) => value)
  @is('type', 'must be a map of attributes to maps of values to whole percentages', (value) =>
    everyValue(value, isMinimums),
  )
  @Small('name')
  @ApiProperty({
    type: 'object',
    maxProperties: mostMembers,
    additionalProperties: {
      type: 'object',
      maxProperties: mostMembers,
      additionalProperties: { type: 'integer', format: 'int32', minimum: 0, maximum: mostPercent },
    },
  })
  slaveAttributeMinimums?: Record<string, Record<string, number>>;
  /** Milliseconds a run is expected to take; for warnings in the dashboard. */
  @IsOptional()
  @Millis()
  scheduledExpectedRuntimeMillis?: number;
  /** The least milliseconds between the end of a run and the start of the next one. Default: 0. */
  @IsOptional()
  @Millis()
  waitAtLeastMillisAfterTaskFinishesForReschedule?: number;
  /** Delays of instances that failed, in place of the cooldown of the cluster. Only SERVICE and WORKER. Default: none. */
  @Since('muster')
  @IsOptional()
  @Nested(() => RestartPolicyDto)
  restart?: RestartPolicyDto;
  /**
   * Windows in which deploys start, at most 50; outside of them a deploy is refused. One in progress goes on, and a rollback starts at
   * any time. Default: at any time.
   */
  @Since('muster')
  @IsOptional()
  @NestedList(() => TimeWindowDto, mostWindows)
  deployWindows?: TimeWindowDto[];
  /** Group whose members may see and change it. */
  @IsOptional()
  @Text('name')
  group?: string;
  /** Further groups whose members may see and change it. */
  @IsOptional()
  @Texts('name')
  readWriteGroups?: string[];
  /** Groups whose members may see it. */
  @IsOptional()
  @Texts('name')
  readOnlyGroups?: string[];
  /**
   * By group: the actions that its members may take, on top of what lets them change the request. When it is given, no other
   * callers but administrators may take them: run now (EXEC), bounce, pause and unpause, scale, prioritize, kill tasks, delete
   * scheduled tasks, run shell commands.
   */
  @Since('1.5')
  @IsOptional()
  @raw((value) => value)
  @is('oneOf', `must be a map of groups to lists of ${userActions.join(', ')}`, (value) => everyValue(value, isActions))
  @Small('name')
  @ApiProperty({
    type: 'object',
    maxProperties: mostMembers,
    additionalProperties: { type: 'array', maxItems: mostMembers, items: { type: 'string', enum: [...userActions] } },
  })
  actionPermissions?: Record<string, UserAction[]>;
  /** A scale is followed by a bounce unless it says otherwise. */
  @IsOptional()
  @IsBoolean()
  bounceAfterScale?: boolean;
  /** Its tasks count as healthy without being checked. */
  @IsOptional()
  @IsBoolean()
  skipHealthchecks?: boolean;
  /** Recipients of mails by event, in place of the configured ones. */
  @IsOptional()
  @raw((value) => value)
  @is('oneOf', `must be a map of event types to lists of ${emailDestinations.join(', ')}`, (value) =>
    everyValue(value, isDestinations),
  )
  @Small('name')
  @ApiProperty({
    type: 'object',
    maxProperties: mostMembers,
    additionalProperties: {
      type: 'array',
      maxItems: mostMembers,
      items: { type: 'string', enum: [...emailDestinations] },
    },
  })
  emailConfigurationOverrides?: Record<string, EmailDestination[]>;
  /** Lines of a task's log that match are shown in mails about its failure. */
  @IsOptional()
  @Text('expression')
  taskLogErrorRegex?: string;
  /** True if taskLogErrorRegex heeds case. Default: the setting smtp.taskLogErrorRegexCaseSensitive (true). */
  @IsOptional()
  @IsBoolean()
  taskLogErrorRegexCaseSensitive?: boolean;
  /**
   * From 0 to 1; tasks of higher priority are placed first. Default: 0.7 for SERVICE, 0.5 for WORKER (the setting
   * defaultTaskPriorityLevelForRequestType), else the setting defaultTaskPriorityLevel (0.3).
   */
  @IsOptional()
  @Decimal()
  taskPriorityLevel?: number;
  /** Kept for older clients; has no effect. */
  @IsOptional()
  @Int32()
  maxTasksPerOffer?: number;
  /**
   * A bounce may put the new task on the machine of the old one. Default: the setting allowBounceToSameHost (false).
   */
  @IsOptional()
  @IsBoolean()
  allowBounceToSameHost?: boolean;
  /** Role whose resources are used. Not supported. */
  @IsOptional()
  @Text('name')
  requiredRole?: string;
  /** Data center it belongs to; not interpreted. */
  @IsOptional()
  @Text('name')
  dataCenter?: string;
  /** The dashboard does not hint at numbers of instances that divide evenly among the racks. */
  @IsOptional()
  @IsBoolean()
  hideEvenNumberAcrossRacksHint?: boolean;
  /** Requests that it follows: their ends make its runs. At most 20. Only of ON_DEMAND. */
  @Since('muster')
  @IsOptional()
  @NestedList(() => ParentDto)
  after?: ParentDto[];
  /**
   * Requests that have all their tasks in service before its first task starts: at most 20. Only of SERVICE and WORKER, and only such
   * ones.
   */
  @Since('muster')
  @IsOptional()
  @Texts('name')
  startAfter?: string[];
  /**
   * A metric decides how many instances there are; `instances` is the number to begin with. Only of SERVICE and WORKER. Default: there are
   * `instances`.
   */
  @Since('muster')
  @IsOptional()
  @Nested(() => AutoscaleDto)
  autoscale?: AutoscaleDto;
  /** ALL: it runs when every request of `after` has ended so in one flow; ANY: for each such end. Default: ALL. */
  @Since('muster')
  @IsOptional()
  @OneOf(followModes, 'FollowMode')
  afterMode?: FollowMode;
  /** PARENT: its runs get the arguments of the run that they follow. Needs one request in `after`, or afterMode ANY. Default: none. */
  @Since('muster')
  @IsOptional()
  @OneOf(argumentSources, 'ArgumentSource')
  argsFrom?: ArgumentSource;
  /** Older form of requestType: false is ON_DEMAND, true SERVICE or WORKER; SCHEDULED when there is a schedule. */
  @ApiProperty({ writeOnly: true })
  @IsOptional()
  @IsBoolean()
  daemon?: boolean;
  /** Older name of hideEvenNumberAcrossRacksHint. */
  @ApiProperty({ writeOnly: true })
  @IsOptional()
  @IsBoolean()
  hideEvenNumberAcrossRacks?: boolean;

  /** The request that was meant; its type may still be missing. */
  static toRequest({ daemon, hideEvenNumberAcrossRacks, ...sent }: RequestDto): Request {
    const requestType = readLegacyType({ ...sent, daemon });
    const hint = sent.hideEvenNumberAcrossRacksHint ?? hideEvenNumberAcrossRacks;
    return withoutAbsent({ ...sent, requestType, hideEvenNumberAcrossRacksHint: hint }) as Request;
  }
}
