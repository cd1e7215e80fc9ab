import {
  type ClusterEvents,
  type LaunchAnswer,
  type AgentMachines,
  type MachineSnapshot,
  StaleEpochError,
  type StatusUpdate,
} from '../../../src/cluster/cluster-driver.js';
import { isFailingFast } from '../../../src/core/completion/index.js';
import { isRunnable, isTerminal } from '../../../src/core/model/enums.js';
import type { LaunchSpec } from '../../../src/core/model/launch.js';
import { cooldownRules } from '../../../src/scheduler/rules.js';
import type { Report } from '../../../src/scheduler/status/report.js';
import type { SimulatedDriver } from '../../support/simulated-cluster/simulated-driver.js';
import type { LeaderPass } from '../world/steps.js';
import { clean } from './cleaning.js';
import { stepDeploys } from './deploying.js';
import { drainQueue } from './draining.js';
import { decommission, gone, seen, tasksOn } from './machines.js';
import type { Model } from './model.js';
import { decide, type Decided, type Recent, write } from './placing.js';
import { applyReports, applyUpdates, confirmGone, lost } from './status.js';

const strangerGraceMillis = 60_000;

/** This leader was overtaken. */
class Deposed extends Error {}

/** One scheduler process in one epoch: what it remembers dies with it, what it writes stays in the tables. */
export class Leader implements ClusterEvents {
  private readonly recent: Recent = { taskIds: new Set(), takenPorts: new Map() };
  private decided: Decided | undefined;
  /** Lists of the machines are compared with the rows then. */
  private reconcileAt = 0;
  /** Launches that were not answered, by task id. */
  private readonly unanswered = new Map<string, LaunchSpec>();

  constructor(
    private readonly model: Model,
    readonly driver: SimulatedDriver,
    private readonly epoch: number,
  ) {}

  /** First work of a new leader: requests that go on by themselves, and launches that were perhaps never sent. */
  async begin(): Promise<void> {
    const { tables } = this.model;
    for (const { request, state, activeDeployId: deployId, changedAt } of tables.requests.values()) {
      const { id: requestId, requestType } = request;
      if (!isRunnable(state) || deployId === undefined) continue;
      if (requestType === 'ON_DEMAND' || requestType === 'RUN_ONCE') continue;
      const isPlanned = tables
        .pendingOf(requestId)
        .some(({ pendingTaskId: id }) => id.deployId === deployId && id.createdAt >= changedAt);
      if (requestType === 'SCHEDULED' && isPlanned) continue;
      tables.enqueue({ requestId, deployId, timestamp: this.model.now(), pendingType: 'STARTUP' });
    }
    await this.driver.start(this.epoch, this, (agentId) => Promise.resolve(tables.cursors.get(agentId)));
    for (const { taskId, spec, answered, endedAt } of tables.tasks.values()) {
      if (!answered && endedAt === undefined) this.unanswered.set(taskId.id, spec);
    }
    await this.reconcile();
  }

  async pass(pass: LeaderPass): Promise<void> {
    switch (pass) {
      case 'all':
        this.transaction(() => drainQueue(this.model));
        this.decide();
        this.write();
        await this.dispatch();
        for (const other of ['deploys', 'cleanup', 'machines', 'cooldown'] as const) await this.pass(other);
        if (this.model.now() >= this.reconcileAt) await this.reconcile();
        return;
      case 'drain':
        return this.transaction(() => drainQueue(this.model));
      case 'decide':
        return this.decide();
      case 'write':
        return this.write();
      case 'dispatch':
        return this.dispatch();
      case 'deploys':
        return this.transaction(() => stepDeploys(this.model));
      case 'cleanup':
        return this.transaction(() => clean(this.model));
      case 'machines':
        return this.transaction(() => decommission(this.model));
      case 'cooldown':
        return this.transaction(() => endCooldowns(this.model));
      case 'reconcile':
        return this.reconcile();
    }
  }

  async machines(agents: readonly AgentMachines[]): Promise<void> {
    for (const machine of agents.flatMap(({ machines }) => machines)) await this.machineUp(machine);
  }

  private machineUp(machine: MachineSnapshot): Promise<void> {
    return this.heard(() => {
      seen(this.model, machine);
      const former = tasksOn(this.model.tables, machine.slaveId).filter(
        ({ incarnation }) => incarnation !== machine.incarnation,
      );
      const now = this.model.now();
      applyReports(
        this.model,
        former.map((task) => lost(task, now, 'REASON_AGENT_RESTARTED')),
      );
      confirmGone(this.model, machine.slaveId, machine.incarnation);
    });
  }

  machineDown(slaveId: string): Promise<void> {
    return this.heard(() => {
      gone(this.model, slaveId);
      const now = this.model.now();
      const tasks = tasksOn(this.model.tables, slaveId);
      applyReports(
        this.model,
        tasks.map((task) => lost(task, now, 'REASON_AGENT_REMOVED')),
      );
    });
  }

  async statusUpdates(updates: readonly StatusUpdate[]): Promise<void> {
    const strangers = await this.heard(() => applyUpdates(this.model, updates));
    await this.killStrangers(strangers);
  }

  /** Its next transaction tells it, too. */
  outranked(): void {}

  /** Everything a leader writes: refused when another one leads. */
  private transaction<T>(work: () => T): T {
    if (this.model.tables.epoch !== this.epoch) throw new Deposed(`epoch ${this.epoch} is over`);
    return work();
  }

  private heard<T>(work: () => T): Promise<T> {
    return new Promise((resolve) => resolve(this.transaction(work)));
  }

  private decide(): void {
    this.decided = decide(this.model, this.driver.machines(), this.recent);
  }

