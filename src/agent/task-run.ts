import { isTerminal, type TaskState } from '../core/model/enums.js';
import type { LaunchSpec } from '../cluster/cluster-driver.js';
import type { AgentContext } from './agent-context.js';
import type { TaskGroup } from './cgroups/cgroups.js';
import { commandOf, programName } from './command.js';
import { messageOf } from './files.js';
import { whenHealthFileComes } from './health-file.js';
import { isSuccess, outcomeOf, type EndFacts, type Outcome } from './outcome.js';
import { DeployFault } from './prepare/faults.js';
import { prepareSandbox } from './prepare/prepare.js';
import type { ProcessIdentity, ProcessStat } from './process-identity.js';
import { processesOf, type TaskMark } from './processes.js';
import type { RunAs } from './run-as.js';
import { sandboxOfSpec, type Sandbox } from './sandbox-layout.js';
import { startShim, whenAdoptedGone, whenStarted, type Shim } from './shim.js';
import { AgentStops, StatusReports } from './status-reports.js';
import { saveTail } from './tail-log.js';
import { bootstrapEnvironment, taskEnvironment } from './task-environment.js';
import { fileNameOf, TaskFolder, type SavedKill, type StartedTask } from './task-folder.js';
import { TaskKill } from './task-kill.js';
import { unlessAborted } from './unless-aborted.js';

const killedBeforeStart: Outcome = { state: 'TASK_KILLED', message: 'Killed before start' };

/** One task from its acceptance to its end: prepares, starts, watches, kills, reports. */
export class TaskRun {
  readonly sandbox: Sandbox;
  readonly group: TaskGroup;
  /** Resolves when the end is on disk, or when the agent stops before it. */
  finished: Promise<void> = Promise.resolve();
  private readonly folder: TaskFolder;
  private readonly reports: StatusReports;
  private readonly kill: TaskKill;
  private shim: ProcessIdentity | undefined;
  private started: StartedTask | undefined;
  private isWaitingForHealthFile = false;
  private memoryExceeded = false;
  /** Aborted by a kill, and when the agent stops. */
  private readonly preparing = new AbortController();
  /** Aborted when the shim has gone, and when the agent stops. */
  private readonly over = new AbortController();

  constructor(
    private readonly context: AgentContext,
    readonly spec: LaunchSpec,
  ) {
    this.folder = TaskFolder.live(context.folder, spec.taskId);
    this.sandbox = sandboxOfSpec(context.folder, spec);
    this.reports = new StatusReports(context, spec, this.sandbox.root);
    this.group = context.cgroups.group(fileNameOf(spec.taskId));
    this.kill = new TaskKill(this.folder, {
      mark: () => this.mark(),
      main: () => this.started?.main,
      group: this.group,
    });
  }

  /** The newest state on disk. */
  get state(): TaskState {
    return this.reports.state;
  }

  get isRunning(): boolean {
    return this.started !== undefined && !this.over.signal.aborted;
  }

  /** The task's processes, except the shim. */
  processes(): ProcessStat[] {
    return processesOf(this.mark());
  }

  launch(runAs: RunAs | undefined): void {
    this.finished = this.untilAgentStops(() => this.prepareAndRun(runAs));
  }

  /** Takes up a task that an earlier agent started. */
  adopt(started: StartedTask, kill: SavedKill | undefined): void {
    this.shim = started.shim;
    this.started = started;
    if (kill) this.kill.takeUp(kill, Date.now());
    this.finished = this.untilAgentStops(() =>
      this.watch(started, whenAdoptedGone(this.folder, started.shim, this.over.signal)),
    );
  }

  /** Takes up a task that was over when the agent came. */
  concludeFromDisk(started: StartedTask | undefined, kill: SavedKill | undefined): void {
    // Not its shim: by now the number of its session may be that of somebody else's.
    this.started = started;
    if (kill) this.kill.takeUp(kill, Date.now());
    this.finished = this.untilAgentStops(() => this.conclude(undefined));
  }

