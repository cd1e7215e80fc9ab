import { ApiProperty } from '@nestjs/swagger';
import { IsBoolean, IsOptional } from 'class-validator';
import type { PriorityFreeze, PriorityFreezeParent } from '../../core/model/state.js';
import { Decimal, MayBeLeftOut, Millis, Text } from '../../platform/http/fields.js';
import { Since } from '../../platform/http/since.js';

/** A freeze: tasks below a priority are not started. */
export class PriorityFreezeDto implements PriorityFreeze {
  /** Tasks of requests with a lower priority wait. Above 0, at most 1. */
  @Decimal()
  minimumPriorityLevel: number;
  /** True if tasks with a lower priority that run already are killed. */
  @MayBeLeftOut()
  @IsBoolean()
  killTasks: boolean = false;
  /** Reason for the freeze; shown to those whose deploys and bounces are refused. */
  @IsOptional()
  @Text('message')
  message?: string;
  /** An id of your own for this action; made up when absent. */
  @IsOptional()
  @Text('name')
  actionId?: string;
  /** Time in milliseconds after which the freeze ends by itself; absent: it stays until it is deleted. */
  @Since('muster')
  @IsOptional()
  @Millis()
  durationMillis?: number;
}

/** A priority freeze in force. */
export class PriorityFreezeParentDto implements PriorityFreezeParent {
  /** The freeze. */
  priorityFreeze: PriorityFreezeDto;
  /** Since when it is in force, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  timestamp: number;
  /** User who made it. */
  user?: string;
}