  private write(): void {
    const { decided } = this;
    this.decided = undefined;
    if (!decided) return;
    for (const outcome of decided.outcomes) if (outcome.kind === 'place') this.recent.taskIds.add(outcome.taskId.id);
    const written = this.transaction(() => write(this.model, decided));
    for (const { taskId, spec } of written) this.unanswered.set(taskId.id, spec);
  }

  private async dispatch(): Promise<void> {
    for (const kill of this.model.tables.kills.values()) {
      const task = this.model.tables.tasks.get(kill.taskId);
      if (kill.sent || !task || task.endedAt !== undefined) continue;
      const answer = await this.driver.kill(kill.taskId, task.slaveId, kill.graceMillis, this.epoch);
      if (answer === 'UNKNOWN') continue;
      this.transaction(() => {
        kill.sent = true;
        if (answer === 'GONE') task.answered = true;
      });
      if (answer === 'GONE') this.reconcileAt = this.model.now();
    }
    for (const [taskId, spec] of this.unanswered) {
      const task = this.model.tables.tasks.get(taskId);
      if (!task || task.answered || task.endedAt !== undefined) this.unanswered.delete(taskId);
      else for (const answer of await this.driver.launch([spec], this.epoch)) this.answered(answer, spec);
    }
  }

  private answered(answer: LaunchAnswer, spec: LaunchSpec): void {
    if (answer.outcome === 'UNKNOWN') return;
    this.unanswered.delete(spec.taskId);
    this.transaction(() => {
      const task = this.model.tables.tasks.get(spec.taskId);
      if (!task) return;
      if (answer.outcome === 'ACCEPTED') task.answered = true;
      if (answer.outcome === 'PORT_IN_USE') this.takeBack(spec, answer.port);
      if (answer.outcome === 'REFUSED') {
        applyReports(this.model, [lost(task, this.model.now(), 'REASON_TASK_INVALID')]);
      }
    });
  }

  /** Nothing ever ran under this id: the pending task comes back, unless the task had to go already. */
  private takeBack(spec: LaunchSpec, port: number): void {
    const { tables } = this.model;
    const taken = this.recent.takenPorts.get(spec.slaveId) ?? new Set<number>();
    this.recent.takenPorts.set(spec.slaveId, taken.add(port));
    const task = tables.tasks.get(spec.taskId)!;
    if (task.endedAt !== undefined) return;
    if (tables.cleanups.has(spec.taskId) || tables.kills.has(spec.taskId)) {
      const report: Report = {
        taskId: spec.taskId,
        slaveId: spec.slaveId,
        timestamp: this.model.now(),
        state: 'TASK_KILLED',
      };
      applyReports(this.model, [report]);
      return;
    }
    tables.pendingTasks.set(task.pendingTask.pendingTaskId.id, task.pendingTask);
    tables.tasks.delete(spec.taskId);
  }

  private async reconcile(): Promise<void> {
    const { tables, settings } = this.model;
    this.reconcileAt = this.model.now() + settings.startNewReconcileEverySeconds * 1_000;
    const acknowledged = [...tables.tasks.values()].filter(
      ({ answered, endedAt }) => answered && endedAt === undefined,
    );
    for (const { agentId, incarnation, asOfUpdate, tasks } of await this.driver.reconcile(this.epoch)) {
      const states = new Map(tasks.map(({ taskId, state }) => [taskId, state]));
      const running = tasks.filter(({ taskId, state }) => !isTerminal(state) && !isActive(this.model, taskId));
      await this.killStrangers(running.map((task) => ({ ...task, slaveId: this.slaveOf(agentId) })));
      const cursor = tables.cursors.get(agentId);
      const applied = cursor?.incarnation === incarnation ? cursor.number : 0;
      // Updates are still on their way: what they say has to be known before anything is missing.
      if (applied < asOfUpdate) {
        this.reconcileAt = this.model.now();
        continue;
      }
      const timestamp = this.model.now();
      const reports = acknowledged
        .filter((task) => task.incarnation === incarnation)
        .flatMap((task): Report[] => {
          const state = states.get(task.taskId.id);
          if (state === undefined) return [lost(task, timestamp, 'REASON_RECONCILIATION')];
          return isTerminal(state) ? [{ ...lost(task, timestamp, ''), state, reason: undefined }] : [];
        });
      this.transaction(() => applyReports(this.model, reports));
    }
  }

  private slaveOf(agentId: string): string {
    return this.driver.machines().find((machine) => machine.agentId === agentId)!.slaveId;
  }

  private async killStrangers(strangers: readonly Pick<Report, 'taskId' | 'slaveId'>[]): Promise<void> {
    for (const { taskId, slaveId } of strangers) {
      await this.driver.kill(taskId, slaveId, strangerGraceMillis, this.epoch);
    }
  }
}

const isActive = ({ tables }: Model, taskId: string): boolean => {
  const task = tables.tasks.get(taskId);
  return task !== undefined && task.endedAt === undefined;
};

function endCooldowns(model: Model): void {
  const { tables, settings } = model;
  for (const stored of tables.requests.values()) {
    if (stored.state !== 'SYSTEM_COOLDOWN') continue;
    const { failureEvents } = tables.countsOf(`${stored.request.id}-${stored.activeDeployId}`);
    const failures = failureEvents.map(({ timestamp }) => timestamp);
    if (isFailingFast(failures, cooldownRules(settings), model.now())) continue;
    tables.save({ ...stored, state: 'ACTIVE', changedAt: model.now() });
  }
}

/** True if a call failed because its leader was overtaken: that is how it should be. */
export const isRefusal = (cause: unknown): boolean => cause instanceof Deposed || cause instanceof StaleEpochError;
