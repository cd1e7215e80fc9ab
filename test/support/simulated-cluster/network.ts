import {
  type Epoch,
  type KillAnswer,
  type LaunchAnswer,
  type ShellCommandAnswer,
  type ShellCommandOrder,
  StaleEpochError,
  type TaskCheck,
  type TaskCheckAnswer,
} from '../../../src/cluster/cluster-driver.js';
import type { LaunchSpec } from '../../../src/core/model/launch.js';
import type { MessageFault } from './script.js';
import type { SimulatedAgent } from './simulated-agent.js';
import type { SimulatedCluster } from './simulated-cluster.js';

const defaultDelayMillis = 10_000;

/**
 * The way of one scheduler's orders to the machines, through the faults that are switched on. What does not arrive at
 * once is answered with UNKNOWN, as by a time-out.
 */
export class Network {
  /** Undefined: orders go out. Else they wait here, or get nowhere. */
  private held: (() => void)[] | 'LOST' | undefined;

  constructor(private readonly cluster: SimulatedCluster) {}

  get isOpen(): boolean {
    return this.held === undefined;
  }

  /** From now on nothing leaves the scheduler, until `release`. */
  hold(): void {
    this.held ??= [];
  }

  /** Sends the messages that were held back, with the epochs they carry. */
  release(): void {
    if (!Array.isArray(this.held)) return;
    const orders = this.held;
    this.held = undefined;
    for (const order of orders) order();
  }

  /** The scheduler is dead: nothing it sends, or sent into a standstill, gets anywhere. */
  sever(): void {
    this.held = 'LOST';
  }

  launch(spec: LaunchSpec, epoch: Epoch): LaunchAnswer {
    const carryOut = (agent: SimulatedAgent) => agent.launch(spec, epoch);
    if (this.keeps(() => this.arriveAt(spec.slaveId, epoch, carryOut))) return unknown(spec, 'held back');
    const agent = this.admitted(spec.slaveId, epoch);
    if (!agent) return unknown(spec, 'unreachable');
    if (this.happens('loseLaunch')) return unknown(spec, 'lost');
    const delay = this.delayTo(agent, 'delayLaunch');
    if (delay > 0) {
      this.later(delay, () => this.arriveAt(spec.slaveId, epoch, carryOut));
      return unknown(spec, 'delayed');
    }
    const answer = agent.launch(spec, epoch);
    if (this.happens('doubleLaunch')) {
      this.later(this.delayMillis, () => this.arriveAt(spec.slaveId, epoch, carryOut));
    }
    return this.happens('loseLaunchAnswer') ? unknown(spec, 'answer lost') : answer;
  }

  kill(taskId: string, slaveId: string, graceMillis: number, epoch: Epoch): KillAnswer {
    const carryOut = (agent: SimulatedAgent) => agent.kill(taskId, graceMillis, epoch);
    if (this.keeps(() => this.arriveAt(slaveId, epoch, carryOut))) return 'UNKNOWN';
    const agent = this.admitted(slaveId, epoch);
    if (!agent || this.happens('loseKill')) return 'UNKNOWN';
    const delay = this.delayTo(agent, 'delayKill');
    if (delay > 0) {
      this.later(delay, () => this.arriveAt(slaveId, epoch, carryOut));
      return 'UNKNOWN';
    }
    return agent.kill(taskId, graceMillis, epoch);
  }

  withdraw(taskIds: readonly string[], slaveId: string, epoch: Epoch): string[] {
    if (!this.isOpen) return [];
    const agent = this.admitted(slaveId, epoch);
    if (!agent || this.happens('loseKill')) return [];
    return taskIds.filter((taskId) => agent.withdraw(taskId, epoch));
  }

  runCommand(order: ShellCommandOrder, slaveId: string, epoch: Epoch): ShellCommandAnswer {
    const carryOut = (agent: SimulatedAgent) => agent.runCommand(order, epoch);
    if (this.keeps(() => this.arriveAt(slaveId, epoch, carryOut))) return 'UNKNOWN';
    const agent = this.admitted(slaveId, epoch);
    if (!agent || this.happens('loseCommand')) return 'UNKNOWN';
    const answer = agent.runCommand(order, epoch);
    return this.happens('loseCommandAnswer') ? 'UNKNOWN' : answer;
  }

  /** `answer`: of a task that runs. */
  runCheck(
    check: TaskCheck,
    slaveId: string,
    epoch: Epoch,
    answer: (check: TaskCheck) => TaskCheckAnswer,
  ): TaskCheckAnswer {
    const agent = this.isOpen ? this.admitted(slaveId, epoch) : undefined;
    if (!agent) return { outcome: 'UNKNOWN', reason: 'unreachable' };
    return agent.findRunning(check.taskId) ? answer(check) : { outcome: 'GONE' };
  }

  happens(fault: MessageFault): boolean {
    const happens = this.cluster.random.happens(this.cluster.faults[fault] ?? 0);
    if (happens) this.cluster.count(fault);
    return happens;
  }

  private get delayMillis(): number {
    return this.cluster.faults.launchDelayMillis ?? defaultDelayMillis;
  }

  private delayTo(agent: SimulatedAgent, fault: 'delayLaunch' | 'delayKill'): number {
    return agent.latencyMillis + (this.happens(fault) ? this.delayMillis : 0);
  }

  private keeps(order: () => void): boolean {
    if (this.held === undefined) return false;
    if (this.held !== 'LOST') this.held.push(order);
    return true;
  }

  private later(millis: number, run: () => void): void {
    this.cluster.events.plan(this.cluster.now() + millis, run);
  }

  /** undefined: it cannot be reached. Throws when it has seen a newer leader. */
  private admitted(slaveId: string, epoch: Epoch): SimulatedAgent | undefined {
    const agent = this.cluster.findAgent(slaveId);
    if (!agent?.reachable) return undefined;
    try {
      agent.hello(epoch);
    } catch (cause) {
      this.cluster.count('refusedOrder');
      throw cause;
    }
    return agent;
  }

  /** A late order: its answer is not awaited. */
  private arriveAt(slaveId: string, epoch: Epoch, carryOut: (agent: SimulatedAgent) => unknown): void {
    try {
      const agent = this.admitted(slaveId, epoch);
      if (agent) carryOut(agent);
    } catch (cause) {
      if (!(cause instanceof StaleEpochError)) throw cause;
    }
  }
}

const unknown = ({ taskId }: LaunchSpec, reason: string): LaunchAnswer => ({ taskId, outcome: 'UNKNOWN', reason });
