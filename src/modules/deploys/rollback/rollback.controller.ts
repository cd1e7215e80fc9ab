import { Body, Controller, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { NeedsAction } from '../../../platform/actions/needs-action.js';
import { CallerUser, type Caller } from '../../../platform/http/caller.js';
import { StartDeployQuery } from '../dto/deploy-request.dto.js';
import { RollbackDto, RollbackRequestDto } from './rollback.dto.js';
import { Rollbacks, type RolledBack } from './rollbacks.service.js';

@ApiTags('Deploys')
@Controller('api/deploys/request/:requestId/rollback')
export class RollbackController {
  constructor(private readonly rollbacks: Rollbacks) {}

  /** Deploy an earlier version again, as a new deploy that serves when it is healthy. */
  @Post()
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
