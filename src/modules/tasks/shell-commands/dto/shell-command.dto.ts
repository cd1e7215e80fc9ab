import { ApiProperty } from '@nestjs/swagger';
import { shellCommandUpdateTypes, type ShellCommandUpdateType } from '../../../../core/model/enums.js';
import { ShellCommandDto } from '../../../requests/dto/actions.dto.js';
import { TaskShellCommandRequestIdDto } from '../../dto/task-cleanup.dto.js';
import { TaskIdDto } from '../../dto/task-id.dto.js';
import type {
  TaskShellCommandRequest,
  TaskShellCommandUpdate,
  TaskShellCommandHistory,
} from '../../../../core/model/task.js';

/** A command that a user wants to be run in a task. */
export class TaskShellCommandRequestDto implements TaskShellCommandRequest {
  /** The task. */
  taskId: TaskIdDto;
  /** User who asked for it. */
  user?: string;
  /** Time at which it was queued, in epoch milliseconds; with task and name the id of the command. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  timestamp: number;
  /** The command itself. */
  shellCommand: ShellCommandDto;
}

/** Progress of a command. */
export class TaskShellCommandUpdateDto implements TaskShellCommandUpdate {
  /** The command. */
  shellRequestId: TaskShellCommandRequestIdDto;
  /** Time of the update, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  timestamp: number;
  /** The command line, the process, the exit code, or why it could not run. */
  message?: string;
  /** File of its output, relative to the sandbox of the task. */
  outputFilename?: string;
  /** Stage of the command; INVALID, FINISHED and FAILED end it. */
  @ApiProperty({ enum: shellCommandUpdateTypes, enumName: 'ShellCommandUpdateType' })
  updateType: ShellCommandUpdateType;
}

/** A command with everything that became of it. */
export class TaskShellCommandHistoryDto implements TaskShellCommandHistory {
  /** The command. */
  shellRequest: TaskShellCommandRequestDto;
  /** Its updates, oldest first. */
  shellUpdates: TaskShellCommandUpdateDto[];
}
