import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { taskStates, type TaskState } from '../../../core/model/enums.js';
import { PendingTaskIdDto, TaskIdDto } from '../../tasks/dto/task-id.dto.js';
import { TaskHistoryUpdateDto } from '../../tasks/dto/task-update.dto.js';

/** How far a task or a run has come. */
@ApiSchema({ name: 'TaskStateDto' })
export class TaskTrackingDto {
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
