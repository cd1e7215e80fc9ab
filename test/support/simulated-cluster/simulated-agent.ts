import {
  type AgentTaskList,
  type Epoch,
  type KillAnswer,
  type LaunchAnswer,
  type MachineSnapshot,
  type ShellCommandAnswer,
  type ShellCommandOrder,
  type ShellCommandReport,
  StaleEpochError,
  type StatusUpdate,
} from '../../../src/cluster/cluster-driver.js';
import { isTerminal, type TaskState } from '../../../src/core/model/enums.js';
import type { LaunchSpec } from '../../../src/core/model/launch.js';
import { withPostFailures } from '../../../src/agent/tasks/outcome.js';
import type { EventQueue } from './event-queue.js';
import type { LaunchScript } from './script.js';
import { hasAfter, SimulatedPrograms } from './simulated-programs.js';
import type { RunningTask, SimulatedTask } from './simulated-task.js';

const startMillis = 5;
const stopMillis = 10;
const commandMillis = 10;

type Refusal = Extract<LaunchAnswer, { outcome: 'REFUSED' | 'NOT_ADMITTED' | 'PORT_IN_USE' | 'DISK_FULL' }>;

/** The world around an agent. */
export interface World {
  now(): number;
  events: EventQueue;
  script: LaunchScript;
  /** An update is there to be pulled. */
  hasNews(agent: SimulatedAgent): void;
  started(spec: LaunchSpec, epoch: Epoch): void;
}

/** An agent in memory that keeps the launch protocol: ids start once, kills leave tombstones, updates are numbered. */
export class SimulatedAgent {
  readonly machines = new Map<string, MachineSnapshot>();
  /** Set: calls to it fail and nothing comes from it, while its tasks run on. */
  unreachableSince: number | undefined;
  /** Time that a message takes to the agent, and an update from it. */
  latencyMillis = 0;
  private epoch = 0;
  private tasks = new Map<string, SimulatedTask>();
  private refusals = new Map<string, Refusal>();
  /** Acknowledged ends: their ids never start again. */
  private ended = new Map<string, TaskState>();
  /** Launch ids of every task that was started here, while its id is known. */
  private launchIds = new Map<string, string | undefined>();
  /** Every command that was ever accepted: it runs once. */
  private commands = new Set<string>();
  private updates: StatusUpdate[] = [];
  private lastNumber = 0;
  private readonly around = new SimulatedPrograms({
    now: () => this.world.now(),
    later: (task, at, run) => this.later(task, at, run),
    tell: (task, program) => this.tell(task, { program }),
    fail: (task, message) => this.report(task, 'TASK_FAILED', message),
  });

  constructor(
    readonly agentId: string,
    public incarnation: string,
    private readonly world: World,
  ) {}

  get reachable(): boolean {
    return this.unreachableSince === undefined;
  }

  hello(epoch: Epoch): void {
    if (epoch < this.epoch) throw new StaleEpochError(epoch, this.epoch);
    this.epoch = epoch;
  }

  launch(spec: LaunchSpec, epoch: Epoch): LaunchAnswer {
    this.hello(epoch);
    const { taskId } = spec;
    if (spec.incarnation !== this.incarnation) return { taskId, outcome: 'REFUSED', reason: 'other incarnation' };
    const known = this.tasks.get(taskId)?.state ?? this.ended.get(taskId);
    if (known) return this.isOther(spec) ? { taskId, outcome: 'ID_IN_USE' } : accepted(taskId, known);
    const refusal = this.refusals.get(taskId);
    if (refusal) return refusal;
    const script = this.world.script(spec);
    if (script.portInUse !== undefined) return this.refuse({ taskId, outcome: 'PORT_IN_USE', port: script.portInUse });
    if (script.diskFull) return this.refuse({ taskId, outcome: 'DISK_FULL' });
    if (script.notAdmitted !== undefined)
      return this.refuse({ taskId, outcome: 'NOT_ADMITTED', reason: script.notAdmitted });
    if (script.refuse !== undefined) return this.refuse({ taskId, outcome: 'REFUSED', reason: script.refuse });
    this.launchIds.set(taskId, spec.launchId);
    this.start(
      { spec, script, state: 'TASK_STARTING', startedAt: this.world.now(), killedAt: Infinity, commands: new Set() },
      epoch,
    );
    return accepted(taskId, 'TASK_STARTING');
  }

