import { Body, Controller, Delete, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { PendingDeploy } from '../../core/model/deploy.js';
import type { RequestParent } from '../../core/model/request.js';
import { NeedsAction } from '../../platform/actions/needs-action.js';
import { CallerUser, type Caller } from '../../platform/http/caller.js';
import { RequestParentDto } from '../requests/dto/request-parent.dto.js';
import { SaveRequestDto } from '../requests/dto/save-request.dto.js';
import { DeployDto } from './dto/deploy.dto.js';
import { DeployRequestDto, StartDeployQuery, UpdatePendingDeployRequestDto } from './dto/deploy-request.dto.js';
import { PendingDeployDto } from './dto/pending-deploy.dto.js';
import { DeploysService } from './deploys.service.js';

@ApiTags('Deploys')
@Controller('api/deploys')
export class DeploysController {
  constructor(private readonly deploys: DeploysService) {}

  /** Start a deploy. The old one serves until the new one is healthy. */
  @Post()
  @NeedsAction('DEPLOY')
  @HttpCode(200)
  @ApiOkResponse({ type: RequestParentDto })
  start(
    @Body() body: DeployRequestDto,
    @Query() query: StartDeployQuery,
    @CallerUser() caller: Caller,
  ): Promise<RequestParent> {
    return this.deploys.start(
      {
        deploy: DeployDto.toDeploy(body.deploy),
        message: body.message,
        unpauseOnSuccessfulDeploy: body.unpauseOnSuccessfulDeploy ?? false,
        updatedRequest: body.updatedRequest && SaveRequestDto.toRequest(body.updatedRequest),
        largeScaleDownAcknowledged: query.largeScaleDownAcknowledged ?? false,
      },
      caller,
    );
  }

  /** Cancel the deploy in progress. Best effort: it may still succeed or fail by itself. */
  @Delete('deploy/:deployId/request/:requestId')
  @NeedsAction('CANCEL_DEPLOY')
  @ApiOkResponse({ type: RequestParentDto })
  cancel(
    @Param('deployId') deployId: string,
    @Param('requestId') requestId: string,
    @CallerUser() caller: Caller,
  ): Promise<RequestParent> {
    return this.deploys.cancel({ requestId, deployId }, caller);
  }

  /** Change how many tasks of the deploy in progress should run now. */
  @Post('update')
  @HttpCode(200)
  @ApiOkResponse({ type: RequestParentDto })
  update(@Body() { targetActiveInstances, ...key }: UpdatePendingDeployRequestDto): Promise<RequestParent> {
    return this.deploys.update(key, targetActiveInstances);
  }

  /** All deploys in progress. */
  @Get('pending')
  @ApiOkResponse({ type: [PendingDeployDto] })
  pending(): Promise<PendingDeploy[]> {
    return this.deploys.pending();
  }
}
