import { setTimeout as delay } from 'node:timers/promises';
import { isTerminal, type TaskState } from '../../core/model/enums.js';
import type { LaunchSpec } from '../../core/model/launch.js';
import { monotonicMillis } from '../../platform/monotonic.js';
import type { AgentContext } from '../agent-context.js';
import type { TaskGroup } from '../cgroups/cgroups.js';
import { ContainerKiller } from '../containers/container-killer.js';
import { containerOf, containerStart, startContainer } from '../containers/start-container.js';
import type { TaskContainer } from '../containers/task-container.js';
import { isAlive, type ProcessIdentity, type ProcessStat } from '../machine/process-identity.js';
import { processesOf, type TaskMark } from '../machine/processes.js';
import type { RunAs } from '../machine/run-as.js';
import { type Sandbox, sandboxOfSpec } from '../sandbox/sandbox-layout.js';
import { TaskLogs } from '../logs/task-logs.js';
import { CommandPlans } from '../shell-commands/command-plan.js';
import { TaskCommands } from '../shell-commands/task-commands.js';
import { type Shim, unlessAborted, whenAdoptedGone, whenStarted } from '../shim/shim.js';
import { couldNotStart, limitsOf, prepareAndStart } from '../shim/start-task.js';
import { type EndFacts, isShellLine, killedBeforeStart, type Outcome, outcomeOf } from './outcome.js';
import { RunningReport } from './running-report.js';
import { AgentStops, StatusReports } from './status-reports.js';
import { endTask } from './task-end.js';
import { fileNameOf, type SavedKill, type StartedTask, TaskFolder } from './task-folder.js';
import { Killer, type Sweeper, TaskKill } from './task-kill.js';
import { TaskLimits } from './task-limits.js';

const neverStarted: Outcome = {
  state: 'TASK_LOST',
  message: 'The agent ended before the task was started',
  reason: 'REASON_AGENT_RESTARTED',
};
const startOverMillis = 1_000;

/** One task from its acceptance to its end: prepares, starts, watches, kills, reports. */
export class TaskRun {
  readonly sandbox: Sandbox;
  readonly group: TaskGroup;
  readonly commands: TaskCommands;
  readonly logs: TaskLogs;
  readonly limits: TaskLimits;
  private readonly running: RunningReport;
  /** Resolves when the end is on disk, or when the agent stops before it. */
  finished: Promise<void> = Promise.resolve();
  private readonly folder: TaskFolder;
  private readonly reports: StatusReports;
  private readonly kill: TaskKill;
  /** undefined: it is processes of the machine. */
  private readonly container: TaskContainer | undefined;
  private shim: ProcessIdentity | undefined;
  private readonly known: TaskMark['known'] = new Map();
  private started: StartedTask | undefined;
  /** Aborted by a kill, and when the agent stops. */
  private readonly preparing = new AbortController();
  /** Aborted when the shim has gone, and when the agent stops. */
  private readonly over = new AbortController();

  constructor(
    private readonly context: AgentContext,
    readonly spec: LaunchSpec,
    /** undefined: the agent's own user. */
    private readonly runAs: RunAs | undefined,
  ) {
    this.folder = TaskFolder.live(context.folder, spec.taskId);
    this.sandbox = sandboxOfSpec(context.folder, spec);
    this.reports = new StatusReports(context, spec, this.sandbox.root);
    this.container = containerOf(context, spec, this.sandbox, this.folder);
    this.group = this.container?.group ?? context.cgroups.group(fileNameOf(spec.taskId));
    const mainPid = () => (this.isRunning ? this.started?.main.pid : undefined);
    const plans = new CommandPlans(context, { spec, sandbox: this.sandbox, runAs, mainPid, container: this.container });
    this.commands = new TaskCommands(context, {
      taskId: spec.taskId,
      folder: this.folder,
      plan: (order, record) => plans.plan(order, record),
      report: (report) => this.reports.sendCommand(report),
    });
    this.logs = new TaskLogs(context, { spec, sandbox: this.sandbox, runAs, processes: () => this.processes() });
    this.kill = new TaskKill(this.folder, this.sweeper());
    const { container, kill, group, commands, sandbox, reports } = this;
    const beside = (work: Promise<void>) => void this.unlessStopping(work);
    this.running = new RunningReport(context, {
      spec,
      sandbox,
      reports,
      container,
      kill,
      over: this.over.signal,
      endNow: (because) => this.requestKill(0, because),
      beside,
    });
    this.limits = new TaskLimits(context, {
      spec,
      group,
      commands,
      kill,
      isRunning: () => this.isRunning,
      processes: () => this.processes(),
      mainPid: () => (container ? container.mainPid : this.started?.main.pid),
      requestKill: (because) => this.requestKill(spec.killGraceMillis, because),
      beside,
    });
  }

