import { Controller, HttpCode, Param, Post } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { DeployRequestDto, PlanDeployQuery, toStartDeploy } from '../../modules/deploys/dto/deploy-request.dto.js';
import { ScaleRequestDto } from '../../modules/requests/dto/actions.dto.js';
import { PlanScaleQuery } from '../../modules/requests/dto/queries.dto.js';
import { MachineChangeRequestDto } from '../../modules/slaves/dto/machine.dto.js';
import { NeedsAction } from '../../platform/actions/needs-action.js';
import { NeedsBody, NeedsMember } from '../../platform/http/bodies.js';
import { Body, Query } from '../../platform/http/inputs.js';
import { DecommissionPlans } from './decommission-plans.service.js';
import { DeployPlans } from './deploy-plans.service.js';
import { DecommissionPlanDto } from './dto/decommission-plan.dto.js';
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

@ApiTags('Slaves')
@Controller('api/slaves/slave/:slaveId/decommission/plan')
export class SlavePlanController {
  constructor(private readonly plans: DecommissionPlans) {}

  /** Says where the tasks of a slave would go, were it decommissioned, and which have to wait for room. Changes nothing. */
  @Post()
  @Since('muster')
  @NeedsAction('DECOMMISSION_SLAVE')
  @HttpCode(200)
  @ApiOkResponse({ type: DecommissionPlanDto })
  plan(@Param('slaveId') slaveId: string, @Body() change: MachineChangeRequestDto): Promise<DecommissionPlanDto> {
    return this.plans.plan('SLAVE', slaveId, change);
  }
}

@ApiTags('Racks')
@Controller('api/racks/rack/:rackId/decommission/plan')
export class RackPlanController {
  constructor(private readonly plans: DecommissionPlans) {}

  /** Says where the tasks of a rack would go, were it decommissioned, and which have to wait for room. Changes nothing. */
  @Post()
  @Since('muster')
  @NeedsAction('DECOMMISSION_RACK')
  @HttpCode(200)
  @ApiOkResponse({ type: DecommissionPlanDto })
  plan(@Param('rackId') rackId: string, @Body() change: MachineChangeRequestDto): Promise<DecommissionPlanDto> {
    return this.plans.plan('RACK', rackId, change);
  }
}
