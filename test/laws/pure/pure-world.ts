import { SimulatedCluster } from '../../support/simulated-cluster/simulated-cluster.js';
import { SettingsFile, type Settings } from '../../../src/platform/settings/settings.js';
import { clusterOptions, takeOverMillis } from '../world/perform.js';
import type { WorldPlan } from '../world/plan.js';
import { worldSettings } from '../world/settings.js';
import type { LeaderPass } from '../world/steps.js';
import type { Sight, World } from '../world/world.js';
import { strategies } from '../world/strategies.js';
import { AnyOrder } from './any-order.js';
import { isRefusal, Leader } from './leader.js';
import type { Model } from './model.js';
import { PureOperators } from './operators.js';
import { Tables } from './tables.js';

const settings = { ...SettingsFile.parse({}), ...worldSettings } as Settings;

/** The pure core on rows in memory, with simulated machines: thousands of schedules a minute. */
export class PureWorld implements World {
  readonly cluster: SimulatedCluster;
  readonly operators: PureOperators;
  private readonly tables = new Tables();
  private readonly model: Model;
  private leader!: Leader;
  private readonly former: Leader[] = [];
  private endsTold = 0;

  private constructor(plan: WorldPlan) {
    this.cluster = new SimulatedCluster(clusterOptions(plan));
    const anyOrder = new AnyOrder(plan.seed, plan.seed % 4 === 0);
    this.model = { tables: this.tables, settings, now: this.cluster.now, anyOrder };
    this.operators = new PureOperators(this.model);
  }

  static async start(plan: WorldPlan): Promise<PureWorld> {
    const world = new PureWorld(plan);
    await world.takeOver();
    return world;
  }

  pass(pass: LeaderPass): Promise<void> {
    return this.leader.pass(pass);
  }

  async between(order: () => Promise<void>): Promise<void> {
    for (const pass of ['drain', 'decide'] as const) await this.pass(pass);
    await order();
    await this.pass('write');
  }

  async crash(unsent: boolean): Promise<void> {
    if (unsent) {
      // What it writes now is not sent.
      for (const pass of ['drain', 'decide', 'write'] as const) await this.leader.pass(pass);
    }
    this.leader.driver.die();
    await this.takeOver();
  }

  async overtake(): Promise<void> {
    this.leader.driver.freeze();
    // The last it did was to write and to send; its messages wait on the way.
    for (const pass of ['drain', 'decide', 'write', 'dispatch', 'decide'] as const) await this.leader.pass(pass);
    this.former.push(this.leader);
    await this.takeOver();
  }

  async formerGoesOn(): Promise<void> {
    for (const former of this.former.splice(0)) {
      former.driver.thaw();
      await this.mustBeRefused(former);
      former.driver.die();
    }
  }

  async look(): Promise<Sight> {
    const { tables } = this;
    const newEnds = tables.ended.slice(this.endsTold);
    this.endsTold = tables.ended.length;
    return {
      now: this.cluster.now(),
      requests: tables.requests,
      oldFirst: strategies([...tables.deploys.values()]),
      machines: new Map(
        [...tables.machines].map(([slaveId, { machine, state }]) => [
          slaveId,
          { ...machine, state, rackState: tables.racks.get(machine.rackId) ?? 'ACTIVE' },
        ]),
      ),
      tasks: new Map(
        [...tables.tasks].map(([id, task]) => [
          id,
          { ...task, cleaning: tables.cleanups.has(id), killed: tables.kills.has(id) },
        ]),
      ),
      newEnds,
      pending: [...tables.pendingTasks.values()].map(({ pendingTaskId, runId }) => ({ ...pendingTaskId, runId })),
      queue: [...tables.queue.values()],
      orders: [
        ...tables.requestCleanups.keys(),
        ...[...tables.cleanups.values()].map(({ cleanupType, taskId }) => `${cleanupType} of ${taskId.id}`),
        ...[...tables.kills.keys()].map((id) => `kill of ${id}`),
      ],
    };
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  /** It writes what it had decided, and sends what it had written. */
  private async mustBeRefused(former: Leader): Promise<void> {
    for (const pass of ['write', 'dispatch', 'drain', 'cleanup'] as const) {
      try {
        await former.pass(pass);
      } catch (cause) {
        if (!isRefusal(cause)) throw cause;
      }
    }
  }

  private async takeOver(): Promise<void> {
    await this.cluster.advance(takeOverMillis);
    this.tables.epoch += 1;
    this.leader = new Leader(this.model, this.cluster.driver(), this.tables.epoch);
    await this.leader.begin();
  }
}