  /** The newest state on disk. */
  get state(): TaskState {
    return this.reports.state;
  }

  get isRunning(): boolean {
    return this.started !== undefined && !this.over.signal.aborted;
  }

  /** What counts for its disk: its sandbox, and what a container has changed elsewhere. */
  get diskFolders(): string[] {
    return [this.sandbox.root, ...(this.container?.folders ?? [])];
  }

  /** The task's processes, except the shim. */
  processes(): ProcessStat[] {
    return processesOf(this.mark());
  }

  /** While the launch is written down the kernel gets ready. Should there be no start, the next agent removes the group. */
  expectStart(): void {
    if (!this.container) void this.context.cgroups.expectMoveInto(this.group, limitsOf(this.context, this.spec));
  }

  launch(): void {
    this.finished = this.untilAgentStops(() => this.prepareAndRun());
  }

  /** Takes up a task that an earlier agent left. Resolves when a kill that was under way is known of. */
  async adopt(): Promise<void> {
    await this.restoreKill();
    this.finished = this.untilAgentStops(async () => {
      await this.logs.adopt();
      await this.commands.failInterrupted();
      await this.goOnFromDisk();
    });
  }

  /** Ends a task of which no process can be left, as after a restart of the machine. */
  giveUp(outcome: Outcome): void {
    this.finished = this.untilAgentStops(async () => {
      await this.kill.endByForce();
      await this.commands.failInterrupted();
      await this.end(outcome);
    });
  }

  /** Resolves when the kill would survive a restart of the agent. Asked again, it may only shorten the grace. */
  async requestKill(graceMillis: number, because?: SavedKill['because']): Promise<void> {
    if (isTerminal(this.state)) return;
    const saved = this.kill.ask(graceMillis, because);
    this.preparing.abort();
    if (this.shim) this.kill.begin(this.over.signal);
    await saved;
  }

  /** Leaves the task alone: it runs on, and the next agent takes it up. */
  detach(): void {
    this.preparing.abort(new AgentStops());
    this.over.abort(new AgentStops());
    this.commands.detach();
    this.logs.detach();
  }

  private async prepareAndRun(): Promise<void> {
    if (!this.container) this.say(`Staging files, executor pid ${process.pid}`);
    const shim = await this.start().catch((cause: unknown) => this.failedToStart(cause));
    if (!shim) return;
    const started = await whenStarted(this.folder, shim, this.over.signal);
    await (started ? this.watch(started, shim.gone) : this.conclude(await shim.gone));
  }

  private async start(): Promise<Shim> {
    const { context, spec, folder, sandbox, group, runAs, preparing } = this;
    const start = { spec, folder, sandbox, group, runAs, signal: preparing.signal };
    const inContainer = containerStart(start, this.container, (message) => this.say(message));
    const shim = await (inContainer ? startContainer(context, inContainer) : prepareAndStart(context, start));
    this.shim = shim.identity;
    if (this.kill.isAsked) this.kill.begin(this.over.signal);
    return shim;
  }

  private say(message: string): void {
    void this.unlessStopping(this.reports.send('TASK_STARTING', message));
  }

  private async failedToStart(cause: unknown): Promise<undefined> {
    if (this.context.stopping.aborted) throw new AgentStops();
    await this.end(this.kill.isAsked ? killedBeforeStart : couldNotStart(cause));
  }