  private isOther({ taskId, launchId }: LaunchSpec): boolean {
    const known = this.launchIds.get(taskId);
    return launchId !== undefined && known !== undefined && launchId !== known;
  }

  kill(taskId: string, graceMillis: number, epoch: Epoch): Exclude<KillAnswer, 'UNKNOWN'> {
    this.hello(epoch);
    const task = this.tasks.get(taskId);
    if (!task) {
      if (!this.ended.has(taskId) && !this.refusals.has(taskId))
        this.refuse({ taskId, outcome: 'REFUSED', reason: 'killed before launch' });
      return 'GONE';
    }
    if (isTerminal(task.state)) return 'GONE';
    // Its main program is over: the rest ends by itself, and soon.
    if (task.state === 'TASK_KILLING' && graceMillis > 0) return 'KILLING';
    const endsAt = this.world.now() + Math.min(graceMillis, task.script.stopAfter ?? stopMillis);
    if (endsAt < task.killedAt) {
      task.killedAt = endsAt;
      if (graceMillis === 0) task.killedByForce = true;
      this.later(task, endsAt, () => this.end(task, 'TASK_KILLED', 'killed'));
    }
    return 'KILLING';
  }

  withdraw(taskId: string, epoch: Epoch): boolean {
    this.hello(epoch);
    if (this.tasks.has(taskId) || this.ended.has(taskId)) return false;
    if (!this.refusals.has(taskId)) this.refuse({ taskId, outcome: 'REFUSED', reason: 'given up before it came' });
    return true;
  }

  runCommand(order: ShellCommandOrder, epoch: Epoch): Exclude<ShellCommandAnswer, 'UNKNOWN'> {
    this.hello(epoch);
    const key = `${order.taskId} ${order.name} ${order.timestamp}`;
    if (this.commands.has(key)) return 'ACCEPTED';
    const task = this.tasks.get(order.taskId);
    if (!task || isTerminal(task.state)) return 'GONE';
    this.commands.add(key);
    this.runIn(task, order);
    return 'ACCEPTED';
  }

  list(epoch: Epoch): AgentTaskList {
    this.hello(epoch);
    const tasks = [...this.tasks.values()].map(({ spec, state }) => ({ taskId: spec.taskId, state }));
    return { agentId: this.agentId, incarnation: this.incarnation, asOfUpdate: this.lastNumber, tasks };
  }

  /** Updates with higher numbers. Everything up to `after` is forgotten, ended tasks among it too, but not their ids. */
  pull(after: number, epoch: Epoch): StatusUpdate[] {
    this.hello(epoch);
    const kept = this.updates.findIndex((update) => update.number > after);
    const acknowledged = this.updates.splice(0, kept < 0 ? this.updates.length : kept);
    for (const { taskId, state } of acknowledged) {
      if (!isTerminal(state)) continue;
      this.tasks.delete(taskId);
      this.ended.set(taskId, state);
    }
    return this.updates.slice();
  }

  runningTasks = (): LaunchSpec[] =>
    [...this.tasks.values()].filter(({ state }) => !isTerminal(state)).map(({ spec }) => spec);

  /** undefined: no such task runs here. */
  findRunning(taskId: string): RunningTask | undefined {
    const task = this.tasks.get(taskId);
    return task && !isTerminal(task.state) ? task : undefined;
  }

  runningOn = (slaveId: string): RunningTask[] =>
    [...this.tasks.values()].filter(({ state, spec }) => !isTerminal(state) && spec.slaveId === slaveId);

  /** Ends a task from outside. False: it is not here, or has ended. */
  finish(taskId: string, state: TaskState, message?: string, reason?: string): boolean {
    const task = this.tasks.get(taskId);
    if (!task || isTerminal(task.state)) return false;
    this.report(task, state, message, reason);
    return true;
  }

  /** A task that went with its machine: it will not be heard of. */
  forget(taskId: string): void {
    this.tasks.delete(taskId);
  }

  /** A new folder: everything that was here is gone and forgotten. */
  reincarnate(incarnation: string): void {
    this.incarnation = incarnation;
    this.epoch = 0;
    this.tasks = new Map();
    this.refusals = new Map();
    this.ended = new Map();
    this.commands = new Set();
    this.updates = [];
    this.lastNumber = 0;
    for (const [slaveId, machine] of this.machines) this.machines.set(slaveId, { ...machine, incarnation });
  }

