import type { TaskState } from '../../../src/core/model/enums.js';
import type { SimulatedCluster } from './simulated-cluster.js';

/** Rates of misfortunes of the cluster, per hour of the virtual clock. */
export interface StormRates {
  /** A machine cannot be reached for a while; its tasks run on. */
  unreachable?: number;
  /** A machine answers late for a while. */
  slow?: number;
  /** An agent begins anew with an empty folder. */
  newFolder?: number;
  /** A machine is gone with all that ran there, and comes back empty after a while. */
  vanished?: number;
  /** A task ends although it was not asked for. */
  taskEnds?: number;
}

type Misfortune = keyof StormRates;

const hourMillis = 3_600_000;
const unexpectedEnds: readonly TaskState[] = ['TASK_FAILED', 'TASK_LOST', 'TASK_FINISHED'];

/** Random misfortune of machines, planned on the virtual clock; the same seed brings the same storm. */
export class Storm {
  private isOver = false;

  constructor(
    private readonly cluster: SimulatedCluster,
    private readonly rates: StormRates,
    /** Longest time a machine is away or slow, in milliseconds. */
    private readonly longestMillis: number,
  ) {}

  begin(): void {
    for (const kind of Object.keys(this.rates) as Misfortune[]) this.planNext(kind);
  }

  /** No further misfortune; every machine is back and quick. */
  end(): void {
    this.isOver = true;
    for (const slaveId of this.cluster.vanishedIds) this.cluster.restoreMachine(slaveId);
    for (const slaveId of this.cluster.machineIds) this.heal(slaveId);
  }

  private planNext(kind: Misfortune): void {
    const rate = this.rates[kind] ?? 0;
    if (rate <= 0) return;
    // Waiting times of independent events: short ones are frequent, long ones happen.
    const wait = (-Math.log(1 - this.cluster.random.next()) * hourMillis) / rate;
    this.later(wait, () => {
      this.strike(kind);
      this.planNext(kind);
    });
  }

  private strike(kind: Misfortune): void {
    if (kind === 'taskEnds') return this.endTask();
    const slaveId = this.pick(this.cluster.machineIds);
    if (slaveId === undefined) return;
    const lasts = this.cluster.random.next() * this.longestMillis;
    switch (kind) {
      case 'unreachable':
        this.cluster.setReachable(slaveId, false);
        return this.later(lasts, () => this.heal(slaveId));
      case 'slow':
        this.cluster.setLatency(slaveId, 500 + this.cluster.random.next() * 5_000);
        return this.later(lasts, () => this.heal(slaveId));
      case 'newFolder':
        return this.cluster.reincarnate(slaveId);
      case 'vanished':
        this.cluster.removeMachine(slaveId);
        return this.later(lasts, () => {
          if (this.cluster.vanishedIds.includes(slaveId)) this.cluster.restoreMachine(slaveId);
        });
    }
  }

  private endTask(): void {
    const spec = this.pick(this.cluster.runningTasks());
    const state = this.pick(unexpectedEnds)!;
    if (spec) this.cluster.finish(spec.taskId, state, 'Ended by the storm');
  }

  private heal(slaveId: string): void {
    if (!this.cluster.findAgent(slaveId)) return;
    this.cluster.setReachable(slaveId, true);
    this.cluster.setLatency(slaveId, 0);
  }

  private later(millis: number, run: () => void): void {
    this.cluster.events.plan(this.cluster.now() + Math.ceil(millis), () => {
      if (!this.isOver) run();
    });
  }

  private pick<T>(from: readonly T[]): T | undefined {
    return from[Math.floor(this.cluster.random.next() * from.length)];
  }
}
