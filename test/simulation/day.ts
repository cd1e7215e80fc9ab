import { Random } from '../support/simulated-cluster/random.js';
import { Storm } from '../support/simulated-cluster/storm.js';
import { DeploysModule } from '../../src/modules/deploys/deploys.module.js';
import { HistoryModule } from '../../src/modules/history/history.module.js';
import { RequestsModule } from '../../src/modules/requests/requests.module.js';
import { CleanupModule } from '../../src/modules/tasks/cleanup/cleanup.module.js';
import { TasksModule } from '../../src/modules/tasks/tasks.module.js';
import { Wake } from '../../src/platform/wake/wake.js';
import { Eyes } from '../laws/real/eyes.js';
import { RealOperators } from '../laws/real/operators.js';
import { checkCapacity } from '../laws/rules/capacity.js';
import { checkHistory } from '../laws/rules/course.js';
import { unfulfilled } from '../laws/rules/wanted.js';
import { SchedulerWorld } from '../support/scheduler-world.js';
import { VirtualPollers } from '../support/virtual-pollers.js';
import {
  addMachines,
  deployOf,
  jobScript,
  ordersPerHour,
  requestOf,
  restartsPerHour,
  stormOf,
  type DayOptions,
  type Errand,
} from './day-plan.js';

const modules = [RequestsModule, DeploysModule, TasksModule, CleanupModule, HistoryModule];
const hour = 3_600_000;
const minute = 60_000;
/** Timers that only make up for lost signals are stretched to this; signals and planned moments are exact. */
const coarseMillis = 30_000;
/** The longest leap of the clock. */
const longestLeapMillis = 60_000;
/** Within which all is as it should be once nothing goes wrong any more. */
const calmMillis = 2 * hour;

export interface DayFigures {
  hours: number;
  requests: number;
  machines: number;
  tasksRun: number;
  runsEnded: number;
  orders: number;
  faults: number;
  restarts: number;
  passes: number;
  violations: string[];
  /** Virtual minutes from the end of the faults until live tasks were the wanted ones. */
  calmAfterMinutes: number;
  liveAtEnd: number;
  wallSeconds: number;
}

/** A day in the life of the whole scheduler, on a real database and simulated machines; quicker than the sun. */
export class SimulatedDay {
  private readonly random: Random;
  private readonly storm: Storm;
  private readonly operators: RealOperators;
  private readonly eyes: Eyes;
  private readonly planned: { at: number; act: () => Promise<unknown> }[] = [];
  private readonly violations: string[] = [];
  private pollers!: VirtualPollers;
  private deploys = 0;
  private orders = 0;
  private restarts = 0;
  private passes = 0;
  private runsEnded = 0;

  private constructor(
    private readonly world: SchedulerWorld,
    private readonly options: DayOptions,
    private readonly tell: (line: string) => void,
  ) {
    this.random = new Random(options.seed);
    this.storm = new Storm(world.cluster, stormOf(options), 20 * minute);
    this.operators = new RealOperators(world);
    this.eyes = new Eyes(world);
    this.lead();
  }

  static async run(
    options: DayOptions,
    database: { url: string; remove(): Promise<void> },
    tell: (line: string) => void = () => undefined,
  ): Promise<DayFigures> {
    const startAt = Date.UTC(2026, 0, 5);
    const cluster = { seed: options.seed, startAt, machines: 0, deliverEveryMillis: 1_000 };
    const world = await SchedulerWorld.start({ ...cluster, database, modules });
    try {
      return await new SimulatedDay(world, options, tell).live();
    } finally {
      await world.close();
    }
  }

  private async live(): Promise<DayFigures> {
    const begunAt = performance.now();
    const { world, options } = this;
    await this.settle();
    const startAt = world.now;
    this.storm.begin();
    for (const [errand, rate] of Object.entries(ordersPerHour(options)) as [Errand, number][]) {
      this.planNext(rate, () => this.order(errand));
    }
    this.planNext(restartsPerHour, () => this.restart());
    for (let passed = 1; passed <= options.hours; passed++) {
      await this.liveUntil(startAt + passed * hour);
      await this.check();
      const seconds = Math.round((performance.now() - begunAt) / 1000);
      this.tell(`${String(passed).padStart(3)} h  ${world.cluster.starts.size} tasks started  ${seconds} s`);
    }
    this.planned.length = 0;
    this.storm.end();
    const calmAfterMinutes = await this.calm();
    const sight = await this.eyes.look();
    const faults = [...world.cluster.incidents].filter(([kind]) => kind !== 'refusedOrder');
    return {
      ...options,
      tasksRun: world.cluster.starts.size,
      runsEnded: this.runsEnded,
      orders: this.orders,
      faults: faults.reduce((sum, [, count]) => sum + count, 0),
      restarts: this.restarts,
      passes: this.passes,
      violations: this.violations,
      calmAfterMinutes,
      liveAtEnd: [...sight.tasks.values()].filter(({ endedAt }) => endedAt === undefined).length,
      wallSeconds: Math.round((performance.now() - begunAt) / 1000),
    };
  }

