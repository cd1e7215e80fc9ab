import {
  Module,
  type BeforeApplicationShutdown,
  type DynamicModule,
  type NestModule,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { CLUSTER_DRIVER, type ClusterDriver } from '../cluster/cluster-driver.js';
import { DisabledActionRepository } from './actions/disabled-action.repository.js';
import { DisabledActions } from './actions/disabled-actions.js';
import { Clock } from './clock.js';
import { DatabaseClock } from './database/database-clock.js';
import { DatabasePool, type EntityClasses } from './database/pool.js';
import { Database } from './database/database.js';
import { Degradations } from './health/degradations.js';
import { Readiness } from './health/readiness.js';
import { HealthController } from './health/health.controller.js';
import { CallsInFlight } from './http/calls-in-flight.js';
import { inOrder, refuseNewerSchema } from './http/middleware.js';
import { IdempotentCallRepository } from './idempotency/idempotent-call.repository.js';
import { IdempotentCalls } from './idempotency/idempotent-calls.interceptor.js';
import { Leadership } from './leadership/leadership.js';
import { leaderAddress } from './leadership/lease.js';
import { PgLeadership } from './leadership/pg-leadership.js';
import { ThisInstance } from './leadership/this-instance.js';
import { Metrics } from './metrics/metrics.js';
import { PlacementFigures } from './metrics/placement-figures.js';
import { StatusDelays } from './metrics/status-delays.js';
import { noOtherProcess, ProcessMessages } from './process/process-messages.js';
import { PROCESS_ROLE, type ProcessRole, singleProcess } from './process/process-role.js';
import { Pollers } from './poller/pollers.js';
import { ServiceAsker } from './service-asker.js';
import { SETTINGS, type Settings } from './settings/settings.js';
import { Notifier } from './wake/notifier.js';
import { Wake } from './wake/wake.js';

const LEADER_POOL = Symbol('DatabasePool of the leader');

export interface PlatformOptions {
  /** With a databaseUrl: by now the embedded server runs, if there is one. */
  settings: Settings & { databaseUrl: string };
  driver: ClusterDriver;
  entities?: EntityClasses;
  /** Tests put their own in its place. */
  leadership?: Leadership;
  /** Default: this process is the whole instance. */
  role?: ProcessRole;
  /** Default: that of the database. */
  clock?: Clock;
}

/** The base of every room. Global: a room imports nothing to use it. */
@Module({})
export class PlatformModule implements NestModule, BeforeApplicationShutdown, OnApplicationShutdown {
  static forRoot({
    settings,
    driver,
    entities,
    leadership,
    role = singleProcess,
    clock = new DatabaseClock(),
  }: PlatformOptions): DynamicModule {
    const url = settings.databaseUrl;
    const pool = async (use: 'api' | 'leader', poolSize?: number) =>
      new DatabasePool({ url, use, entities, poolSize }).open();
    return {
      module: PlatformModule,
      global: true,
      imports: [ScheduleModule.forRoot()],
      controllers: [HealthController],
      providers: [
        { provide: SETTINGS, useValue: settings },
        { provide: PROCESS_ROLE, useValue: role },
        { provide: ProcessMessages, useValue: role.kind === 'single' ? noOtherProcess() : role.messages },
        { provide: CLUSTER_DRIVER, useValue: driver },
        {
          provide: DatabasePool,
          useFactory: () => pool('api', role.kind === 'worker' ? role.databaseConnections : undefined),
        },
        { provide: Clock, inject: [DatabasePool], useFactory: (api: DatabasePool) => begun(clock, api) },
        { provide: LEADER_POOL, useFactory: () => pool('leader') },
        ThisInstance,
        {
          provide: Wake,
          inject: [ProcessMessages],
          useFactory: (messages: ProcessMessages) => {
            const wake = new Wake();
            messages.relayInvalidations(wake);
            return wake;
          },
        },
        { provide: Notifier, inject: [Wake], useFactory: (wake: Wake) => new Notifier(url, wake) },
        {
          provide: Leadership,
          inject: [Wake, DatabasePool, ThisInstance, Clock],
          useFactory: (wake: Wake, api: DatabasePool, { id: holder }: ThisInstance, measured: Clock) =>
            leadership ??
            new PgLeadership(
              {
                url,
                holder,
                readAddress: () => leaderAddress(api),
                clock: measured instanceof DatabaseClock ? measured : undefined,
                competes: role.kind !== 'worker' && settings.leadership.competes,
              },
              wake,
            ),
        },
        {
          provide: Database,
          inject: [DatabasePool, LEADER_POOL, Leadership],
          useFactory: (api: DatabasePool, leader: DatabasePool, who: Leadership) => new Database(api, leader, who),
        },
        CallsInFlight,
        DisabledActionRepository,
        DisabledActions,
        Degradations,
        Readiness,
        IdempotentCallRepository,
        IdempotentCalls,
        Metrics,
        PlacementFigures,
        Pollers,
        ServiceAsker,
        StatusDelays,
      ],
      exports: [
        CallsInFlight,
        IdempotentCalls,
        SETTINGS,
        PROCESS_ROLE,
        ProcessMessages,
        CLUSTER_DRIVER,
        Clock,
        DatabasePool,
        ThisInstance,
        Wake,
        Notifier,
        Leadership,
        Database,
        DisabledActionRepository,
        DisabledActions,
        Degradations,
        Readiness,
        Metrics,
        PlacementFigures,
        Pollers,
        ServiceAsker,
        StatusDelays,
      ],
    };
  }

  constructor(
    private readonly pollers: Pollers,
    private readonly leadership: Leadership,
    private readonly notifier: Notifier,
    private readonly database: Database,
    private readonly calls: CallsInFlight,
    private readonly http: HttpAdapterHost,
    clock: Clock,
  ) {
    if (!(clock instanceof DatabaseClock)) return;
    const warn = () => Promise.resolve(clock.tellSkew());
    leadership.register({ name: 'clock', gained: warn, lost: () => Promise.resolve() });
    // What was planned by the time before is looked at anew at a takeover.
    clock.onJump(() => leadership.stepDown('the clock of the database was set'));
  }

  /** Before the caller is known: that is read from the database, too. The framework's own way to say it costs each call two promises. */
  configure(): void {
    this.http.httpAdapter.use('/api', inOrder(this.calls.refuseWhenStopping, refuseNewerSchema(this.leadership)));
  }

  /** While HTTP still answers: no new call, no new pass, the duties end, the lease goes back, the calls in flight end. */
  async beforeApplicationShutdown(): Promise<void> {
    const answered = this.calls.end();
    await this.pollers.stop();
    await this.leadership.stop();
    await answered;
  }

  async onApplicationShutdown(): Promise<void> {
    await this.notifier.stop();
    for (const pool of [this.database.leaderPool, this.database.pool]) await pool.close();
  }
}

/** Before anything is decided: all providers that need it wait for this one. */
async function begun(clock: Clock, api: DatabasePool): Promise<Clock> {
  if (!(clock instanceof DatabaseClock)) return clock;
  await clock.begin(api);
  clock.tellSkew();
  return clock;
}
