import { setTimeout as delay } from 'node:timers/promises';
import { isTerminal, type TaskState } from '../../core/model/enums.js';
import type { LaunchSpec } from '../../core/model/launch.js';
import { monotonicMillis } from '../../platform/monotonic.js';
import { unlessAborted } from '../../platform/async.js';
import type { TaskGroup } from '../cgroups/cgroups.js';
import { containerStart, startContainer } from '../containers/start-container.js';
import type { TaskContainer } from '../containers/task-container.js';
import type { TaskLogs } from '../logs/task-logs.js';
import { isAlive, type ProcessStat } from '../processes/process-identity.js';
import type { RunAs } from '../processes/run-as.js';
import type { Sandbox } from '../sandbox/sandbox-layout.js';
import type { TaskCommands } from '../shell-commands/task-commands.js';
import { isShellLine } from '../shim/command.js';
import { type Shim, whenRestoredGone, whenStarted } from '../shim/shim.js';
import { limitsOf, prepare, startMain, type TaskStart } from '../shim/start-task.js';
import type { SavedKill, SavedOutcome, StartedTask, TaskDirectory } from '../state/task-directory.js';
import { AgentStops } from '../state/updates-log.js';
import {
  type EndFacts,
  killedBeforeStart,
  type TaskOutcome,
  outcomeOf,
  outcomeOfFailedStart,
  StepFailed,
} from './outcome.js';
import { hasStartedPrograms } from './program.js';
import type { TaskPrograms } from './programs.js';
import type { RunningReport } from './running-report.js';
import type { StatusReports } from './status-reports.js';
import type { TaskContext } from './task-context.js';
import { endTask } from './task-end.js';
import type { TaskKill } from './task-kill.js';
import type { TaskLimitWatch } from './task-limits.js';
import type { TaskProcesses } from './task-processes.js';

const neverStarted: TaskOutcome = {
  state: 'TASK_LOST',
  message: 'The agent ended before the task was started',
  reason: 'REASON_AGENT_RESTARTED',
};
const startOverMillis = 1_000;

/** The parts of a run. Each knows those above it at most. */
interface TaskParts {
  spec: LaunchSpec;
  /** undefined: the agent's own user. */
  runAs: RunAs | undefined;
  directory: TaskDirectory;
  sandbox: Sandbox;
  reports: StatusReports;
  /** undefined: it is processes of the machine. */
  container: TaskContainer | undefined;
  group: TaskGroup;
  processes: TaskProcesses;
  kill: TaskKill;
  /** undefined: there is none around the main one. */
  programs: TaskPrograms | undefined;
  commands: TaskCommands;
  logs: TaskLogs;
  running: RunningReport;
  limits: TaskLimitWatch;
}

/** One task from its acceptance to its end: prepares, starts, watches, kills, reports. Made by `createTaskRun`. */
export class TaskRun {
  readonly spec: LaunchSpec;
  readonly sandbox: Sandbox;
  readonly group: TaskGroup;
  readonly commands: TaskCommands;
  readonly logs: TaskLogs;
  readonly limits: TaskLimitWatch;
  /** Resolves when the end is on disk, or when the agent stops before it. */
  finished: Promise<void> = Promise.resolve();
  private readonly runAs: RunAs | undefined;
  private readonly directory: TaskDirectory;
  private readonly reports: StatusReports;
  private readonly container: TaskContainer | undefined;
  private readonly processTable: TaskProcesses;
  private readonly kill: TaskKill;
  private readonly programs: TaskPrograms | undefined;
  private readonly running: RunningReport;

  constructor(
    private readonly context: TaskContext,
    parts: TaskParts,
  ) {
    this.spec = parts.spec;
    this.sandbox = parts.sandbox;
    this.group = parts.group;
    this.commands = parts.commands;
    this.logs = parts.logs;
    this.limits = parts.limits;
    this.runAs = parts.runAs;
    this.directory = parts.directory;
    this.reports = parts.reports;
    this.container = parts.container;
    this.processTable = parts.processes;
    this.kill = parts.kill;
    this.programs = parts.programs;
    this.running = parts.running;
  }

  /** The newest state on disk. */
  get state(): TaskState {
    return this.reports.state;
  }

  get isRunning(): boolean {
    return this.processTable.isRunning;
  }

  /** Directories that count for its disk: its sandbox, and those that a container has changed elsewhere. */
  get diskDirectories(): string[] {
    return [this.sandbox.root, ...(this.container?.directories ?? [])];
  }

  /** The task's processes, except the shim. */
  processes(): ProcessStat[] {
    return this.processTable.list();
  }

