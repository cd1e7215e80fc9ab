import { ApiProperty } from '@nestjs/swagger';
import { requestStates, type RequestState } from '../../../core/model/enums.js';
import { DeployDto } from '../../deploys/dto/deploy.dto.js';
import { TaskIdsByStatusDto } from '../../tasks/dto/task-id.dto.js';
import { DeployMarkerDto, PendingDeployDto } from '../../deploys/dto/pending-deploy.dto.js';
import {
  ExpiringBounceDto,
  ExpiringPauseDto,
  ExpiringPriorityDto,
  ExpiringScaleDto,
  ExpiringSkipHealthchecksDto,
} from './expiring.dto.js';
import { PendingRequestDto } from './pending-request.dto.js';
import { RequestDto } from './request.dto.js';

/** Which deploys of a request count. Absent while none does. */
export class RequestDeployStateDto {
  /** Id of the request. */
  requestId: string;
  /** The deploy that runs. */
  activeDeploy?: DeployMarkerDto;
  /** The deploy in progress. */
  pendingDeploy?: DeployMarkerDto;
}

/** A request and what goes on around it. Lists leave out deploys, and tasks too unless they are asked for. */
export class RequestParentDto {
  /** The request itself. */
  request: RequestDto;
  /** What may happen to it now: ACTIVE requests get tasks, PAUSED ones do not. */
  @ApiProperty({ enum: requestStates, enumName: 'RequestState' })
  state: RequestState;
  /** Which of its deploys count. Absent while none does. */
  requestDeployState?: RequestDeployStateDto;
  /** The deploy that runs. */
  activeDeploy?: DeployDto;
  /** The deploy in progress. */
  pendingDeploy?: DeployDto;
  /** How far the deploy in progress has come. */
  pendingDeployState?: PendingDeployDto;
  /** The bounce under way and its time limit. */
  expiringBounce?: ExpiringBounceDto;
  /** The pause that ends by itself. */
  expiringPause?: ExpiringPauseDto;
  /** The number of instances that holds for a while. */
  expiringScale?: ExpiringScaleDto;
  /** The priority that holds for a while. */
  expiringPriority?: ExpiringPriorityDto;
  /** The skip of health checks that holds for a while. */
  expiringSkipHealthchecks?: ExpiringSkipHealthchecksDto;
  /** Its tasks, by what can be expected of them. */
  taskIds?: TaskIdsByStatusDto;
}

/** The same with the run that was queued. */
export class PendingRequestParentDto extends RequestParentDto {
  /** The run that was queued. */
  pendingRequest: PendingRequestDto;
}

/** A request without what goes on around it. */
export class RequestWithStateDto {
  /** The request itself. */
  request: RequestDto;
  /** What may happen to it now. */
  @ApiProperty({ enum: requestStates, enumName: 'RequestState' })
  state: RequestState;
  /** When it was changed last, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  timestamp: number;
}

/** Requests that were asked for together. */
export class RequestBatchDto {
  /** Those there are, in the order of ids. */
  requests: RequestParentDto[];
  /** Ids of those there are not. */
  notFound: string[];
}
