import { ApiProperty } from '@nestjs/swagger';
import { taskStates, type TaskState } from '../../../core/model/enums.js';
import { OlderNames } from '../../../platform/http/older-names.js';
import { TaskIdDto } from './task-id.dto.js';

/** One state that a task came to. */
export class TaskHistoryUpdateDto {
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
export class TaskIdHistoryDto {
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
