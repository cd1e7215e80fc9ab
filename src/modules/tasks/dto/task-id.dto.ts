import { ApiProperty } from '@nestjs/swagger';
import { pendingTypes, type PendingType } from '../../../core/model/enums.js';
import { OlderNames } from '../../../platform/http/older-names.js';

/** Names one task for ever: id is made of the other fields. */
@OlderNames({ nextRunAt: { of: 'startedAt', type: 'integer', format: 'int64' } })
export class TaskIdDto {
  /** Request that the task belongs to. */
  requestId: string;
  /** Deploy that the task runs. */
  deployId: string;
  /** When the launch was decided, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  startedAt: number;
  /** Which of the request's instances it is, from 1. */
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1 })
  instanceNo: number;
  /** Host part of the id: the host name with '_' for '-'. */
  host: string;
  /** The same as host. */
  sanitizedHost: string;
  /** Rack part of the id: the rack with '_' for '-'. */
  sanitizedRackId: string;
  /** The same as sanitizedRackId. */
  rackId: string;
  /** requestId-deployId-startedAt-instanceNo-host-rackId. */
  id: string;
}

/** Names a task that waits for its time or for a machine. */
export class PendingTaskIdDto {
  /** Request that the task will belong to. */
  requestId: string;
  /** Deploy that the task will run. */
  deployId: string;
  /** When it is due, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  nextRunAt: number;
  /** Which of the request's instances it is, from 1. */
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1 })
  instanceNo: number;
  /** Why it is to run. */
  @ApiProperty({ enum: pendingTypes, enumName: 'PendingType' })
  pendingType: PendingType;
  /** When that became known, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  createdAt: number;
  /** requestId-deployId-nextRunAt-instanceNo-pendingType-createdAt. */
  id: string;
}

/** The tasks of one request, by what can be expected of them. */
export class TaskIdsByStatusDto {
  /** Running, and their health checks (if any) pass. */
  healthy: TaskIdDto[];
  /** Launched, but not known to be healthy yet. */
  notYetHealthy: TaskIdDto[];
  /** Waiting for their time or for a machine. */
  pending: PendingTaskIdDto[];
  /** Have to go; a kill has not been sent yet. */
  cleaning: TaskIdDto[];
  /** Known to the load balancer. */
  loadBalanced: TaskIdDto[];
  /** A kill was sent; their end has not been reported yet. */
  killed: TaskIdDto[];
}
