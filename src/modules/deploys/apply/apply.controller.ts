import { Controller, HttpCode, Post, Res } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { User } from '../../../core/authorization/index.js';
import type { Response } from 'express';
import { Clock } from '../../../platform/clock.js';
import { NeedsBody } from '../../../platform/http/bodies.js';
import { CallerUser } from '../../../platform/http/caller.js';
import { Body, Query } from '../../../platform/http/inputs.js';
import { Since } from '../../../platform/http/since.js';
import { RequestDto } from '../../requests/dto/request.dto.js';
import { warnOfTimes } from '../../requests/timing-warning.js';
import { AcceptanceChecks } from '../deploy-acceptance.service.js';
import { DeployDto } from '../dto/deploy.dto.js';
import { warnOfNoChecks } from '../no-checks.js';
import { Applies } from './applies.service.js';
import { AppliedDto, ApplyDto, ApplyQuery } from './apply.dto.js';

@ApiTags('Requests')
@Controller('api/requests/apply')
export class ApplyController {
  constructor(
    private readonly applies: Applies,
    private readonly acceptance: AcceptanceChecks,
    private readonly clock: Clock,
  ) {}

  /**
   * Makes a request and a deploy of it be as they are sent, together or not at all: what is so already is left alone, so that the same
   * call again changes nothing.
   */
  @Post()
  @Since('muster')
  @NeedsBody()
  @ApiOkResponse({ type: AppliedDto })
  @HttpCode(200)
  async apply(
    @Body() body: ApplyDto,
    @Query() query: ApplyQuery,
    @CallerUser() caller: User,
    @Res({ passthrough: true }) response: Response,
  ): Promise<AppliedDto> {
    const deploy = body.deploy && DeployDto.toDeploy(body.deploy);
    if (deploy) warnOfNoChecks(response, deploy, this.acceptance);
    const wish = {
      request: body.request && RequestDto.toRequest(body.request),
      deploy,
      message: body.message,
      unpauseOnSuccessfulDeploy: body.unpauseOnSuccessfulDeploy ?? false,
      largeScaleDownAcknowledged: query.largeScaleDownAcknowledged ?? false,
    };
    const { applied, saved } = await this.applies.apply(wish, query.dryRun ?? false, caller);
    if (saved) warnOfTimes(response, saved.stored.request, this.clock.now());
    return applied;
  }
}
