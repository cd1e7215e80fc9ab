import { ApiProperty } from '@nestjs/swagger';
import { IsBoolean, IsOptional } from 'class-validator';
import {
  requestCleanupTypes,
  taskCleanupTypes,
  type RequestCleanupType,
  type TaskCleanupType,
} from '../../../core/model/enums.js';
import { ErrorDto } from '../../../platform/http/error.dto.js';
import { Nested, Text } from '../../../platform/http/fields.js';
import { ShellCommandDto } from '../../requests/dto/actions.dto.js';
import { TaskIdDto } from './task-id.dto.js';
import type {
  TaskShellCommandRequestId,
  TaskCleanup,
  KilledTaskIdRecord,
  KillTaskRequest,
} from '../../../core/model/task.js';

/** Names a shell command that was queued for a task. */
export class TaskShellCommandRequestIdDto implements TaskShellCommandRequestId {
  /** The task. */
  taskId: TaskIdDto;
  /** Name of the command. */
  name: string;
  /** Time at which it was queued, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  timestamp: number;
}

/** A task has to go, and why. */
export class TaskCleanupDto implements TaskCleanup {
  /** User who asked for it. */
  user?: string;
  /** Reason for which it has to go; decides whether a replacement is awaited first. */
  @ApiProperty({ enum: taskCleanupTypes, enumName: 'TaskCleanupType' })
  cleanupType: TaskCleanupType;
  /** Time of the order, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  timestamp: number;
  /** The task. */
  taskId: TaskIdDto;
  /** Text that the user gave with it. */
  message?: string;
  /** Id of the action that ordered it. */
  actionId?: string;
  /** Shell command that runs before the kill. */
  runBeforeKillId?: TaskShellCommandRequestIdDto;
  /** True if the task is taken off the load balancer first. */
  removeFromLoadBalancer?: boolean;
}

/** Refusal to kill a task. */
export class KillConflictDto extends ErrorDto {
  /** The cleanup that stands in the way; absent when the action is disabled. */
  cleanup?: TaskCleanupDto;
}

/** A kill that was sent, and whose effect has not been reported yet. */
export class KilledTaskIdRecordDto implements KilledTaskIdRecord {
  /** The task. */
  taskId: TaskIdDto;
  /** Time at which the kill was sent last, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  timestamp: number;
  /** Time at which it was sent first, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  originalTimestamp: number;
  /** Cleanup of the request that caused it. */
  @ApiProperty({ enum: requestCleanupTypes, enumName: 'RequestCleanupType' })
  requestCleanupType?: RequestCleanupType;
  /** Cleanup of the task that caused it. */
  @ApiProperty({ enum: taskCleanupTypes, enumName: 'TaskCleanupType' })
  taskCleanupType?: TaskCleanupType;
  /** Number of times it was sent again. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  retries: number;
}

/** Options of a kill. */
export class KillTaskRequestDto implements KillTaskRequest {
  /** Kill at once, whatever else was ordered for the task before. */
  @IsOptional()
  @IsBoolean()
  override?: boolean;
  /** Reason for the kill; kept with the cleanup and in the task's history. */
  @IsOptional()
  @Text('message')
  message?: string;
  /** An id of your own for this action. */
  @IsOptional()
  @Text('name')
  actionId?: string;
  /** Start a replacement first, and kill when it is healthy. */
  @IsOptional()
  @IsBoolean()
  waitForReplacementTask?: boolean;
  /** Command to run in the task before it is killed; one that is not configured is refused. */
  @IsOptional()
  @Nested(() => ShellCommandDto)
  runShellCommandBeforeKill?: ShellCommandDto;
}
