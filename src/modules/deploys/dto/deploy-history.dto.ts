import { ApiProperty } from '@nestjs/swagger';
import type {
  DeployFailure,
  DeployHistory,
  DeployResult,
  DeployStatistics,
  TaskFailureEvent,
} from '../../../core/model/deploy.js';
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
import { Since } from '../../../platform/http/since.js';
import { LoadBalancerUpdateDto } from '../../load-balancer/load-balancer.dto.js';
import { TaskIdDto } from '../../tasks/dto/task-id.dto.js';
import { DeployDto } from './deploy.dto.js';
import { GateResultDto } from './gate.dto.js';
import { DeployMarkerDto } from './pending-deploy.dto.js';

/** One thing that made a deploy fail. */
export class DeployFailureDto implements DeployFailure {
  /** Kind of failure. */
  @ApiProperty({ enum: deployFailureReasons, enumName: 'DeployFailureReason' })
  reason: DeployFailureReason;
  /** The task that failed. */
  taskId?: TaskIdDto;
  /** Description for people. */
  message?: string;
}

/** Result of a deploy. */
export class DeployResultDto implements DeployResult {
  /** SUCCEEDED, or why not. */
  @ApiProperty({ enum: deployStates, enumName: 'DeployState' })
  deployState: DeployState;
  /** Description for people. */
  message?: string;
  /** Newest order to the load balancer, and its answer. */
  lbUpdate?: LoadBalancerUpdateDto;
  /** Everything that went wrong. */
  deployFailures: DeployFailureDto[];
  /** Time of its end, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  timestamp: number;
}

/** A task that failed, and how. */
export class TaskFailureEventDto implements TaskFailureEvent {
  /** Number of the instance. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  instance: number;
  /** Time of the failure, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  timestamp: number;
  /** Kind of failure. */
  @ApiProperty({ enum: taskFailureTypes, enumName: 'TaskFailureType' })
  type: TaskFailureType;
}

/** Counts over the ended tasks of a deploy. */
export class DeployStatisticsDto implements DeployStatistics {
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
  /** Time at which the last task ended, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  lastFinishAt?: number;
  /** State in which it ended. */
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
  /** Average running time. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  averageRuntimeMillis?: number;
  /** Average delay between the time at which they were due and their launch. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  averageSchedulingDelayMillis?: number;
  /**
   * Times of its schedule that passed without a run: the run before took longer, its end was told late, or they were missed. Of times that
   * pass without a look, such as in a pause, at most 4,000 at once are counted.
   */
  @Since('muster')
  @ApiProperty({ type: 'integer', format: 'int32' })
  skippedRuns?: number;
  /** The newest failures, newest first. */
  taskFailureEvents: TaskFailureEventDto[];
}

/** A deploy, in progress or past. Lists leave out the deploy itself and its statistics. */
export class DeployHistoryDto implements DeployHistory {
  /** Result of the deploy; absent while it goes on. */
  deployResult?: DeployResultDto;
  /** Ids of the deploy, and the user who started it. */
  deployMarker: DeployMarkerDto;
  /** The deploy itself. */
  deploy?: DeployDto;
  /** Counts over its tasks; absent until one has ended. */
  deployStatistics?: DeployStatisticsDto;
  /** For one in progress: the reason why its tasks are not placed, as far as the scheduler has looked. Not in lists. */
  @Since('muster')
  waitsBecause?: string;
  /** Gates that were opened, in their order, with their results; absent: none was. Not in lists. */
  @Since('muster')
  gates?: GateResultDto[];
}
