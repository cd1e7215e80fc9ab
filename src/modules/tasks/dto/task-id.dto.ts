import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { type PendingType, pendingTypes, type TaskState, taskStates } from '../../../core/model/enums.js';
import { OlderNames } from '../../../platform/http/fields.js';
import type {
  TaskId,
  PendingTaskId,
  TaskHistoryUpdate,
  TaskIdHistory,
  TaskTracking,
} from '../../../core/model/task.js';
import type { TaskCounts, TaskIdsByStatus } from '../../../core/model/request.js';
import { RunCauseDto } from './run-origin.dto.js';

/** Names one task, and never another one: id is made of the other fields. */
@OlderNames({ nextRunAt: { of: 'startedAt', type: 'integer', format: 'int64' } })
export class TaskIdDto implements TaskId {
  /** Request that the task belongs to. */
  requestId: string;
  /** Deploy that the task runs. */
  deployId: string;
  /** Time at which the launch was decided, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  startedAt: number;
  /** Number of the task among the request's instances, from 1. */
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1 })
  instanceNo: number;
  /** Host part of the id: the host name with '_' for '-'. */
  host: string;
  /** Equal to host. */
  sanitizedHost: string;
  /** Rack part of the id: the rack with '_' for '-'. */
  sanitizedRackId: string;
  /** Equal to sanitizedRackId. */
  rackId: string;
  /** requestId-deployId-startedAt-instanceNo-host-rackId. */
  id: string;
}

/** Names a task that waits for its time or for a machine. */
export class PendingTaskIdDto implements PendingTaskId {
  /** Request that the task will belong to. */
  requestId: string;
  /** Deploy that the task will run. */
  deployId: string;
  /** Time at which it is due, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  nextRunAt: number;
  /** Number of the task among the request's instances, from 1. */
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1 })
  instanceNo: number;
  /** Reason for which it is to run. */
  @ApiProperty({ enum: pendingTypes, enumName: 'PendingType' })
  pendingType: PendingType;
  /** Time at which that became known, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  createdAt: number;
  /** requestId-deployId-nextRunAt-instanceNo-pendingType-createdAt. */
  id: string;
}

/** The tasks of one request, by what can be expected of them. */
export class TaskIdsByStatusDto implements TaskIdsByStatus {
  /** Running, and their health checks (if any) pass. */
  healthy: TaskIdDto[];
  /** Launched, but not known to be healthy yet. */
  notYetHealthy: TaskIdDto[];
  /** Waiting for their time or for a machine. */
  pending: PendingTaskIdDto[];
  /** Tasks that have to go; a kill has not been sent yet. */
  cleaning: TaskIdDto[];
  /** Known to the load balancer. */
  loadBalanced: TaskIdDto[];
  /** A kill was sent; their end has not been reported yet. */
  killed: TaskIdDto[];
}

/** Numbers of tasks of a request. */
export class TaskCountsDto implements TaskCounts {
  /** The request. */
  requestId: string;
  /** Launched and not ended, those that have to go included. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  active: number;
  /** Waiting for their time or for a machine. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  pending: number;
  /** Number of tasks that have to go. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  cleaning: number;
}

/** One state that a task came to. */
export class TaskHistoryUpdateDto implements TaskHistoryUpdate {
  /** The task. */
  taskId: TaskIdDto;
  /** Time of the status, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  timestamp: number;
  /** The state it came to. */
  @ApiProperty({ enum: taskStates, enumName: 'TaskState' })
  taskState: TaskState;
  /** Text about it, for people. That of TASK_CLEANING begins with the cleanup type. */
  statusMessage?: string;
  /** The cluster's reason, in one word. */
  statusReason?: string;
  /** Earlier updates of the same state that this one replaced. */
  @ApiProperty({ type: () => [TaskHistoryUpdateDto] })
  previous: TaskHistoryUpdateDto[];
}

/** A task in a list: its id and its newest state; the cause of its run in lists of active tasks and pages with metadata. */
@OlderNames({ lastStatus: { of: 'lastTaskState', enum: taskStates, enumName: 'TaskState' } })
export class TaskIdHistoryDto extends RunCauseDto implements TaskIdHistory {
  /** The task. */
  taskId: TaskIdDto;
  /** Time of the newest update, or of the start when there is none; epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  updatedAt: number;
  /** The run that the task carries out, when it was started by a run. */
  runId?: string;
  /** State of the newest update. */
  @ApiProperty({ enum: taskStates, enumName: 'TaskState' })
  lastTaskState?: TaskState;
}

/** Progress of a task or a run. */
@ApiSchema({ name: 'TaskStateDto' })
export class TaskTrackingDto implements TaskTracking {
  /** The task; absent until it was launched. */
  taskId?: TaskIdDto;
  /** Id that it has, or had, while it waited; absent until the scheduler looked at it. */
  pendingTaskId?: PendingTaskIdDto;
  /** Id of the run, when it was started by one. */
  runId?: string;
  /** State of its newest update; absent until it was launched. */
  @ApiProperty({ enum: taskStates, enumName: 'TaskState' })
  currentState?: TaskState;
  /** Its statuses, oldest first. */
  taskHistory: TaskHistoryUpdateDto[];
  /** It waits for its time or for a machine. */
  pending: boolean;
}