  private start(task: SimulatedTask, epoch: Epoch): void {
    const { script, spec } = task;
    this.tasks.set(spec.taskId, task);
    this.report(task, 'TASK_STARTING');
    this.around.before(task, () => {
      this.world.started(spec, epoch);
      const runsAt = this.world.now() + (script.startAfter ?? startMillis);
      this.later(task, runsAt, () => this.report(task, 'TASK_RUNNING'));
      if (script.runFor === undefined) return;
      const { exit = 'TASK_FINISHED', message, reason, exitCode } = script;
      this.later(task, runsAt + script.runFor, () => this.end(task, exit, message, reason, exitCode));
    });
  }

  /** Its main program ends, and the others after it. */
  private end(task: SimulatedTask, state: TaskState, message?: string, reason?: string, exitCode?: number): void {
    const { spec, killedByForce } = task;
    if (!hasAfter(spec)) return this.report(task, state, message, reason, exitCode);
    if (task.state === 'TASK_KILLING') return;
    const hasRun = task.state === 'TASK_RUNNING';
    if (hasRun) this.report(task, 'TASK_KILLING', message);
    this.around.after(task, hasRun && !killedByForce, (failures) => {
      const text = withPostFailures({ state, message: message ?? state }, failures).message;
      this.report(task, state, failures.length > 0 ? text : message, reason, exitCode);
    });
  }

  /** Nothing happens to a task that has ended meanwhile, or that went with its incarnation. */
  private later(task: SimulatedTask, at: number, run: () => void): void {
    this.world.events.plan(at, () => {
      if (this.tasks.get(task.spec.taskId) === task && !isTerminal(task.state)) run();
    });
  }

  private runIn(task: SimulatedTask, order: ShellCommandOrder): void {
    const { end = 'FINISHED', runFor = commandMillis, message = 'Exit code 0' } = task.script.commands?.(order) ?? {};
    if (end === 'INVALID') return this.tell(task, { shellCommand: reportOf(order, end, message) });
    task.commands.add(order);
    this.tell(task, { shellCommand: reportOf(order, 'ACKED', order.name) });
    this.tell(task, { shellCommand: reportOf(order, 'STARTED', 'Process 1') });
    if (!Number.isFinite(runFor)) return;
    this.later(task, this.world.now() + runFor, () => {
      task.commands.delete(order);
      this.tell(task, { shellCommand: reportOf(order, end, message) });
    });
  }

  /** Reports a state. Commands that run in a task end before it does. */
  private report(task: SimulatedTask, state: TaskState, message?: string, reason?: string, exitCode?: number): void {
    if (isTerminal(state))
      for (const order of task.commands) this.tell(task, { shellCommand: reportOf(order, 'FAILED', 'The task ended') });
    task.state = state;
    this.tell(task, { message, reason, exitCode });
  }

  private tell(
    task: SimulatedTask,
    content: Pick<StatusUpdate, 'message' | 'reason' | 'exitCode' | 'shellCommand' | 'program'>,
  ): void {
    const { taskId, slaveId } = task.spec;
    this.updates.push({
      agentId: this.agentId,
      incarnation: this.incarnation,
      number: ++this.lastNumber,
      taskId,
      slaveId,
      state: task.state,
      timestamp: this.world.now(),
      ...content,
      directory: directoryOf(taskId),
    });
    this.world.hasNews(this);
  }

  private refuse(refusal: Refusal): Refusal {
    this.refusals.set(refusal.taskId, refusal);
    return refusal;
  }
}

const reportOf = (
  order: ShellCommandOrder,
  updateType: ShellCommandReport['updateType'],
  message: string,
): ShellCommandReport => ({
  name: order.name,
  timestamp: order.timestamp,
  updateType,
  message,
  outputFilename: updateType === 'INVALID' ? undefined : `executor.commands.${order.name}.${order.timestamp}.log`,
});
const directoryOf = (taskId: string): string => `/sandboxes/${taskId}`;
const accepted = (taskId: string, state: TaskState): LaunchAnswer => ({
  taskId,
  outcome: 'ACCEPTED',
  state,
  directory: directoryOf(taskId),
});
