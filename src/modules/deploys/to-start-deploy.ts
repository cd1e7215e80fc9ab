import { RequestDto } from '../requests/dto/request.dto.js';
import { DeployDto } from './dto/deploy.dto.js';
import type { DeployRequestDto, StartDeployQuery } from './dto/deploy-request.dto.js';
import type { StartDeploy } from './deploys.service.js';

/** What a caller wants, as the service takes it. */
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
