import { ApiProperty } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import {
  missedRunPolicies,
  overlapPolicies,
  scheduleTypes,
  type MissedRunPolicy,
  type OverlapPolicy,
  type ScheduleType,
} from '../../../core/model/enums.js';
import type { MissedRuns, Request, ScheduleEntry, TimeWindow } from '../../../core/model/request.js';
import { longestJitterMillis } from '../../../core/request-validation/index.js';
import { Int32, Nested, NestedList, OneOf, SomeMillis, Text, Timestamp } from '../../../platform/http/fields.js';
import { Since } from '../../../platform/http/since.js';

/** One of several schedules of a request. */
export class ScheduleEntryDto implements ScheduleEntry {
  /** The expression, as scheduleType says. */
  @ApiProperty({ example: '0 9 * * MON-FRI' })
  @Text('expression')
  schedule: string;
  /** Language of the expression. Default: CRON. */
  @IsOptional()
  @OneOf(scheduleTypes, 'ScheduleType')
  scheduleType?: ScheduleType;
  /** Time zone of the schedule. Default: the scheduleTimeZone of the request. */
  @IsOptional()
  @Text('name')
  scheduleTimeZone?: string;
}

/** What becomes of planned times that passed without a start. */
export class MissedRunsDto implements MissedRuns {
  /**
   * LAST: the newest of them runs. SKIP: none that is later than withinMillis. ALL: each of the newest 100 runs, as overlapPolicy lets
   * runs go on beside each other; skippedRuns of the deploy counts the others. A time is missed when it could not start within a minute,
   * or within withinMillis; of several that can still start in time, as many of the newest run as overlapPolicy lets.
   */
  @OneOf(missedRunPolicies, 'MissedRunPolicy')
  policy: MissedRunPolicy;
  /** The most milliseconds after its planned time that a run may start. Default: no limit; with SKIP a minute. */
  @IsOptional()
  @SomeMillis()
  withinMillis?: number;
}

/** Most windows of a list. */
export const mostWindows = 50;

/** A window of time: one that recurs (schedule, durationMillis), or one between two times (from, to). */
export class TimeWindowDto implements TimeWindow {
  /** Begin of each window, as scheduleType says. */
  @ApiProperty({ example: '0 22 * * FRI' })
  @IsOptional()
  @Text('expression')
  schedule?: string;
  /** Language of the expression. Default: CRON. */
  @IsOptional()
  @OneOf(scheduleTypes, 'ScheduleType')
  scheduleType?: ScheduleType;
  /** Time zone of the schedule. Default: the scheduleTimeZone of the request. */
  @IsOptional()
  @Text('name')
  scheduleTimeZone?: string;
  /** Length of each window in milliseconds. */
  @IsOptional()
  @SomeMillis()
  durationMillis?: number;
  /** Begin of the window, in epoch milliseconds. */
  @IsOptional()
  @Timestamp()
  from?: number;
  /** The first millisecond behind the window, in epoch milliseconds. */
  @IsOptional()
  @Timestamp()
  to?: number;
}

/** When a SCHEDULED request runs, beside its schedule. */
export class RequestTimingDto implements Partial<Request> {
  /** In place of schedule: it runs at each time that one of them names, at most 20. A time that two of them name is one run. */
  @Since('muster')
  @IsOptional()
  @NestedList(() => ScheduleEntryDto, 20)
  schedules?: ScheduleEntryDto[];
  /**
   * A time of the schedule that comes while a run goes on: SKIP leaves it out; ALLOW starts it beside, up to `instances` runs; BUFFER_ONE
   * keeps one until the run has ended, BUFFER_ALL up to 100, one after the other; REPLACE asks the run to end, with its grace, and
   * starts then. Only SCHEDULED. Default: SKIP.
   */
  @Since('muster')
  @IsOptional()
  @OneOf(overlapPolicies, 'OverlapPolicy')
  overlapPolicy?: OverlapPolicy;
  /**
   * What becomes of times that passed while there was no leader, while the request was paused, in an exclusion, or without a machine that
   * fits. Only SCHEDULED. Default: one late run after a time without leader or machine, for the newest time, none after a pause or an exclusion.
   */
  @Since('muster')
  @IsOptional()
  @Nested(() => MissedRunsDto)
  missedRuns?: MissedRunsDto;
  /**
   * Each run starts at a fixed offset within so many milliseconds after its time, which the id of the request gives: the same after
   * each restart. `H` in a field of a crontab stands for such a value as well. At most a day. Only SCHEDULED.
   */
  @Since('muster')
  @IsOptional()
  @Int32({ min: 1, max: longestJitterMillis })
  scheduleJitterMillis?: number;
  /** No run is planned before this time, in epoch milliseconds. Only SCHEDULED. */
  @Since('muster')
  @IsOptional()
  @Timestamp()
  startAt?: number;
  /** No run is planned after this time, in epoch milliseconds; after the last one the request is finished. Only SCHEDULED. */
  @Since('muster')
  @IsOptional()
  @Timestamp()
  endAt?: number;
  /**
   * The most runs that its schedule begins; then the request is finished. Runs that are tried again, and those that callers ask for, do
   * not count. Counted since the request has one. Only SCHEDULED.
   */
  @Since('muster')
  @IsOptional()
  @Int32({ min: 1 })
  maxRuns?: number;
  /** Windows in which none of its runs starts unless a caller asks for it, at most 50. Only SCHEDULED. */
  @Since('muster')
  @IsOptional()
  @NestedList(() => TimeWindowDto, mostWindows)
  exclusions?: TimeWindowDto[];
}