  /** Machines, requests and their first deploys, before anything goes wrong. */
  private async settle(): Promise<void> {
    const { cluster } = this.world;
    const jobs = new Set<string>();
    cluster.onLaunch(({ requestId }) => (jobs.has(requestId) ? jobScript(() => this.random.next()) : {}));
    addMachines(cluster, this.options.machines);
    await cluster.advance(1_000);
    for (let number = 1; number <= this.options.requests; number++) {
      const request = requestOf(number);
      if (request.requestType !== 'SERVICE' && request.requestType !== 'WORKER') jobs.add(request.id);
      await this.operators.create(request, deployOf(request.id, `d${++this.deploys}`));
    }
    // Messages go astray from now on.
    cluster.faults = {
      loseLaunch: 0.01,
      loseLaunchAnswer: 0.01,
      delayLaunch: 0.01,
      loseKill: 0.02,
      loseUpdates: 0.02,
      duplicateUpdates: 0.02,
      reorderUpdates: 0.05,
      doubleLaunch: 0.01,
    };
    this.tell(`${this.options.requests} requests on ${this.options.machines} machines`);
  }

  /** From one moment at which something happens to the next. */
  private async liveUntil(end: number): Promise<void> {
    const { world } = this;
    while (world.now < end) {
      await this.pollers.runDue(world.now, () => world.settled());
      this.passes += 1;
      const nextOrder = this.planned[0]?.at ?? Number.POSITIVE_INFINITY;
      const next = Math.min(this.pollers.nextAt, nextOrder, end, world.now + longestLeapMillis);
      await world.cluster.advance(Math.max(next - world.now, 1));
      while (this.planned[0] && this.planned[0].at <= world.now) await this.planned.shift()!.act();
    }
  }

  private planNext(perHour: number, act: () => Promise<unknown>): void {
    if (perHour <= 0) return;
    const at = this.world.now + Math.ceil((-Math.log(1 - this.random.next()) * hour) / perHour);
    const again = async () => {
      await act();
      this.planNext(perHour, act);
    };
    this.planned.push({ at, act: again });
    this.planned.sort((a, b) => a.at - b.at);
  }

  private async order(errand: Errand): Promise<void> {
    const { operators } = this;
    const id = `request-${1 + Math.floor(this.random.next() * this.options.requests)}`;
    this.orders += 1;
    switch (errand) {
      case 'deploy':
        return void (await operators.deploy(deployOf(id, `d${++this.deploys}`)));
      case 'scale':
        return void (await operators.scale(id, 1 + Math.floor(this.random.next() * 5)));
      case 'bounce':
        return void (await operators.bounce(id, this.random.happens(0.5)));
      case 'pause':
        if ((await operators.pause(id, true)) === 'DONE') {
          this.planned.push({ at: this.world.now + 10 * minute, act: () => operators.unpause(id) });
          this.planned.sort((a, b) => a.at - b.at);
        }
        return;
      case 'run':
        return void (await operators.run(id, `run-${this.orders}`));
      case 'kill': {
        const running = this.world.cluster.runningTasks();
        const spec = running[Math.floor(this.random.next() * running.length)];
        if (spec) await operators.kill(spec.taskId, this.random.happens(0.5) ? 'PLAIN' : 'REPLACED');
      }
    }
  }

  /** The scheduler dies, now and then with launches written and not sent; another one takes over. */
  private async restart(): Promise<void> {
    const { world } = this;
    this.restarts += 1;
    if (this.random.happens(0.5)) {
      world.driver.die();
      await world.scheduler.runOnce(world.now);
    }
    await world.cluster.advance(3_000);
    await world.crash();
    this.lead();
  }

  private lead(): void {
    this.pollers = new VirtualPollers(this.world.pollers, this.world.get(Wake), this.world.now, coarseMillis);
  }

  /** Checks the conditions that must hold at any moment. */
  private async check(): Promise<void> {
    const { cluster } = this.world;
    const sight = await this.eyes.look();
    this.runsEnded += sight.newEnds.length;
    this.mustHold(() => checkCapacity(sight, cluster));
    for (const end of sight.newEnds) this.mustHold(() => checkHistory(end, cluster));
    for (const [id, times] of cluster.starts) if (times > 1) this.violations.push(`${id} started ${times} times`);
    for (const { taskId } of cluster.runningTasks()) {
      const row = sight.tasks.get(taskId);
      if (!row || row.endedAt !== undefined) this.violations.push(`${taskId} runs and is over`);
    }
  }

  private mustHold(law: () => void): void {
    try {
      law();
    } catch (cause) {
      this.violations.push(String(cause));
    }
  }

  /** Answers the virtual minutes it took until live tasks were the wanted ones. */
  private async calm(): Promise<number> {
    const { world } = this;
    world.cluster.faults = {};
    for (const { request, state } of (await this.eyes.look()).requests.values()) {
      if (state === 'PAUSED') await this.operators.unpause(request.id);
    }
    const begunAt = world.now;
    let problems: string[] = [];
    while (world.now - begunAt < calmMillis) {
      await this.liveUntil(world.now + minute);
      await this.pollers.runDue(world.now, () => world.settled());
      problems = unfulfilled(await this.eyes.look(), world.cluster);
      if (problems.length === 0) break;
    }
    this.violations.push(...problems);
    await this.check();
    return Math.round((world.now - begunAt) / minute);
  }
}