  /** While the launch is written down the kernel gets ready. Should there be no start, the next agent removes the group. */
  expectStart(): void {
    if (!this.container) void this.context.cgroups.expectMoveInto(this.group, limitsOf(this.context, this.spec));
  }

  launch(): void {
    this.finished = this.untilAgentStops(() => this.prepareAndRun());
  }

  /** Takes up a task that an earlier agent left. Resolves when a kill that was under way is known of. */
  async restore(): Promise<void> {
    await this.restoreKill();
    this.finished = this.untilAgentStops(async () => {
      await this.logs.restore();
      await this.commands.failInterrupted();
      await this.goOnFromDisk();
    });
  }

  /** Ends a task of which no process can be left, as after a restart of the machine. */
  giveUp(outcome: TaskOutcome): void {
    this.finished = this.untilAgentStops(async () => {
      await this.kill.endByForce();
      await this.commands.failInterrupted();
      await this.end((await this.directory.readOutcome()) ?? outcome);
    });
  }

  /** Resolves when the kill would survive a restart of the agent. Asked again, it may only shorten the grace. */
  requestKill(graceMillis: number, because?: SavedKill['because']): Promise<void> {
    return this.kill.request(graceMillis, because);
  }

  /** Leaves the task alone: it runs on, and the next agent takes it up. */
  detach(): void {
    this.processTable.detach();
    this.programs?.detach();
    this.commands.detach();
    this.logs.detach();
  }

  private async prepareAndRun(): Promise<void> {
    if (!this.container) this.say(`Staging files, executor pid ${process.pid}`);
    await this.runMain(() => this.start());
  }

  private async runMain(start: () => Promise<Shim>): Promise<void> {
    const shim = await start().catch((cause: unknown) => this.failedToStart(cause));
    if (!shim) return;
    const started = await whenStarted(this.directory, shim, this.processTable.over.signal);
    await (started ? this.watch(started, shim.gone) : this.conclude(await shim.gone));
  }

  private async start(): Promise<Shim> {
    const { context } = this;
    const start = this.startOfMain();
    const inContainer = containerStart(start, this.container, (message) => this.say(message));
    if (inContainer) return this.begun(await startContainer(context, inContainer));
    await prepare(context, start);
    return this.startAfterInit();
  }

  /** The sandbox is prepared. Goes on with the init step that is next. */
  private async startAfterInit(): Promise<Shim> {
    await this.programs?.before();
    return this.begun(await startMain(this.context, this.startOfMain()));
  }

  private startOfMain(): TaskStart {
    const { spec, directory, sandbox, group, runAs } = this;
    return { spec, directory, sandbox, group, runAs, signal: this.processTable.preparing.signal };
  }

  private begun(shim: Shim): Shim {
    this.processTable.shim = shim.identity;
    if (this.kill.isAsked) this.kill.begin();
    return shim;
  }

  private say(message: string): void {
    void this.unlessStopping(this.reports.send('TASK_STARTING', message));
  }

  private async failedToStart(cause: unknown): Promise<undefined> {
    if (this.context.stopping.aborted) throw new AgentStops();
    const isOfAgent = this.kill.isAsked || (cause instanceof StepFailed && this.limits.isMemoryExceeded);
    const outcome = isOfAgent ? outcomeOf(this.facts(undefined)) : outcomeOfFailedStart(cause);
    await this.endAround({ ...outcome, hasRun: false });
  }

  private async goOnFromDisk(): Promise<void> {
    if (isTerminal(this.state)) return;
    await this.restoreKill();
    const outcome = await this.directory.readOutcome();
    if (outcome) return this.endAround(outcome);
    if (await this.isBeforeMain()) return this.goOnBeforeMain();
    await this.programs?.adoptSidecars();
    const hasExited = (await this.directory.readExit()) !== undefined;
    const hasBegun = (await this.directory.readStarted()) !== undefined;
    if (!hasExited && !hasBegun && (await this.directory.forbidStart())) return this.endUnstarted();
    const started = await this.directory.readStarted();
    if (started && isAlive(started.shim)) {
      this.processTable.shim = started.shim;
      if (this.programs) void this.unlessStopping(this.programs.beginSidecars());
      return this.watch(started, whenRestoredGone(this.directory, started.shim, this.processTable.over.signal));
    }
    // Without its shim: by now the number of its session may belong to other processes.
    this.processTable.shim = undefined;
    this.processTable.started = started;
    await this.conclude(undefined);
  }

  /** A program around the main one was started, and the main one was not. */
  private async isBeforeMain(): Promise<boolean> {
    if (!this.programs || (await this.directory.isStarting())) return false;
    return hasStartedPrograms(this.directory);
  }

