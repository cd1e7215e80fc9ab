import { Controller, Delete, Get, HttpCode, Param, Post, Res } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import type { DeployHistory, PendingDeploy } from '../../core/model/deploy.js';
import type { RequestParent } from '../../core/model/request.js';
import { Clock } from '../../platform/clock.js';
import { NeedsAction } from '../../platform/actions/needs-action.js';
import { type Caller, CallerUser } from '../../platform/http/caller.js';
import { Body, Query } from '../../platform/http/inputs.js';
import { RequestParentDto } from '../requests/dto/request-parent.dto.js';
import { warnOfTimes } from '../requests/timing-warning.js';
import { DeployHistoryDto } from './dto/deploy-history.dto.js';
import { AcceptanceChecks } from './deploy-acceptance.service.js';
import { DeploysService } from './deploys.service.js';
import {
  DeployRequestDto,
  RollbackDto,
  RollbackRequestDto,
  StartDeployQuery,
  toStartDeploy,
  UpdatePendingDeployRequestDto,
} from './dto/deploy-request.dto.js';
import { PendingDeployDto } from './dto/pending-deploy.dto.js';
import { warnOfNoChecks } from './no-checks.js';
import { Rollbacks, type RolledBack } from './rollbacks.service.js';
import { Since } from '../../platform/http/since.js';

@ApiTags('Deploys')
@Controller('api/deploys')
export class DeploysController {
  constructor(
    private readonly deploys: DeploysService,
    private readonly acceptance: AcceptanceChecks,
    private readonly clock: Clock,
  ) {}

  /** Start a deploy. The old one serves until the new one is healthy. */
  @Post()
  @NeedsAction('DEPLOY')
  @HttpCode(200)
  @ApiOkResponse({ type: RequestParentDto })
  async start(
    @Body() body: DeployRequestDto,
    @Query() query: StartDeployQuery,
    @CallerUser() caller: Caller,
    @Res({ passthrough: true }) response: Response,
  ): Promise<RequestParent> {
    const start = toStartDeploy(body, query);
    warnOfNoChecks(response, start.deploy, this.acceptance);
    const parent = await this.deploys.start(start, caller);
    if (start.updatedRequest) warnOfTimes(response, parent.request, this.clock.now());
    return parent;
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

  /** Lists the last deploy of each request if it has failed, without the deploy's own record. */
  @Get('failed')
  @Since('muster')
  @ApiOkResponse({ type: [DeployHistoryDto] })
  failed(): Promise<DeployHistory[]> {
    return this.deploys.failed();
  }
}

@ApiTags('Deploys')
@Controller('api/deploys/request/:requestId/rollback')
export class RollbackController {
  constructor(private readonly rollbacks: Rollbacks) {}

  /** Deploy an earlier version again, as a new deploy that serves when it is healthy. */
  @Post()
  @Since('muster')
  @NeedsAction('DEPLOY')
  @HttpCode(200)
  @ApiOkResponse({ type: RollbackDto })
  rollBack(
    @Param('requestId') requestId: string,
    @Body() body: RollbackRequestDto,
    @Query() query: StartDeployQuery,
    @CallerUser() caller: Caller,
  ): Promise<RolledBack> {
    const { unpauseOnSuccessfulDeploy = false, ...wish } = body;
    const { largeScaleDownAcknowledged = false, checkIndex = body.checkIndex } = query;
    const rollback = { ...wish, unpauseOnSuccessfulDeploy, largeScaleDownAcknowledged, checkIndex };
    return this.rollbacks.rollBack(requestId, rollback, caller);
  }
}
