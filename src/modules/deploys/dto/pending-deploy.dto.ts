import { ApiProperty } from '@nestjs/swagger';
import { deployStates, type DeployState } from '../../../core/model/enums.js';
import { RequestDto } from '../../requests/dto/request.dto.js';
import { TaskIdDto } from '../../tasks/dto/task-id.dto.js';

/** Which deploy of which request, and who started it. */
export class DeployMarkerDto {
  /** Request that is deployed. */
  requestId: string;
  /** The deploy. */
  deployId: string;
  /** When it was started, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  timestamp: number;
  /** Who started it. */
  user?: string;
  /** What was said about it. */
  message?: string;
}

/** How far a deploy has come. Only of SERVICE and WORKER requests. */
export class DeployProgressDto {
  /** New tasks that should run at the end of the current step. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  targetActiveInstances: number;
  /** New tasks that were healthy at the end of the last step. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  currentActiveInstances: number;
  /** Tasks replaced per step. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  deployInstanceCountPerStep: number;
  /** Milliseconds between a finished step and the next one. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  deployStepWaitTimeMs: number;
  /** The current step is done. */
  stepComplete: boolean;
  /** The next step begins by itself. */
  autoAdvanceDeploySteps: boolean;
  /** Tasks that failed and were replaced. */
  failedDeployTasks: TaskIdDto[];
  /** When the current step began, in epoch milliseconds; its time limit counts from here. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  timestamp: number;
}

/** A deploy in progress. */
export class PendingDeployDto {
  /** Which deploy it is. */
  deployMarker: DeployMarkerDto;
  /** WAITING while it goes on. */
  @ApiProperty({ enum: deployStates, enumName: 'DeployState' })
  currentDeployState: DeployState;
  /** How far it has come. */
  deployProgress?: DeployProgressDto;
  /** Takes the place of the request when the deploy succeeds. */
  updatedRequest?: RequestDto;
}
