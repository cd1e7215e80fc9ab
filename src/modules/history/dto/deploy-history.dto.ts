import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import {
  deployFailureReasons,
  deployStates,
  taskFailureTypes,
  taskStates,
  type DeployFailureReason,
  type DeployState,
  type TaskFailureType,
  type TaskState,
} from '../../../core/model/enums.js';
import { DeployDto } from '../../deploys/dto/deploy.dto.js';
import { LoadBalancerUpdateDto } from '../../load-balancer/dto/load-balancer-update.dto.js';
import { DeployMarkerDto } from '../../deploys/dto/pending-deploy.dto.js';
import { TaskIdDto } from '../../tasks/dto/task-id.dto.js';

/** One thing that made a deploy fail. */
export class DeployFailureDto {
  /** What it was. */
  @ApiProperty({ enum: deployFailureReasons, enumName: 'DeployFailureReason' })
  reason: DeployFailureReason;
  /** The task that failed. */
  taskId?: TaskIdDto;
  /** What happened, for people. */
  message?: string;
}

/** How a deploy ended. */
export class DeployResultDto {
  /** SUCCEEDED, or why not. */
  @ApiProperty({ enum: deployStates, enumName: 'DeployState' })
  deployState: DeployState;
  /** What happened, for people. */
  message?: string;
  /** What the load balancer was asked for last, and what it said. */
  lbUpdate?: LoadBalancerUpdateDto;
  /** Everything that went wrong. */
  deployFailures: DeployFailureDto[];
  /** When it ended, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  timestamp: number;
}

/** A task that failed, and how. */
export class TaskFailureEventDto {
  /** Number of the instance. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  instance: number;
  /** When, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  timestamp: number;
  /** How. */
  @ApiProperty({ enum: taskFailureTypes, enumName: 'TaskFailureType' })
  type: TaskFailureType;
}

/** Counts over the ended tasks of a deploy. */
export class DeployStatisticsDto {
  /** The request. */
  requestId: string;
  /** The deploy. */
  deployId: string;
  /** Successes since the last failure. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  numSuccess: number;
  /** Failures since the last success. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  numFailures: number;
  /** Retries since the last success. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  numSequentialRetries: number;
  /** When the last task ended, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  lastFinishAt?: number;
  /** How it ended. */
  @ApiProperty({ enum: taskStates, enumName: 'TaskState' })
  lastTaskState?: TaskState;
  /** Always empty; kept for older clients. */
  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'array', items: { type: 'integer', format: 'int64' } },
  })
  instanceSequentialFailureTimestamps: Record<string, number[]>;
  /** Ended tasks. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  numTasks: number;
  /** How long they ran on average. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  averageRuntimeMillis?: number;
  /** How long after their time they were launched on average. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  averageSchedulingDelayMillis?: number;
  /** The newest failures, newest first. */
  taskFailureEvents: TaskFailureEventDto[];
}

/** A deploy, in progress or past. Lists leave out the deploy itself and its statistics. */
export class DeployHistoryDto {
  /** How it ended; absent while it goes on. */
  deployResult?: DeployResultDto;
  /** Which deploy it is, and who started it. */
  deployMarker: DeployMarkerDto;
  /** What was deployed. */
  deploy?: DeployDto;
  /** Counts over its tasks; absent until one has ended. */
  deployStatistics?: DeployStatisticsDto;
}

/** One page of deploys. */
@ApiSchema({ name: 'PaginatedResponseOfDeployHistoryDto' })
export class DeployHistoryPageDto {
  /** How many there are in all. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  dataCount: number;
  /** How many pages that makes. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  pageCount: number;
  /** Which page this is, from 1. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  page: number;
  /** The deploys of this page. */
  objects: DeployHistoryDto[];
}
