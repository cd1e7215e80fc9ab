import { Module } from '@nestjs/common';
import { LoadBalancerClientModule } from '../load-balancer/load-balancer-client.module.js';
import { LoadBalancerStoreModule } from '../load-balancer/load-balancer-store.module.js';
import { PriorityStoreModule } from '../priority/priority-store.module.js';
import { RequestStoreModule } from '../requests/request-store.module.js';
import { RequestsModule } from '../requests/requests.module.js';
import { TaskStoreModule } from '../tasks/task-store.module.js';
import { WebhookOutboxModule } from '../webhooks/webhook-outbox.module.js';
import { AcceptanceChecks } from './acceptance/acceptance-checks.service.js';
import { BalancerChanges } from './balancer-changes.service.js';
import { DeployAcceptance } from './deploy-acceptance.service.js';
import { DeployBalancing } from './deploy-balancing.service.js';
import { DeployChecks } from './deploy-checks.service.js';
import { DeployFinisher } from './deploy-finisher.service.js';
import { DeployStoreModule } from './deploy-store.module.js';
import { DeploySteps } from './deploy-steps.service.js';
import { DeployViews } from './deploy-view.service.js';
import { DeploysController } from './deploys.controller.js';
import { DeploysPoller } from './deploys.poller.js';
import { DeploysService } from './deploys.service.js';
import { EarlierDeploys } from './rollback/earlier-deploys.service.js';
import { RollbackController } from './rollback/rollback.controller.js';
import { Rollbacks } from './rollback/rollbacks.service.js';
import { WaitingRuns } from './waiting-runs.service.js';

/** Deploys: starts them, and moves each forward until it succeeds, fails or is cancelled. */
@Module({
  imports: [
    RequestStoreModule,
    RequestsModule,
    DeployStoreModule,
    LoadBalancerClientModule,
    LoadBalancerStoreModule,
    PriorityStoreModule,
    TaskStoreModule,
    WebhookOutboxModule,
  ],
  controllers: [DeploysController, RollbackController],
  providers: [
    DeploysService,
    DeployChecks,
    WaitingRuns,
    DeploysPoller,
    DeploySteps,
    DeployViews,
    DeployFinisher,
    EarlierDeploys,
    Rollbacks,
    DeployBalancing,
    BalancerChanges,
    DeployAcceptance,
    AcceptanceChecks,
  ],
  exports: [DeploysService, AcceptanceChecks],
})
export class DeploysModule {}
