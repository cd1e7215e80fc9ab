import { ApiProperty } from '@nestjs/swagger';
import type { UpcomingRun } from '../../../core/schedules/index.js';
import { QueryInt, QueryText, QueryTimestamp } from '../../../platform/http/query.js';

export const mostRuns = 10_000;
export const usualRuns = 1_000;

/** Which runs are asked for. */
export class UpcomingRunsQuery {
  /** Not before this time. Default: now. */
  @QueryTimestamp()
  from?: number;
  /** Before this time, at most 366 days after `from`. Default: a day after it. */
  @QueryTimestamp()
  to?: number;
  /** Only of this request. */
  @QueryText('name')
  requestId?: string;
  /** At most so many, the earliest ones. Default: 1000. */
  @QueryInt({ max: mostRuns })
  limit?: number;
}

/** A run that a schedule asks for. */
export class UpcomingRunDto implements UpcomingRun {
  /** The request. */
  requestId: string;
  /** When, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  at: number;
  /** The zone of its schedule. */
  timeZone: string;
}

/** Runs that schedules ask for between two times. */
export class UpcomingRunsDto {
  /** In epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  from: number;
  /** In epoch milliseconds; a run at this time is left out. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  to: number;
  /** In the order of their times, then of ids. */
  runs: UpcomingRunDto[];
  /** These are all of them; false: the limit left later ones out. */
  isComplete: boolean;
}
