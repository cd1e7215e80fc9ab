import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { OlderNames } from '../../../platform/http/older-names.js';
import { LoadBalancerUpdateDto } from '../../load-balancer/dto/load-balancer-update.dto.js';
import { TaskIdDto } from '../../tasks/dto/task-id.dto.js';
import { TaskHistoryUpdateDto, TaskIdHistoryDto } from '../../tasks/dto/task-update.dto.js';
import { TaskDto } from '../../tasks/dto/task.dto.js';
import { TaskMetadataDto } from '../../tasks/metadata/task-metadata.dto.js';
import { TaskShellCommandHistoryDto } from '../../tasks/shell-commands/dto/shell-command.dto.js';

/** One health check of a task. */
@OlderNames({ duration: { of: 'durationMillis', type: 'integer', format: 'int64' } })
export class TaskHealthcheckResultDto {
  /** What it answered, when it answered. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  statusCode?: number;
  /** When it was checked, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  timestamp: number;
  /** Beginning of the body it answered. */
  responseBody?: string;
  /** Why it did not answer. */
  errorMessage?: string;
  /** The task that was checked. */
  taskId: TaskIdDto;
  /** The task was still starting up: a failure did not count. */
  startup: boolean;
  /** How long the answer took, in milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  durationMillis?: number;
}

/** Everything known of one task. */
export class TaskHistoryDto {
  /** What it went through, oldest first. */
  taskUpdates: TaskHistoryUpdateDto[];
  /** Its directory on the machine; absent until the machine reported it. */
  directory?: string;
  /** Its container, when it runs in one. */
  containerId?: string;
  /** Its health checks, oldest first. */
  healthcheckResults: TaskHealthcheckResultDto[];
  /** What was launched. */
  task: TaskDto;
  /** What was told to the load balancer. */
  loadBalancerUpdates: LoadBalancerUpdateDto[];
  /** Shell commands that ran in it. */
  shellCommandHistory: TaskShellCommandHistoryDto[];
  /** Notes that were attached to it. */
  taskMetadata: TaskMetadataDto[];
}

/** One page of tasks. */
@ApiSchema({ name: 'PaginatedResponseOfTaskIdHistoryDto' })
export class TaskIdHistoryPageDto {
  /** How many match in all. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  dataCount: number;
  /** How many pages that makes. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  pageCount: number;
  /** Which page this is, from 1. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  page: number;
  /** The tasks of this page. */
  objects: TaskIdHistoryDto[];
}
