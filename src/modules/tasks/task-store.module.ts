import { Module } from '@nestjs/common';
import { DeployStoreModule } from '../deploys/deploy-store.module.js';
import { LoadBalancerStoreModule } from '../load-balancer/load-balancer-store.module.js';
import { RequestStoreModule } from '../requests/request-store.module.js';
import { WebhookOutboxModule } from '../webhooks/webhook-outbox.module.js';
import { HealthSwitch } from './health/health-switch.service.js';
import { HealthcheckResults } from './health/healthcheck-results.service.js';
import { ObservedTasks } from './health/observed-tasks.service.js';
import { LiveTasks } from './live-tasks.service.js';
import { PendingQueue } from './pending-queue.service.js';
import { BeforeKills } from './shell-commands/before-kills.service.js';
import { ShellCommandRules } from './shell-commands/shell-command-rules.service.js';
import { ShellCommandStore } from './shell-commands/shell-command-store.service.js';
import { TaskCleanups } from './task-cleanups.service.js';
import { TaskIdsByStatusService } from './task-ids-by-status.service.js';
import { WithdrawnCleanups } from './withdrawn-cleanups.service.js';

const stores = [
  LiveTasks,
  ObservedTasks,
  HealthSwitch,
  HealthcheckResults,
  PendingQueue,
  BeforeKills,
  ShellCommandRules,
  ShellCommandStore,
  TaskCleanups,
  TaskIdsByStatusService,
  WithdrawnCleanups,
];

/** The rows of tasks, of the pending queue and of cleanups, for every room that reads or orders something. */
@Module({
  imports: [WebhookOutboxModule, DeployStoreModule, RequestStoreModule, LoadBalancerStoreModule],
  providers: stores,
  exports: stores,
})
export class TaskStoreModule {}
