import type { SimulatedCluster } from '../support/simulated-cluster/simulated-cluster.js';
import type { LaunchScript } from '../support/simulated-cluster/script.js';
import type { Deploy } from '../../src/core/model/deploy.js';
import type { Request } from '../../src/core/model/request.js';
import { DeploysModule } from '../../src/modules/deploys/deploys.module.js';
import { DeploysService, type StartDeploy } from '../../src/modules/deploys/deploys.service.js';
import { FlowsModule } from '../../src/modules/flows/flows.module.js';
import { HistoryModule } from '../../src/modules/history/history.module.js';
import { RequestsModule } from '../../src/modules/requests/requests.module.js';
import { RequestsService } from '../../src/modules/requests/requests.service.js';
import { CleanupModule } from '../../src/modules/tasks/cleanup/cleanup.module.js';
import { TaskHealthModule } from '../../src/modules/tasks/health/task-health.module.js';
import { TasksModule } from '../../src/modules/tasks/tasks.module.js';
import { builtInCaller as caller } from '../../src/platform/http/caller.js';
import type { Settings } from '../../src/platform/settings/settings.js';
import { Wake } from '../../src/platform/wake/wake.js';
import { Eyes } from '../laws/real/eyes.js';
import { Lawbook } from '../laws/rules/lawbook.js';
import type { Sight } from '../laws/world/world.js';
import type { LentDatabase } from '../support/lent-database.js';
import { SchedulerWorld } from '../support/scheduler-world.js';
import { VirtualPollers } from '../support/virtual-pollers.js';
import type { CrashPoints } from './crash-points.js';

const modules = [
  RequestsModule,
  DeploysModule,
  TasksModule,
  TaskHealthModule,
  CleanupModule,
  HistoryModule,
  FlowsModule,
];
/** Timers only make up for lost signals. */
const shortestTimerMillis = 30_000;
/** Until another scheduler leads. */
const takeOverMillis = 3_000;
const longestWaitSeconds = 600;

export interface StageOptions {
  machines?: number;
  /** See SimulatedClusterOptions. */
  tellsSilence?: boolean;
  settings?: Partial<Settings>;
  tasks?: LaunchScript;
}

/** A scheduler on a virtual clock that may be killed at any moment: the next one goes on where its rows say it stood. */
export class Stage {
  private world!: SchedulerWorld;
  private pollers!: VirtualPollers;
  private eyes!: Eyes;
  private laws!: Lawbook;
  private sight!: Sight;
  private seen = '';

  private constructor(private readonly points: CrashPoints) {}

  /** `database`: emptied before. */
  static async open(options: StageOptions, database: LentDatabase, points: CrashPoints): Promise<Stage> {
    await database.empty();
    const stage = new Stage(points);
    const { machines = 3, tellsSilence, settings = {}, tasks } = options;
    stage.world = await SchedulerWorld.start({
      machines,
      tellsSilence,
      startAt: Date.UTC(2026, 0, 5, 12),
      database,
      modules,
      settings: { considerTaskHealthyAfterRunningForSeconds: 2, hardKillAfterMillis: 5_000, ...settings },
      onProcess: (world) => points.watch(world),
    });
    stage.cluster.onLaunch(tasks ?? (() => ({})));
    stage.eyes = new Eyes(stage.world);
    stage.laws = new Lawbook(stage.cluster);
    stage.lead();
    for (const type of ['REQUEST', 'DEPLOY', 'TASK']) {
      await stage.world.query(
        `INSERT INTO webhook (id, uri, webhook_type, created_at) VALUES ($1, 'http://nowhere', $1, now())`,
        [type],
      );
    }
    return stage;
  }

  get cluster(): SimulatedCluster {
    return this.world.cluster;
  }

  /** As of the last look. */
  get now(): Sight {
    return this.sight;
  }

  /**
   * A caller asks for something. When the scheduler dies before it has committed, the caller asks the next one; when it dies
   * after that, they find it done.
   */
  async order<T>(ask: (world: SchedulerWorld) => Promise<T>): Promise<void> {
    const committed = this.points.ordersCommitted;
    while (this.points.ordersCommitted === committed) await this.survive(() => ask(this.world));
  }