  /** Ends a task that never began, or whose processes nothing is known about. */
  giveUp(outcome: Outcome): void {
    this.finished = this.untilAgentStops(async () => {
      await this.kill.endByForce();
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
  }

  /** Where the kernel ends a task that exceeds its memory, it may end only one of its processes. */
  async checkMemory(): Promise<void> {
    if (!this.isRunning || this.memoryExceeded || this.group.outOfMemoryKills() === 0) return;
    this.memoryExceeded = true;
    await this.kill.endByForce();
  }

  async checkThreads(): Promise<void> {
    const limit = this.spec.executorData?.maxTaskThreads;
    if (limit === undefined || !this.isRunning || this.kill.isAsked) return;
    const seen = this.processes().reduce((sum, found) => sum + found.threads, 0);
    if (seen > limit) await this.requestKill(this.spec.killGraceMillis, { threads: { seen, limit } });
  }

  private async prepareAndRun(runAs: RunAs | undefined): Promise<void> {
    void this.untilAgentStops(() => this.reports.send('TASK_STARTING', `Staging files, executor pid ${process.pid}`));
    const shim = await this.prepareAndStart(runAs).catch((cause: unknown) => this.failedToStart(cause));
    if (!shim) return;
    const started = await whenStarted(this.folder, shim, this.over.signal);
    await (started ? this.watch(started, shim.gone) : this.conclude(await shim.gone));
  }

  private async prepareAndStart(runAs: RunAs | undefined): Promise<Shim> {
    const { context, spec, sandbox } = this;
    const { searchPath, shell } = context;
    const environment = taskEnvironment(spec, sandbox, runAs, searchPath);
    await prepareSandbox({ spec, sandbox, environment, runAs, shell, signal: this.preparing.signal });
    this.group.create(spec);
    const command = commandOf(spec, sandbox, runAs, shell);
    const shimEnvironment = sandbox.executor ? bootstrapEnvironment(environment, searchPath) : environment;
    // Nothing is awaited from this look until the process is there: no kill can come in between unseen.
    this.preparing.signal.throwIfAborted();
    const starting = startShim(context.scripts, this.folder, command, shimEnvironment, this.group.procsFiles);
    const shim = await starting;
    this.shim = shim.identity;
    if (this.kill.isAsked) this.kill.begin(this.over.signal);
    return shim;
  }

  private async failedToStart(cause: unknown): Promise<undefined> {
    if (this.context.stopping.aborted) throw new AgentStops();
    if (this.kill.isAsked) return void (await this.end(killedBeforeStart));
    await this.end({
      state: cause instanceof DeployFault ? 'TASK_FAILED' : 'TASK_LOST',
      message: messageOf(cause),
      reason: cause instanceof DeployFault ? undefined : 'REASON_CONTAINER_LAUNCH_FAILED',
    });
  }

  /** From the program's first moment until its shim has gone. */
  private async watch(started: StartedTask, gone: Promise<number | undefined>): Promise<void> {
    this.started = started;
    if (this.kill.isAsked) this.kill.begin(this.over.signal);
    const running = this.untilAgentStops(() => this.reportRunning(started));
    const shimStatus = await unlessAborted(gone, this.over.signal);
    this.over.abort();
    await running;
    await this.conclude(shimStatus);
  }

  private async reportRunning(started: StartedTask): Promise<void> {
    if (this.state === 'TASK_RUNNING') return;
    const file = this.spec.healthcheckResultFile;
    if (!file) return this.running(started);
    this.isWaitingForHealthFile = true;
    const answer = await whenHealthFileComes(file, this.sandbox, started.startedAt, this.over.signal);
    if (answer === 'FOUND') await this.running(started, ', health file found');
    if (answer === 'TOO_LATE') await this.requestKill(0, { healthFileMissingAfterSeconds: file.timeoutSeconds });
  }

  private async running(started: StartedTask, addition = ''): Promise<void> {
    this.isWaitingForHealthFile = false;
    const message = `Running ${programName(this.spec)} (pid ${started.main.pid})${addition}`;
    await this.reports.send('TASK_RUNNING', message);
  }

  /** The shim has gone: ends what is left of the task, then reports how it ended. */
  private async conclude(shimStatus: number | undefined): Promise<void> {
    this.over.abort();
    if (!(await this.kill.endLeftovers()))
      this.context.log.warn(`Task ${this.spec.taskId}: leaving a process behind that cannot be killed`);
    // With a full disk there may be no file, but the shim's own status is the same.
    const exitCode = (await this.folder.readExit()) ?? shimStatus;
    const isEarlySuccess = this.isWaitingForHealthFile && isSuccess(exitCode ?? 1, this.spec.successfulExitCodes);
    // A program that was done before its result file came did run: that is reported before its end.
    if (this.started && isEarlySuccess && !this.kill.isAsked) await this.running(this.started);
    await this.end(outcomeOf(this.facts(exitCode)));
  }

  private facts(exitCode: number | undefined): EndFacts {
    const { spec } = this;
    const isOutOfMemory = this.memoryExceeded || this.group.outOfMemoryKills() > 0;
    return {
      exitCode,
      started: this.started !== undefined,
      waitingForHealthFile: this.isWaitingForHealthFile,
      successfulExitCodes: spec.successfulExitCodes,
      memoryExceededMb: isOutOfMemory ? spec.memoryMb : undefined,
      ...this.kill.facts(Date.now()),
    };
  }

  private async end({ state, message, reason }: Outcome): Promise<void> {
    const { executor } = this.sandbox;
    if (executor && !this.spec.executorData?.skipLogrotateAndCompress)
      await this.tryTo('save the tail of the log', saveTail(executor));
    await this.reports.send(state, message, reason);
    await this.tryTo('remove the cgroup', this.group.remove());
  }

  private mark(): TaskMark {
    const hasStarted = this.started !== undefined;
    return { shim: this.shim, sandbox: this.sandbox.root, cgroupPids: () => this.group.pids(), hasStarted };
  }

  private async tryTo(what: string, work: Promise<void>): Promise<void> {
    await work.catch((cause: unknown) =>
      this.context.log.warn(`Task ${this.spec.taskId}: could not ${what}: ${messageOf(cause)}`),
    );
  }

  private async untilAgentStops(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (cause) {
      if (!this.context.stopping.aborted) this.context.log.error(`Task ${this.spec.taskId}: lost track of it`, cause);
    }
  }
}
