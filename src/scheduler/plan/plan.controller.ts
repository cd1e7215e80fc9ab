import { Controller, HttpCode, Param, Post } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { DeployRequestDto, PlanDeployQuery, toStartDeploy } from '../../modules/deploys/dto/deploy-request.dto.js';
import { ScaleRequestDto } from '../../modules/requests/dto/actions.dto.js';
import { PlanScaleQuery } from '../../modules/requests/dto/queries.dto.js';
import { NeedsAction } from '../../platform/actions/needs-action.js';
import { NeedsBody, NeedsMember } from '../../platform/http/bodies.js';
import { Body, Query } from '../../platform/http/inputs.js';
import { DeployPlans } from './deploy-plans.service.js';
import { DeployPlanDto, ScalePlanDto } from './dto/plan.dto.js';
import { ScalePlans } from './scale-plans.service.js';
import { Since } from '../../platform/http/since.js';

@ApiTags('Deploys')
@Controller('api/deploys/plan')
export class DeployPlanController {
  constructor(private readonly plans: DeployPlans) {}

  /** Says what a deploy would change, which tasks it would start and stop, and whether they fit. Changes nothing. */
  @Post()
  @Since('muster')
  @NeedsAction('DEPLOY')
  @HttpCode(200)
  @ApiOkResponse({ type: DeployPlanDto })
  plan(@Body() body: DeployRequestDto, @Query() query: PlanDeployQuery): Promise<DeployPlanDto> {
    return this.plans.plan(toStartDeploy(body, query));
  }
}

@ApiTags('Requests')
@Controller('api/requests/request/:requestId/scale/plan')
export class ScalePlanController {
  constructor(private readonly plans: ScalePlans) {}

  /** Says which tasks another number of instances would start and stop, and whether they fit. Changes nothing. */
  @Post()
  @Since('muster')
  @NeedsAction('SCALE_REQUEST')
  @NeedsMember(['instances'])
  @NeedsBody()
  @HttpCode(200)
  @ApiOkResponse({ type: ScalePlanDto })
  plan(
    @Param('requestId') id: string,
    @Body() scale: ScaleRequestDto,
    @Query() query: PlanScaleQuery,
  ): Promise<ScalePlanDto> {
    return this.plans.plan(id, scale, query.largeScaleDownAcknowledged ?? false);
  }
}
