import { ApiProperty } from '@nestjs/swagger';
import { IsBoolean, IsOptional } from 'class-validator';
import {
  backfillOrders,
  backfillTimeStates,
  type BackfillOrder,
  type BackfillRequest,
  type BackfillTimeState,
} from '../../../core/requests/backfill.js';
import { Int32, OneOf, Text, Timestamp } from '../../../platform/http/fields.js';
import type { RunBackfill, RunBackfillTime } from './run-backfill.repository.js';

/** Planned times of the past that are to be run. */
export class BackfillRequestDto implements BackfillRequest {
  /** The first time that counts, in epoch milliseconds. */
  @Timestamp()
  from: number;
  /** The first time that does not count any more, in epoch milliseconds; not in the future. At most 1000 planned times lie in between. */
  @Timestamp()
  to: number;
  /** The most of its runs that are active or wait at a time, beside the runs of the schedule. Default: 1. */
  @IsOptional()
  @Int32({ min: 1, max: 100 })
  concurrency?: number;
  /** The time that has its turn first. Default: OLDEST_FIRST. */
  @IsOptional()
  @OneOf(backfillOrders, 'BackfillOrder')
  order?: BackfillOrder;
  /** Times that have had a run, by the schedule or by a backfill, are run once more. Default: they are left out. */
  @IsOptional()
  @IsBoolean()
  force?: boolean;
  /** Text that its runs carry. */
  @IsOptional()
  @Text('message')
  message?: string;
}

const int32 = { type: 'integer', format: 'int32' } as const;
const int64 = { type: 'integer', format: 'int64' } as const;

/** Runs that a backfill would make. */
export class BackfillPlanDto {
  /** Planned times that would be run. */
  @ApiProperty(int32)
  runs: number;
  /** Planned times that would be left out since they have had a run. */
  @ApiProperty(int32)
  skipped: number;
  /** The oldest time that would be run, in epoch milliseconds. */
  @ApiProperty(int64)
  first?: number;
  /** The newest, in epoch milliseconds. */
  @ApiProperty(int64)
  last?: number;
}

/** A planned time of a backfill. */
export class BackfillTimeDto implements RunBackfillTime {
  /** The planned time, in epoch milliseconds. */
  @ApiProperty(int64)
  scheduledAt: number;
  /** Id of its run. */
  runId: string;
  /** WAITING for its turn; QUEUED: its run waits or is active; else how its last try ended, or that it was canceled before it began. */
  @ApiProperty({ enum: backfillTimeStates, enumName: 'BackfillTimeState' })
  state: BackfillTimeState;
  /** Its last task, once that has ended. */
  taskId?: string;
}

/** A backfill, and how far it is. */
export class BackfillDto {
  /** Its id. */
  id: string;
  /** The request. */
  requestId: string;
  /** In epoch milliseconds. */
  @ApiProperty(int64)
  from: number;
  /** In epoch milliseconds. */
  @ApiProperty(int64)
  to: number;
  /** The most of its runs at a time. */
  @ApiProperty(int32)
  concurrency: number;
  /** The time that has its turn first. */
  @ApiProperty({ enum: backfillOrders, enumName: 'BackfillOrder' })
  order: BackfillOrder;
  /** Times that had had a run were run once more. */
  force: boolean;
  /** Planned times that were left out since they had had a run. */
  @ApiProperty(int32)
  skipped: number;
  /** User who asked for it. */
  user?: string;
  /** Text that its runs carry. */
  message?: string;
  /** When it was asked for, in epoch milliseconds. */
  @ApiProperty(int64)
  createdAt: number;
  /** When it was canceled, in epoch milliseconds. */
  @ApiProperty(int64)
  canceledAt?: number;
  /** When its last run had ended, in epoch milliseconds. */
  @ApiProperty(int64)
  endedAt?: number;
  /** Times that wait for their turn. */
  @ApiProperty(int32)
  waiting: number;
  /** Times whose run waits or is active. */
  @ApiProperty(int32)
  queued: number;
  /** Times whose run succeeded. */
  @ApiProperty(int32)
  succeeded: number;
  /** Times whose run failed, with its last try. */
  @ApiProperty(int32)
  failed: number;
  /** Times that were canceled before their run began. */
  @ApiProperty(int32)
  canceled: number;
  /** Its times in their order, where one backfill is asked for. */
  times?: BackfillTimeDto[];

  static from({ newestFirst, forced, counts, ...backfill }: RunBackfill, times?: RunBackfillTime[]): BackfillDto {
    return {
      ...backfill,
      order: newestFirst ? 'NEWEST_FIRST' : 'OLDEST_FIRST',
      force: forced,
      waiting: counts.WAITING ?? 0,
      queued: counts.QUEUED ?? 0,
      succeeded: counts.SUCCEEDED ?? 0,
      failed: counts.FAILED ?? 0,
      canceled: counts.CANCELED ?? 0,
      ...(times && { times }),
    };
  }
}
