import { Module } from '@nestjs/common';
import { DeployStoreModule } from '../deploys/deploy-store.module.js';
import { RequestStoreModule } from '../requests/request-store.module.js';
import { CheckedTasks } from '../tasks/health/checked-tasks.service.js';
import { TaskStoreModule } from '../tasks/task-store.module.js';
import { BalancedTasks } from './balanced-tasks.service.js';
import { DeletionPass } from './deletion-pass.service.js';
import { EntryPass } from './entry-pass.service.js';
import { LoadBalancerCleanupPoller } from './load-balancer-cleanup.poller.js';
import { LoadBalancerClientModule } from './load-balancer-client.module.js';
import { LoadBalancerEntryPoller } from './load-balancer-entry.poller.js';
import { LoadBalancerQueuesController } from './load-balancer-queues.controller.js';
import { LoadBalancerQueues } from './load-balancer-queues.service.js';
import { LoadBalancerStoreModule } from './load-balancer-store.module.js';
import { OutsideTasks } from './outside-tasks.service.js';
import { RemovalPass } from './removal-pass.service.js';
import { UpstreamCheckPoller } from './upstream-check.poller.js';

/** Load balancer: tasks enter when they are healthy, and leave before or after their end. */
@Module({
  imports: [LoadBalancerClientModule, LoadBalancerStoreModule, RequestStoreModule, DeployStoreModule, TaskStoreModule],
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
    LoadBalancerQueues,
  ],
})
export class LoadBalancerModule {}
