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

/** Names one task, and never another one: id is made of the other fields. */
@OlderNames({ nextRunAt: { of: 'startedAt', type: 'integer', format: 'int64' } })
export class TaskIdDto implements TaskId {
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
export class PendingTaskIdDto implements PendingTaskId {
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
export class TaskIdsByStatusDto implements TaskIdsByStatus {
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

/** How many tasks a request has. */
export class TaskCountsDto implements TaskCounts {
  /** The request. */
  requestId: string;
  /** Launched and not ended, those that have to go included. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  active: number;
  /** Waiting for their time or for a machine. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  pending: number;
  /** Have to go. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  cleaning: number;
}

/** One state that a task came to. */
export class TaskHistoryUpdateDto implements TaskHistoryUpdate {
  /** The task. */
  taskId: TaskIdDto;
  /** When, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  timestamp: number;
  /** The state it came to. */
  @ApiProperty({ enum: taskStates, enumName: 'TaskState' })
  taskState: TaskState;
  /** What was said about it, for people. That of TASK_CLEANING begins with the cleanup type. */
  statusMessage?: string;
  /** The cluster's reason, in one word. */
  statusReason?: string;
  /** Earlier updates of the same state that this one replaced. */
  @ApiProperty({ type: () => [TaskHistoryUpdateDto] })
  previous: TaskHistoryUpdateDto[];
}

/** A task in a list: its id and its newest state. */
@OlderNames({ lastStatus: { of: 'lastTaskState', enum: taskStates, enumName: 'TaskState' } })
export class TaskIdHistoryDto implements TaskIdHistory {
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

/** How far a task or a run has come. */
@ApiSchema({ name: 'TaskStateDto' })
export class TaskTrackingDto implements TaskTracking {
  /** The task; absent until it was launched. */
  taskId?: TaskIdDto;
  /** What it was, or is, while it waited; absent until the scheduler looked at it. */
  pendingTaskId?: PendingTaskIdDto;
  /** Id of the run, when it was started by one. */
  runId?: string;
  /** State of its newest update; absent until it was launched. */
  @ApiProperty({ enum: taskStates, enumName: 'TaskState' })
  currentState?: TaskState;
  /** What it went through, oldest first. */
  taskHistory: TaskHistoryUpdateDto[];
  /** It waits for its time or for a machine. */
  pending: boolean;
}
