import { Module } from '@nestjs/common';
import { CheckedTasks } from '../tasks/health/checked-tasks.service.js';
import { TaskStoreModule } from '../tasks/task-store.module.js';
import { BalancedTasks } from './balanced-tasks.service.js';
import { DeletionPass, LoadBalancerCleanupPoller } from './load-balancer-cleanup.poller.js';
import { EntryPass, LoadBalancerEntryPoller, OutsideTasks } from './load-balancer-entry.poller.js';
import { LoadBalancerClientModule } from '../../platform/load-balancer/load-balancer-client.module.js';
import { LoadBalancerQueuesController } from './load-balancer-queues.controller.js';
import { RemovalPass } from './removal-pass.service.js';
import { UpstreamCheckPoller } from './upstream-check.poller.js';

/** Load balancer: tasks enter when they are healthy, and leave before or after their end. */
@Module({
  imports: [LoadBalancerClientModule, TaskStoreModule],
  controllers: [LoadBalancerQueuesController],
  providers: [
    CheckedTasks,
    OutsideTasks,
    BalancedTasks,
    EntryPass,
    RemovalPass,
    DeletionPass,
    LoadBalancerEntryPoller,
    LoadBalancerCleanupPoller,
    UpstreamCheckPoller,
  ],
})
export class LoadBalancerModule {}
