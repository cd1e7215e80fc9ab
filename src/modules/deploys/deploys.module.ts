import { Module } from '@nestjs/common';
import { LoadBalancerClientModule } from '../../platform/load-balancer/load-balancer-client.module.js';
import { RequestsModule } from '../requests/requests.module.js';
import { TaskStoreModule } from '../tasks/task-store.module.js';
import { Applies } from './apply/applies.service.js';
import { ApplyController } from './apply/apply.controller.js';
import { AcceptanceChecks, DeployAcceptance } from './deploy-acceptance.service.js';
import { BalancerChanges, DeployBalancing } from './deploy-balancing.service.js';
import { DeployChecks } from './deploy-checks.service.js';
import { DeployFinisher } from './deploy-finisher.service.js';
import { DeploySteps } from './deploy-steps.service.js';
import { DeployViews } from './deploy-view.service.js';
import { DeploysController, RollbackController } from './deploys.controller.js';
import { DeploysPoller } from './deploys.poller.js';
import { DeploysService } from './deploys.service.js';
import { GateAnswers } from './gates/gate-answers.service.js';
import { GatesController } from './gates/gates.controller.js';
import { GatesPoller } from './gates/gates.poller.js';
import { Rollbacks } from './rollbacks.service.js';

/** Deploys: starts them, and moves each forward until it succeeds, fails or is cancelled. */
@Module({
  imports: [RequestsModule, LoadBalancerClientModule, TaskStoreModule],
  controllers: [DeploysController, RollbackController, GatesController, ApplyController],
  providers: [
    DeploysService,
    DeployChecks,
    DeploysPoller,
    DeploySteps,
    DeployViews,
    DeployFinisher,
    Rollbacks,
    Applies,
    DeployBalancing,
    BalancerChanges,
    DeployAcceptance,
    AcceptanceChecks,
    GateAnswers,
    GatesPoller,
  ],
  exports: [DeploysService, DeployChecks, AcceptanceChecks],
})
export class DeploysModule {}
