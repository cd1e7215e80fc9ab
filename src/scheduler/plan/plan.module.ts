import { Module } from '@nestjs/common';
import { DeploysModule } from '../../modules/deploys/deploys.module.js';
import { RequestsModule } from '../../modules/requests/requests.module.js';
import { SlavesModule } from '../../modules/slaves/slaves.module.js';
import { TaskStoreModule } from '../../modules/tasks/task-store.module.js';
import { SchedulerModule } from '../scheduler.module.js';
import { DecommissionPlans } from './decommission-plans.service.js';
import { DeployPlans } from './deploy-plans.service.js';
import { PlanFactsLoader } from './plan-facts.service.js';
import { PlanRoom } from './plan-room.service.js';
import {
  DeployPlanController,
  RackPlanController,
  ScalePlanController,
  SlavePlanController,
} from './plan.controller.js';
import { ScalePlans } from './scale-plans.service.js';

/** Plans of deploys, scales and decommissions, before they are done. */
@Module({
  imports: [RequestsModule, DeploysModule, TaskStoreModule, SlavesModule, SchedulerModule],
  controllers: [DeployPlanController, ScalePlanController, SlavePlanController, RackPlanController],
  providers: [DeployPlans, ScalePlans, DecommissionPlans, PlanFactsLoader, PlanRoom],
})
export class PlanModule {}