  private async goOnBeforeMain(): Promise<void> {
    if (this.kill.isAsked) this.processTable.preparing.abort();
    await this.runMain(() => this.startAfterInit());
  }

  /** The shim, should there be one, has been told that the task must not start any more. */
  private async endUnstarted(): Promise<void> {
    const outcome = this.kill.isAsked ? killedBeforeStart : neverStarted;
    if (this.programs) return this.endAround({ ...outcome, hasRun: false });
    await this.kill.endByForce();
    await this.end(outcome);
  }

  private async restoreKill(): Promise<void> {
    if (this.kill.isAsked) return;
    const saved = await this.directory.readKill();
    if (saved) this.kill.restore(saved, Date.now());
  }

  /** From the program's first moment until its shim has gone. */
  private async watch(started: StartedTask, gone: Promise<number | undefined>): Promise<void> {
    this.processTable.started = started;
    if (this.kill.isAsked) this.kill.begin();
    void this.logs.begin();
    const running = this.unlessStopping(this.running.report(started));
    const shimStatus = await unlessAborted(gone, this.processTable.over.signal);
    this.processTable.over.abort();
    await running;
    await this.conclude(shimStatus);
  }

  /** The shim has gone: ends what is left of the task, then reports how it ended. */
  private async conclude(shimStatus: number | undefined): Promise<void> {
    const goneAt = monotonicMillis();
    this.processTable.over.abort();
    if (!(await this.kill.endLeftovers()))
      this.context.log.warn(`Task ${this.spec.taskId}: leaving a process behind that cannot be killed`);
    const contained = await this.container?.end();
    if (contained?.outOfMemory) this.limits.noteMemoryExceeded();
    // With a full disk there may be no file, but the shim's own status is the same.
    const exit = await this.directory.readExit();
    const exitCode = contained?.exitCode ?? exit?.status ?? shimStatus;
    const { started } = this.processTable;
    if (started) await this.running.reportUnseen(started, exitCode, exit?.at);
    const outcome = outcomeOf(this.facts(exitCode));
    await this.endAround({ ...outcome, at: exit?.at ?? goneAt, hasRun: started !== undefined });
  }

  /** The main program is over: ends the sidecars, then runs the post steps of one that has run, then ends the task. */
  private async endAround(outcome: SavedOutcome): Promise<void> {
    const { programs, reports, directory } = this;
    if (!programs?.endsLater) return this.end(outcome);
    await directory.saveOutcome(outcome);
    if (outcome.hasRun && reports.state !== 'TASK_KILLING')
      await reports.send('TASK_KILLING', `The main program is over: ${outcome.message}`, { at: outcome.at });
    await programs.endSidecars();
    const { message } = outcome.hasRun ? await programs.runPost(outcome) : outcome;
    await this.kill.endByForce();
    await this.end({ ...outcome, message, at: undefined });
  }

  private facts(exitCode: number | undefined): EndFacts {
    const { spec } = this;
    return {
      exitCode,
      started: this.processTable.started !== undefined,
      waitingForHealthFile: this.running.isAwaitingHealthFile,
      successfulExitCodes: spec.successfulExitCodes,
      programIsShellLine: !spec.executorData && !spec.command.shell && isShellLine(spec.command.value),
      memoryExceededMb: this.limits.isMemoryExceeded ? spec.memoryMb : undefined,
      ...this.kill.facts(Date.now()),
    };
  }

  private end(outcome: TaskOutcome & { at?: number }): Promise<void> {
    const { spec, sandbox, group, commands, logs, reports, runAs, container } = this;
    return endTask(this.context, { spec, sandbox, group, commands, logs, reports, runAs, container }, outcome);
  }

  /** Should something unforeseen happen, the task goes on from what is on disk, as after a restart of the agent. */
  private async untilAgentStops(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (cause) {
      if (this.context.stopping.aborted) return;
      this.context.log.error(`Task ${this.spec.taskId}: continuing from the files on disk`, cause);
      await delay(startOverMillis);
      await this.untilAgentStops(() => this.goOnFromDisk());
    }
  }

  private async unlessStopping(work: Promise<void>): Promise<void> {
    await unlessStopping(this.context, this.spec.taskId, work);
  }
}

/** For what runs beside the life of a task and must not fail unheard. */
export async function unlessStopping(
  { stopping, log }: Pick<TaskContext, 'stopping' | 'log'>,
  taskId: string,
  work: Promise<void>,
): Promise<void> {
  await work.catch((cause: unknown) => {
    if (!stopping.aborted) log.error(`Task ${taskId}`, cause);
  });
}
