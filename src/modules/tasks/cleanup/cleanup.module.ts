import { Module } from '@nestjs/common';
import { LoadBalancerClientModule } from '../../../platform/load-balancer/load-balancer-client.module.js';
import { TaskStoreModule } from '../task-store.module.js';
import { CleanupPoller } from './cleanup.poller.js';
import { RequestCleaner } from './request-cleaner.service.js';
import { RequestRemoval } from './request-removal.service.js';

/** Cleanup: carries out pauses, deletions and bounces, and decides when tasks that have to go are killed. */
@Module({
  imports: [TaskStoreModule, LoadBalancerClientModule],
  providers: [CleanupPoller, RequestCleaner, RequestRemoval],
})
export class CleanupModule {}
