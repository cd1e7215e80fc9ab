import { IsBoolean, IsOptional } from 'class-validator';
import { Int32, Nested, Text } from '../../../platform/http/fields.js';
import { QueryBoolean, QueryText } from '../../../platform/http/query.js';
import { RequestParentDto } from '../../requests/dto/request-parent.dto.js';
import { RequestDto } from '../../requests/dto/request.dto.js';
import type { StartDeploy } from '../deploys.service.js';
import { DeployDto } from './deploy.dto.js';
import { Since } from '../../../platform/http/since.js';

/** A deploy to start. */
export class DeployRequestDto {
  /** The deploy to start. */
  @Nested(() => DeployDto)
  deploy: DeployDto;
  /** Unpause a paused request when the deploy succeeds. */
  @IsOptional()
  @IsBoolean()
  unpauseOnSuccessfulDeploy?: boolean;
  /** Reason for the deploy. */
  @IsOptional()
  @Text('message')
  message?: string;
  /** Takes the place of the request when the deploy succeeds. */
  @IsOptional()
  @Nested(() => RequestDto)
  updatedRequest?: RequestDto;
}

/** Another number of new tasks for the deploy in progress. */
export class UpdatePendingDeployRequestDto {
  /** Request that is being deployed. */
  @Text('name')
  requestId: string;
  /** The deploy in progress. */
  @Text('name')
  deployId: string;
  /** Number of tasks of the new deploy that should run now: from 1 to the instances of the request. */
  @Int32({ min: 1 })
  targetActiveInstances: number;
}

/** Parameters of the plan of a deploy. */
export class PlanDeployQuery {
  /** The deploy may end more tasks at once than the service allows without being told so. */
  @Since('1.5')
  @QueryBoolean()
  largeScaleDownAcknowledged?: boolean;
}

/** Parameters of a deploy. */
export class StartDeployQuery extends PlanDeployQuery {
  /** Check index of the plan that this carries out: refused when the request or its deploys have changed since. */
  @Since('muster')
  @QueryText('name')
  checkIndex?: string;
}

/** Selects the earlier deploy of a request that is deployed again. */
export class RollbackRequestDto {
  /** The earlier deploy, whether it succeeded or not; unless given, the last successful one before the active deploy. */
  @IsOptional()
  @Text('name')
  deployId?: string;
  /** Reason for the rollback; unless given, it names the earlier deploy. */
  @IsOptional()
  @Text('message')
  message?: string;
  /** Unpause a paused request when the deploy succeeds. */
  @IsOptional()
  @IsBoolean()
  unpauseOnSuccessfulDeploy?: boolean;
  /** Alternative to the parameter of this name, which goes first. */
  @IsOptional()
  @Text('name')
  checkIndex?: string;
}

/** The request while an earlier deploy of it is deployed again, and under which id. */
export class RollbackDto extends RequestParentDto {
  /** The new deploy. */
  deployId: string;
  /** The earlier deploy that it repeats. */
  rolledBackTo: string;
}

/** Makes the service's input of a call. */
export function toStartDeploy(body: DeployRequestDto, query: StartDeployQuery): StartDeploy {
  return {
    deploy: DeployDto.toDeploy(body.deploy),
    message: body.message,
    unpauseOnSuccessfulDeploy: body.unpauseOnSuccessfulDeploy ?? false,
    updatedRequest: body.updatedRequest && RequestDto.toRequest(body.updatedRequest),
    largeScaleDownAcknowledged: query.largeScaleDownAcknowledged ?? false,
    checkIndex: query.checkIndex,
  };
}