  private async goOnFromDisk(): Promise<void> {
    if (isTerminal(this.state)) return;
    await this.restoreKill();
    const hasExited = (await this.folder.readExit()) !== undefined;
    const hasBegun = (await this.folder.readStarted()) !== undefined;
    if (!hasExited && !hasBegun && (await this.folder.forbidStart())) return this.endUnstarted();
    const started = await this.folder.readStarted();
    if (started && isAlive(started.shim)) {
      this.shim = started.shim;
      return this.watch(started, whenAdoptedGone(this.folder, started.shim, this.over.signal));
    }
    // Without its shim: by now the number of its session may belong to other processes.
    this.shim = undefined;
    this.started = started;
    await this.conclude(undefined);
  }

  /** The shim, should there be one, has been told that the task must not start any more. */
  private async endUnstarted(): Promise<void> {
    await this.kill.endByForce();
    await this.end(this.kill.isAsked ? killedBeforeStart : neverStarted);
  }

  private async restoreKill(): Promise<void> {
    if (this.kill.isAsked) return;
    const saved = await this.folder.readKill();
    if (saved) this.kill.takeUp(saved, Date.now());
  }

  /** From the program's first moment until its shim has gone. */
  private async watch(started: StartedTask, gone: Promise<number | undefined>): Promise<void> {
    this.started = started;
    if (this.kill.isAsked) this.kill.begin(this.over.signal);
    void this.logs.begin();
    const running = this.unlessStopping(this.running.report(started));
    const shimStatus = await unlessAborted(gone, this.over.signal);
    this.over.abort();
    await running;
    await this.conclude(shimStatus);
  }

  /** The shim has gone: ends what is left of the task, then reports how it ended. */
  private async conclude(shimStatus: number | undefined): Promise<void> {
    const goneAt = monotonicMillis();
    this.over.abort();
    if (!(await this.kill.endLeftovers()))
      this.context.log.warn(`Task ${this.spec.taskId}: leaving a process behind that cannot be killed`);
    const contained = await this.container?.end();
    if (contained?.outOfMemory) this.limits.noteMemoryExceeded();
    // With a full disk there may be no file, but the shim's own status is the same.
    const exit = await this.folder.readExit();
    const exitCode = contained?.exitCode ?? exit?.status ?? shimStatus;
    if (this.started) await this.running.reportUnseen(this.started, exitCode, exit?.at);
    await this.end({ ...outcomeOf(this.facts(exitCode)), at: exit?.at ?? goneAt });
  }

  private facts(exitCode: number | undefined): EndFacts {
    const { spec } = this;
    return {
      exitCode,
      started: this.started !== undefined,
      waitingForHealthFile: this.running.isAwaitingHealthFile,
      successfulExitCodes: spec.successfulExitCodes,
      programIsShellLine: !spec.executorData && !spec.command.shell && isShellLine(spec.command.value),
      memoryExceededMb: this.limits.isMemoryExceeded ? spec.memoryMb : undefined,
      ...this.kill.facts(Date.now()),
    };
  }

  private end(outcome: Outcome & { at?: number }): Promise<void> {
    const { spec, sandbox, group, commands, logs, reports, runAs, container } = this;
    return endTask(this.context, { spec, sandbox, group, commands, logs, reports, runAs, container }, outcome);
  }

  private mark(): TaskMark {
    const hasStarted = this.started !== undefined;
    const cgroupPids = () => this.group.pids();
    return { shim: this.shim, sandbox: this.sandbox.root, cgroupPids, hasStarted, known: this.known };
  }

  private sweeper(): Sweeper {
    const { container, group, folder } = this;
    // Programs of the engine are in none of the task's cgroups.
    if (container)
      return new ContainerKiller(container, () => processesOf({ ...this.mark(), cgroupPids: () => undefined }), folder);
    return new Killer({ mark: () => this.mark(), main: () => this.started?.main, group }, folder);
  }

  /** Should something unforeseen happen, the task goes on from what is on disk, as after a restart of the agent. */
  private async untilAgentStops(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (cause) {
      if (this.context.stopping.aborted) return;
      this.context.log.error(`Task ${this.spec.taskId}: going on from what is on disk`, cause);
      await delay(startOverMillis);
      await this.untilAgentStops(() => this.goOnFromDisk());
    }
  }

  /** For what runs beside the task's life and must not fail unheard. */
  private async unlessStopping(work: Promise<void>): Promise<void> {
    await work.catch((cause: unknown) => {
      if (!this.context.stopping.aborted) this.context.log.error(`Task ${this.spec.taskId}`, cause);
    });
  }
}
