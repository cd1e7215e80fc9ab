import { type INestApplicationContext, Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { SimulatedCluster, type SimulatedClusterOptions } from './simulated-cluster/simulated-cluster.js';
import type { SimulatedDriver } from './simulated-cluster/simulated-driver.js';
import type { Deploy } from '../../src/core/model/deploy.js';
import type { Request } from '../../src/core/model/request.js';
import type { PendingRequest } from '../../src/core/model/task.js';
import { entities } from '../../src/entities.js';
import { TaskRepository, type LiveTask } from '../../src/modules/tasks/task.repository.js';
import { PendingRequestRepository } from '../../src/modules/tasks/pending-request.repository.js';
import { Clock } from '../../src/platform/clock.js';
import { Database } from '../../src/platform/database/database.js';
import { rows } from '../../src/platform/database/sql.js';
import { PlatformModule } from '../../src/platform/platform.module.js';
import { RepositoriesModule } from '../../src/repositories.module.js';
import { type Poller, type PollerOptions } from '../../src/platform/poller/poller.js';
import { Pollers } from '../../src/platform/poller/pollers.js';
import type { Settings } from '../../src/platform/settings/settings.js';
import { KillDispatcher } from '../../src/scheduler/dispatch/kill-dispatcher.service.js';
import { LaunchDispatcher } from '../../src/scheduler/dispatch/launch-dispatcher.service.js';
import { FlowOutputs } from '../../src/scheduler/flows/flow-outputs.poller.js';
import { Reconciliation } from '../../src/scheduler/reconciliation/reconciliation.service.js';
import { SchedulerModule } from '../../src/scheduler/scheduler.module.js';
import { SchedulerTerm } from '../../src/scheduler/scheduler-term.service.js';
import { Dispatch, Scheduler } from '../../src/scheduler/scheduler.service.js';
import { FixedLeadership } from './fixed-leadership.js';
import { testSettings } from './test-settings.js';

/** Never ready, so that no timer runs a pass: the test does, with the virtual time. */
class ManualLeadership extends FixedLeadership {
  override ready(): boolean {
    return false;
  }
}

/** A scheduler that was overtaken and does not know it. */
export interface FormerLeader {
  scheduler: Scheduler;
  dispatch: Dispatch;
  leadership: FixedLeadership;
  driver: SimulatedDriver;
  /** Resolves when no call to a machine is under way any more. */
  settled(): Promise<unknown>;
  close(): Promise<void>;
}

export interface WorldOptions extends SimulatedClusterOptions {
  settings?: Partial<Settings>;
  /** Migrated and empty. Default: one of its own. */
  database?: { url: string; remove(): Promise<void> };
  /** Further rooms; their pollers run when the test says so. */
  modules?: Type[];
  /** Called with every new process, before it begins to lead. */
  onProcess?: (world: SchedulerWorld) => void;
}

/** The scheduler on a real database and a simulated cluster, driven by hand on a virtual clock. */
export class SchedulerWorld {
  readonly cluster: SimulatedCluster;
  private epoch = 0;
  private readonly overtaken = new Set<INestApplicationContext>();
  private context!: INestApplicationContext;
  private leadership!: ManualLeadership;
  driver!: SimulatedDriver;
  /** Pollers of the leader: none of them runs by itself. */
  pollers: PollerOptions[] = [];

  private constructor(
    private readonly settings: Partial<Settings>,
    private readonly database: { url: string; remove(): Promise<void> },
    private readonly modules: Type[],
    private readonly onProcess: (world: SchedulerWorld) => void,
    options: SimulatedClusterOptions,
  ) {
    this.cluster = new SimulatedCluster(options);
  }

  static async start({
    settings = {},
    modules = [],
    database,
    onProcess = () => undefined,
    ...cluster
  }: WorldOptions = {}): Promise<SchedulerWorld> {
    const world = new SchedulerWorld(settings, database ?? (await ownDatabase()), modules, onProcess, cluster);
    await world.takeOver();
    return world;
  }

  get<T>(type: abstract new (...args: never[]) => T): T {
    return this.context.get<T>(type as never);
  }
  get db(): Database {
    return this.get(Database);
  }
  get scheduler(): Scheduler {
    return this.get(Scheduler);
  }
  get dispatch(): Dispatch {
    return this.get(Dispatch);
  }
  get now(): number {
    return this.cluster.now();
  }

  /** A new scheduler process becomes the leader in the next epoch. */
  async takeOver(): Promise<void> {
    this.epoch += 1;
    this.leadership = new ManualLeadership(this.epoch);
    this.driver = this.cluster.driver();
    const clock = new Clock();
    clock.now = this.cluster.now;
    clock.monotonic = this.cluster.now;
    const platform = PlatformModule.forRoot({
      settings: { ...testSettings(this.settings), databaseUrl: this.database.url },
      driver: this.driver,
      entities,
      leadership: this.leadership,
      clock,
    });
    @Module({ imports: [platform, RepositoriesModule, SchedulerModule, ...this.modules] })
    class World {}
    const logger = process.env['TEST_LOG'] ? undefined : false;
    this.pollers = await registeredIn(async () => {
      this.context = await NestFactory.createApplicationContext(World, { logger, abortOnError: false });
    });
    await this.get(Pollers).stop();
    await this.db.pool.query('UPDATE leader_epoch SET epoch = $1', [this.epoch]);
    this.onProcess(this);
    await this.get(SchedulerTerm).gained(this.epoch);
  }

  /** The leader dies at once: from now on it writes and sends nothing, and another one takes over. */
  async crash(): Promise<void> {
    this.leadership.stepDown();
    await this.get(SchedulerTerm).lost();
    await this.context.close();
    await this.takeOver();
  }

  /** Another leader takes over while this one, frozen perhaps, still believes to lead. Answers the former one. */
  async overtake(): Promise<FormerLeader> {
    const { context, leadership, driver } = this;
    const former = {
      scheduler: this.scheduler,
      dispatch: this.dispatch,
      leadership,
      driver,
      settled: () => settledIn(context),
      close: async () => {
        this.overtaken.delete(context);
        await driver.stop();
        await context.close();
      },
    };
    this.overtaken.add(context);
    await this.takeOver();
    return former;
  }

  async close(): Promise<void> {
    for (const context of [...this.overtaken, this.context]) await context.close();
    await this.database.remove();
  }

  /** Everything the pollers do, once, at the present time; answers of machines included. */
  async pass(): Promise<void> {
    await this.get(FlowOutputs).runOnce(this.now);
    await this.scheduler.runOnce(this.now);
    await this.dispatch.runOnce(this.now);
    await this.settled();
    await this.get(Reconciliation).runWhenDue(this.now);
    await this.settled();
  }

  settled(): Promise<unknown> {
    return settledIn(this.context);
  }

  /** Passes once a virtual second, for as long as asked. */
  async run(seconds = 1): Promise<void> {
    for (let second = 0; second < seconds; second++) {
      await this.pass();
      await this.cluster.advance(1_000);
    }
  }

  /** A request with an active deploy and one entry in the queue. */
  async deployed(request: Request, deploy: Partial<Deploy> = {}, entry: Partial<PendingRequest> = {}): Promise<void> {
    const { id: requestId } = request;
    const full: Deploy = { requestId, id: 'd1', command: 'run', resources: { cpus: 1, memoryMb: 64 }, ...deploy };
    await this.db.transaction(async (tx) => {
      await tx.query(
        `INSERT INTO request (id, request_type, state, changed_at, active_deploy_id, document) VALUES ($1, $2, 'ACTIVE', $3, $4, $5)`,
        [requestId, request.requestType, new Date(this.now), full.id, JSON.stringify(request)],
      );
      await tx.query(`INSERT INTO deploy_history (request_id, deploy_id, created_at, data) VALUES ($1, $2, $3, $4)`, [
        requestId,
        full.id,
        new Date(this.now),
        JSON.stringify({ deploy: full }),
      ]);
    });
    await this.enqueue({ requestId, ...entry });
  }

  /** `pendingType` STARTUP unless another is given. */
  async enqueue(entry: Partial<PendingRequest> & { requestId: string }): Promise<void> {
    const full: PendingRequest = { deployId: 'd1', timestamp: this.now, pendingType: 'STARTUP', ...entry };
    await this.db.transaction((tx) => this.get(PendingRequestRepository).enqueue(tx, full));
  }

  async changeRequest(id: string, change: Partial<Request>, state?: string): Promise<void> {
    await this.db.transaction((tx) =>
      tx.query(
        `UPDATE request SET document = document || $2, state = coalesce($3, state), version = version + 1 WHERE id = $1`,
        [id, JSON.stringify(change), state ?? null],
      ),
    );
  }

  /** Orders the end of a task, as the cleanup poller does. */
  async kill(taskId: string, graceMillis?: number): Promise<void> {
    await this.db.leaderTransaction((tx) =>
      tx.query(
        `INSERT INTO killed_task (task_id, request_id, killed_at, first_killed_at, grace_millis)
         SELECT task_id, request_id, $2, $2, $3 FROM task WHERE task_id = $1 AND ended_at IS NULL ON CONFLICT DO NOTHING`,
        [taskId, new Date(this.now), graceMillis ?? null],
      ),
    );
  }

  /** Kills tasks that have a cleanup at once: what the cleanup poller does where nothing holds them back. */
  async killCleaned(): Promise<void> {
    for (const task of await this.active()) if (task.cleaning !== undefined) await this.kill(task.taskId.id, 0);
  }

  active(requestId?: string): Promise<LiveTask[]> {
    const filter = requestId === undefined ? {} : { requestIds: [requestId] };
    return this.get(TaskRepository).find(this.db.pool, filter);
  }

  query<T = Record<string, unknown>>(sql: string, parameters: unknown[] = []): Promise<T[]> {
    return rows<T>(this.db.pool, sql, parameters);
  }

  /** Final states in the order of the tasks' ends, live rows that have ended included. */
  async ends(requestId: string): Promise<string[]> {
    const found = await this.query<{ state: string }>(
      `SELECT last_task_status AS state, updated_at AS at FROM task_history WHERE request_id = $1
       UNION ALL SELECT state, ended_at FROM task WHERE request_id = $1 AND ended_at IS NOT NULL ORDER BY at`,
      [requestId],
    );
    return found.map((row) => row.state);
  }
}

/** Only in a run of tests is there a server to make it on. */
async function ownDatabase(): Promise<{ url: string; remove(): Promise<void> }> {
  const { createDatabase } = await import('./test-database.js');
  return createDatabase();
}

/** Pollers that `create` registers. None of them gets a timer: the test runs them. */
async function registeredIn(create: () => Promise<void>): Promise<PollerOptions[]> {
  const registered: PollerOptions[] = [];
  const { register } = Pollers.prototype;
  Pollers.prototype.register = (options) => {
    registered.push(options);
    return { wake: () => undefined, stop: () => Promise.resolve() } as Poller;
  };
  try {
    await create();
  } finally {
    Pollers.prototype.register = register;
  }
  return registered;
}

const settledIn = (context: INestApplicationContext): Promise<unknown> =>
  Promise.all([context.get(LaunchDispatcher).settled(), context.get(KillDispatcher).settled()]);
