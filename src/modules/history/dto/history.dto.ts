import { ApiProperty, ApiSchema } from '@nestjs/swagger';
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
  requestEventTypes,
  taskFailureTypes,
  taskStates,
  type DeployFailureReason,
  type DeployState,
  type RequestEventType,
  type TaskFailureType,
  type TaskState,
} from '../../../core/model/enums.js';
import type { TaskHealthcheckResult, TaskHistory, TaskIdHistory } from '../../../core/model/task.js';
import { OlderNames } from '../../../platform/http/fields.js';
import { DeployDto } from '../../deploys/dto/deploy.dto.js';
import { GateResultDto } from '../../deploys/dto/gate.dto.js';
import { DeployMarkerDto } from '../../deploys/dto/pending-deploy.dto.js';
import { LoadBalancerUpdateDto } from '../../load-balancer/load-balancer.dto.js';
import { RequestDto } from '../../requests/dto/request.dto.js';
import type { RequestChange } from '../../requests/request-history.repository.js';
import { TaskHistoryUpdateDto, TaskIdDto, TaskIdHistoryDto } from '../../tasks/dto/task-id.dto.js';
import { TaskDto } from '../../tasks/dto/task.dto.js';
import { TaskMetadataDto } from '../../tasks/metadata/task-metadata.dto.js';
import { TaskProgramDto } from '../../tasks/programs/task-program.dto.js';
import { TaskShellCommandHistoryDto } from '../../tasks/shell-commands/dto/shell-command.dto.js';
import type { Page } from '../paging.js';
import { Since } from '../../../platform/http/since.js';

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

/** One page of deploys. */
@ApiSchema({ name: 'PaginatedResponseOfDeployHistoryDto' })
export class DeployHistoryPageDto implements Page<DeployHistory> {
  /** Number of entries in all. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  dataCount: number;
  /** Number of pages in all. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  pageCount: number;
  /** Number of this page, from 1. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  page: number;
  /** The deploys of this page. */
  objects: DeployHistoryDto[];
}

/** One change of a request. */
export class RequestHistoryDto implements RequestChange {
  /** Time of the change, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  createdAt: number;
  /** User who made it. */
  user?: string;
  /** Kind of change. */
  @ApiProperty({ enum: requestEventTypes, enumName: 'RequestEventType' })
  eventType: RequestEventType;
  /** The request as it was after the change; absent only when an older installation left a record that cannot be read. */
  request?: RequestDto;
  /** Text that was given with it. */
  message?: string;
}

/** One page of changes of a request. */
@ApiSchema({ name: 'PaginatedResponseOfRequestHistoryDto' })
export class RequestHistoryPageDto implements Page<RequestChange> {
  /** Number of entries in all. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  dataCount: number;
  /** Number of pages in all. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  pageCount: number;
  /** Number of this page, from 1. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  page: number;
  /** The changes of this page. */
  objects: RequestHistoryDto[];
}

/** One health check of a task. */
@OlderNames({ duration: { of: 'durationMillis', type: 'integer', format: 'int64' } })
export class TaskHealthcheckResultDto implements TaskHealthcheckResult {
  /** Status of the answer, if there was one. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  statusCode?: number;
  /** Time of the check, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  timestamp: number;
  /** Beginning of the body it answered. */
  responseBody?: string;
  /** Reason why there was no answer. */
  errorMessage?: string;
  /** The task that was checked. */
  taskId: TaskIdDto;
  /** The task was still starting up: a failure did not count. */
  startup: boolean;
  /** Time until the answer, in milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  durationMillis?: number;
}

/** Everything known of one task. */
export class TaskHistoryDto implements TaskHistory {
  /** Its statuses, oldest first. */
  taskUpdates: TaskHistoryUpdateDto[];
  /** Its directory on the machine; absent until the machine reported it. */
  directory?: string;
  /** Its container, when it runs in one. */
  containerId?: string;
  /** Its health checks, oldest first. */
  healthcheckResults: TaskHealthcheckResultDto[];
  /** The task as it was launched. */
  task: TaskDto;
  /** Its changes at the load balancer. */
  loadBalancerUpdates: LoadBalancerUpdateDto[];
  /** Shell commands that ran in it. */
  shellCommandHistory: TaskShellCommandHistoryDto[];
  /** Notes that were attached to it. */
  taskMetadata: TaskMetadataDto[];
  /** Programs around its main one that have begun, in their order; absent: none has. */
  @Since('muster')
  programs?: TaskProgramDto[];
}

/** One page of tasks. */
@ApiSchema({ name: 'PaginatedResponseOfTaskIdHistoryDto' })
export class TaskIdHistoryPageDto implements Page<TaskIdHistory> {
  /** Number of entries that match in all. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  dataCount: number;
  /** Number of pages in all. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  pageCount: number;
  /** Number of this page, from 1. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  page: number;
  /** The tasks of this page. */
  objects: TaskIdHistoryDto[];
}