  deploy(deploy: Deploy, start: Partial<StartDeploy> = {}): Promise<void> {
    const full = { deploy, unpauseOnSuccessfulDeploy: false, largeScaleDownAcknowledged: true, ...start };
    return this.order((world) => world.get(DeploysService).start(full, caller));
  }

  /** A request with a deploy that has succeeded. */
  async deployed(request: Request, deploy: Deploy): Promise<void> {
    await this.order((world) => world.get(RequestsService).saveRequest(request, caller));
    await this.deploy(deploy);
    await this.until('the first deploy is over', ({ requests }) => !requests.get(request.id)?.pendingDeployId);
    await this.rest();
  }

  async until(what: string, isSo: (sight: Sight) => boolean): Promise<void> {
    const end = this.cluster.now() + longestWaitSeconds * 1_000;
    for (await this.look(); !isSo(this.sight); await this.look()) {
      if (this.cluster.now() >= end) throw new Error(`In ${longestWaitSeconds} s it never came that ${what}`);
      await this.step(end);
    }
  }

  async live(seconds: number): Promise<void> {
    const end = this.cluster.now() + seconds * 1_000;
    while (this.cluster.now() < end) await this.step(end);
  }

  /** Until everything that was ordered is done, and everything that has ended is in the history. */
  rest(): Promise<void> {
    return this.until('nothing is left to do', (sight) => unfinished(sight).length === 0).catch((cause: unknown) => {
      throw new Error(`${String(cause)}: ${unfinished(this.sight).join('; ')}`, { cause });
    });
  }

  query: SchedulerWorld['query'] = (...parameters) => this.world.query(...parameters);

  result<T>(read: (world: SchedulerWorld) => Promise<T>): Promise<T> {
    return read(this.world);
  }

  close(): Promise<void> {
    return this.world.close();
  }

  /** From this moment to the next one at which something happens. */
  private async step(end: number): Promise<void> {
    const { cluster } = this;
    await this.survive(() => this.pollers.runDue(cluster.now(), () => this.world.settled()));
    const next = Math.min(this.pollers.nextAt, cluster.events.nextAt, end);
    await this.survive(() => cluster.advance(Math.max(next - cluster.now(), 1)));
    await this.lookWhenChanged();
  }

  /** If the scheduler dies meanwhile, another one leads when this resolves. */
  private async survive(act: () => Promise<unknown>): Promise<void> {
    try {
      await act();
    } catch (cause) {
      if (!this.points.isDead) throw cause;
    }
    if (!this.points.isDead) return;
    while (this.points.isDead) {
      await this.cluster.advance(takeOverMillis);
      // The next one may be killed while it takes over.
      await this.world.crash().catch((cause: unknown) => {
        if (!this.points.isDead) throw cause;
      });
    }
    this.lead();
    await this.look();
  }

  private lead(): void {
    const { pollers, now } = this.world;
    this.pollers = new VirtualPollers(pollers, this.world.get(Wake), now, shortestTimerMillis);
  }

  /** The laws are looked at whenever something else runs than before. */
  private async lookWhenChanged(): Promise<void> {
    const running = this.cluster.runningTasks().map(({ taskId }) => taskId);
    const seen = running.join();
    if (seen !== this.seen) await this.look();
    this.seen = seen;
  }

  private async look(): Promise<void> {
    this.sight = await this.eyes.look();
    this.laws.check(this.sight, false);
  }
}

function unfinished({ requests, tasks, queue, orders }: Sight): string[] {
  const deploying = [...requests.values()].filter(({ pendingDeployId, bouncing }) => pendingDeployId ?? bouncing);
  const ended = [...tasks.values()].filter(({ endedAt }) => endedAt !== undefined);
  return [
    ...deploying.map(({ request }) => `${request.id} deploys or bounces`),
    ...ended.map(({ taskId }) => `${taskId.id} has ended and is not in the history`),
    ...queue.map(({ requestId, pendingType }) => `${pendingType} of ${requestId} waits in the queue`),
    ...orders,
  ];
}
