import { Module } from '@nestjs/common';
import { DeployStoreModule } from '../../deploys/deploy-store.module.js';
import { LoadBalancerClientModule } from '../../load-balancer/load-balancer-client.module.js';
import { LoadBalancerStoreModule } from '../../load-balancer/load-balancer-store.module.js';
import { RequestStoreModule } from '../../requests/request-store.module.js';
import { TaskStoreModule } from '../task-store.module.js';
import { Bounces } from './bounces.service.js';
import { CleanupPoller } from './cleanup.poller.js';
import { Kills } from './kills.service.js';
import { RequestCleaner } from './request-cleaner.service.js';
import { RequestRemoval } from './request-removal.service.js';

/** Cleanup: carries out pauses, deletions and bounces, and decides when tasks that have to go are killed. */
@Module({
  imports: [RequestStoreModule, DeployStoreModule, TaskStoreModule, LoadBalancerClientModule, LoadBalancerStoreModule],
  providers: [CleanupPoller, RequestCleaner, RequestRemoval, Bounces, Kills],
})
export class CleanupModule {}
