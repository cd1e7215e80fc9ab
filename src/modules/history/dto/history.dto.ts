import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import type { DeployHistory } from '../../../core/model/deploy.js';
import { requestEventTypes, type RequestEventType } from '../../../core/model/enums.js';
import type { TaskHealthcheckResult, TaskHistory, TaskIdHistory } from '../../../core/model/task.js';
import { OlderNames } from '../../../platform/http/fields.js';
import { DeployHistoryDto } from '../../deploys/dto/deploy-history.dto.js';
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
