import { Module, type DynamicModule } from '@nestjs/common';
import { entities } from './entities.js';
import { AuthModule } from './modules/auth/auth.module.js';
import { ConfigurationModule } from './modules/configuration/configuration.module.js';
import { DeploysModule } from './modules/deploys/deploys.module.js';
import { DiscoveryModule } from './modules/discovery/discovery.module.js';
import { DisastersModule } from './modules/disasters/disasters.module.js';
import { EventsModule } from './modules/events/events.module.js';
import { FlowsModule } from './modules/flows/flows.module.js';
import { HistoryModule } from './modules/history/history.module.js';
import { LoadBalancerModule } from './modules/load-balancer/load-balancer.module.js';
import { IndexPageModule } from './modules/index-page/index-page.module.js';
import { MailModule } from './modules/mail/mail.module.js';
import { MetricsModule } from './modules/metrics/metrics.module.js';
import { NotificationsModule } from './modules/users/notifications.module.js';
import { PriorityModule } from './modules/priority/priority.module.js';
import { LeadershipModule } from './modules/leadership/leadership.module.js';
import { LogsModule } from './modules/logs/logs.module.js';
import { RequestsModule } from './modules/requests/requests.module.js';
import { SandboxModule } from './modules/sandbox/sandbox.module.js';
import { SlavesModule } from './modules/slaves/slaves.module.js';
import { StateModule } from './modules/state/state.module.js';
import { CleanupModule } from './modules/tasks/cleanup/cleanup.module.js';
import { TaskHealthModule } from './modules/tasks/health/task-health.module.js';
import { ShellCommandsModule } from './modules/tasks/shell-commands/shell-commands.module.js';
import { TasksModule } from './modules/tasks/tasks.module.js';
import { TestOperationsModule } from './modules/test-operations/test-operations.module.js';
import { TrackModule } from './modules/history/track/track.module.js';
import { UsageModule } from './modules/usage/usage.module.js';
import { UsersModule } from './modules/users/users.module.js';
import { WebhooksModule } from './modules/webhooks/webhooks.module.js';
import { PlatformModule, type PlatformOptions } from './platform/platform.module.js';
import { RepositoriesModule } from './repositories.module.js';
import { PlanModule } from './scheduler/plan/plan.module.js';
import { SchedulerModule } from './scheduler/scheduler.module.js';

/** Express compares a path with the routes in this order: rooms that are read most come first. */
const rooms = [
  RequestsModule,
  TasksModule,
  StateModule,
  AuthModule,
  ConfigurationModule,
  DeploysModule,
  DisastersModule,
  DiscoveryModule,
  EventsModule,
  FlowsModule,
  MetricsModule,
  NotificationsModule,
  PriorityModule,
  CleanupModule,
  LoadBalancerModule,
  ShellCommandsModule,
  TaskHealthModule,
  SlavesModule,
  HistoryModule,
  WebhooksModule,
  SandboxModule,
  LeadershipModule,
  LogsModule,
  MailModule,
  TrackModule,
  UsageModule,
  UsersModule,
  SchedulerModule,
  PlanModule,
  TestOperationsModule.on(SchedulerModule),
];

/** All rooms of the house, on one platform. */
@Module({})
export class AppModule {
  static forRoot(options: Omit<PlatformOptions, 'entities'>): DynamicModule {
    return {
      module: AppModule,
      imports: [
        PlatformModule.forRoot({ ...options, entities }),
        RepositoriesModule,
        IndexPageModule.at(options.settings.ui.path),
        ...rooms,
      ],
    };
  }
}
