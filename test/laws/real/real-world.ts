import type { SimulatedCluster } from '../../support/simulated-cluster/simulated-cluster.js';
import { DeploysModule } from '../../../src/modules/deploys/deploys.module.js';
import { DeploysPoller } from '../../../src/modules/deploys/deploys.poller.js';
import { HistoryModule } from '../../../src/modules/history/history.module.js';
import { HistoryPoller } from '../../../src/modules/history/history-mover.service.js';
import { RequestsModule } from '../../../src/modules/requests/requests.module.js';
import { MachinesPoller } from '../../../src/modules/slaves/machines.poller.js';
import { CleanupModule } from '../../../src/modules/tasks/cleanup/cleanup.module.js';
import { CleanupPoller } from '../../../src/modules/tasks/cleanup/cleanup.poller.js';
import { TasksModule } from '../../../src/modules/tasks/tasks.module.js';
import { ClusterWatch } from '../../../src/scheduler/cluster/cluster-watch.service.js';
import { LeaderMemory } from '../../../src/scheduler/memory/leader-memory.service.js';
import { MemoryCheck } from '../../../src/scheduler/memory/memory-check.service.js';
import { PlacementWriter } from '../../../src/scheduler/placement/placement-writer.service.js';
import { CooldownPoller } from '../../../src/scheduler/pollers/cooldown.poller.js';
import { Reconciliation } from '../../../src/scheduler/reconciliation/reconciliation.service.js';
import type { LentDatabase } from '../../support/lent-database.js';
import { SchedulerWorld, type FormerLeader } from '../../support/scheduler-world.js';
import { clusterOptions, takeOverMillis } from '../world/perform.js';
import { LawBroken } from '../rules/law-broken.js';
import type { WorldPlan } from '../world/plan.js';
import { worldSettings } from '../world/settings.js';
import type { LeaderPass } from '../world/steps.js';
import type { Sight, World } from '../world/world.js';
import { RealOperators } from './operators.js';
import { Eyes } from './eyes.js';

const modules = [RequestsModule, DeploysModule, TasksModule, CleanupModule, HistoryModule];

/** The whole scheduler with its rooms on a real database, and simulated machines. */
export class RealWorld implements World {
  readonly operators: RealOperators;
  private readonly eyes: Eyes;
  private readonly former: FormerLeader[] = [];

  private constructor(readonly scheduler: SchedulerWorld) {
    this.operators = new RealOperators(scheduler);
    this.eyes = new Eyes(scheduler);
  }

  /** `database`: of its own, emptied before. */
  static async start(plan: WorldPlan, database: LentDatabase): Promise<RealWorld> {
    await database.empty();
    const options = { ...clusterOptions(plan), database, settings: worldSettings, modules };
    return new RealWorld(await SchedulerWorld.start(options));
  }

  get cluster(): SimulatedCluster {
    return this.scheduler.cluster;
  }

  async pass(pass: LeaderPass): Promise<void> {
    const { scheduler } = this;
    const { now } = scheduler;
    switch (pass) {
      case 'all':
        await this.pass('drain');
        await this.pass('dispatch');
        for (const other of ['deploys', 'cleanup', 'machines', 'cooldown'] as const) await this.pass(other);
        await scheduler.get(Reconciliation).runWhenDue(now);
        await scheduler.get(HistoryPoller).runOnce();
        break;
      case 'drain':
      case 'decide':
        await scheduler.scheduler.runOnce(now);
        break;
      case 'write':
        // What it decides it writes in the same pass.
        return;
      case 'dispatch':
        await scheduler.dispatch.runOnce(now);
        break;
      case 'deploys':
        await scheduler.get(DeploysPoller).runOnce(now);
        break;
      case 'cleanup':
        await scheduler.get(CleanupPoller).runOnce(now);
        break;
      case 'machines':
        await scheduler.get(MachinesPoller).decommission(now);
        break;
      case 'cooldown':
        await scheduler.get(CooldownPoller).runOnce(now);
        break;
      case 'reconcile':
        scheduler.get(Reconciliation).request();
        await scheduler.get(Reconciliation).runWhenDue(now);
    }
    await scheduler.settled();
  }

  /** The writer is held up; its transaction has begun, and has locked nothing but the epoch. */
  async between(order: () => Promise<void>): Promise<void> {
    const { scheduler } = this;
    const writer = scheduler.get(PlacementWriter);
    const write = writer.write.bind(writer);
    let open!: () => void;
    const ordered = new Promise<void>((resolve) => (open = resolve));
    const decided = new Promise<void>((resolve) => {
      writer.write = async (...args) => {
        resolve();
        await ordered;
        return write(...args);
      };
    });
    const pass = scheduler.scheduler.runOnce(scheduler.now);
    try {
      await Promise.race([decided, pass]);
      await order();
    } finally {
      open();
      await pass;
      writer.write = write;
    }
    await scheduler.settled();
  }

  async crash(unsent: boolean): Promise<void> {
    if (unsent) {
      this.scheduler.driver.die();
      await this.pass('drain');
    }
    await this.cluster.advance(takeOverMillis);
    await this.scheduler.crash();
  }

  async overtake(): Promise<void> {
    this.scheduler.driver.freeze();
    await this.pass('drain');
    await this.pass('dispatch');
    await this.cluster.advance(takeOverMillis);
    this.former.push(await this.scheduler.overtake());
  }

  async giveUp(slaveId: string): Promise<void> {
    const watch = this.scheduler.get(ClusterWatch);
    await watch.machineSilent(slaveId, 'its agent is silent');
    await watch.tasksUnreachable([slaveId]);
    await this.scheduler.settled();
  }

  async formerGoesOn(): Promise<void> {
    for (const former of this.former.splice(0)) {
      former.driver.thaw();
      // Refused, whatever it tries; how it takes that is its own affair.
      await former.scheduler.runOnce(this.scheduler.now).catch(() => undefined);
      await former.dispatch.runOnce(this.scheduler.now).catch(() => undefined);
      await former.settled();
      await former.close();
    }
  }

  look(): Promise<Sight> {
    return this.eyes.look();
  }

  close(): Promise<void> {
    return this.scheduler.close();
  }
}

/** After every step the leader's memory equals a fresh load. */
export async function memoryEqualsRows({ scheduler }: RealWorld): Promise<void> {
  await scheduler.get(LeaderMemory).refresh(scheduler.now);
  const differences = await scheduler.get(MemoryCheck).compareAll(scheduler.now);
  if (differences.length > 0) {
    throw new LawBroken('The memory of the leader equals a fresh load', JSON.stringify(differences));
  }
}
