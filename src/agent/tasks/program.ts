import { join } from 'node:path';
import type { ProgramReport } from '../../cluster/cluster-driver.js';
import type { ProgramRole } from '../../core/model/enums.js';
import type { LaunchSpec, ProgramOfLaunch } from '../../core/model/launch.js';
import { unlessAborted } from '../../platform/async.js';
import { ensureFolder, namesIn } from '../../platform/files.js';
import { monotonicMillis } from '../../platform/monotonic.js';
import type { TaskGroup } from '../cgroups/cgroups.js';
import { beganAt, isAlive, type ProcessStat } from '../processes/process-identity.js';
import { programVariable, variableOf } from '../processes/processes.js';
import type { RunAs } from '../processes/run-as.js';
import type { Sandbox } from '../sandbox/sandbox-layout.js';
import { whenRestoredGone, whenStarted } from '../shim/shim.js';
import { startProgram } from '../shim/start-task.js';
import { TaskDirectory } from '../state/task-directory.js';
import type { StatusReports } from './status-reports.js';
import type { TaskContext } from './task-context.js';
import { Killer } from './task-kill.js';
import { TaskProcesses } from './task-processes.js';

/** The task of a program around the main one. */
export interface ProgramTask {
  spec: LaunchSpec;
  /** Of the task. */
  directory: TaskDirectory;
  sandbox: Sandbox;
  group: TaskGroup;
  runAs: RunAs | undefined;
  reports: StatusReports;
}

export interface ProgramEnd {
  /** False: it could not be started. */
  hasBegun: boolean;
  /** undefined: its shim was gone before it could write it. */
  exitCode: number | undefined;
  /** It was killed, because it took longer than it may. */
  isLate: boolean;
  /** It was told to end before. */
  isKilled: boolean;
}

/** One start of a program. */
interface ProgramStart {
  directory: TaskDirectory;
  processes: TaskProcesses;
  killer: Killer;
  /** Resolves when its shim has gone. */
  gone: Promise<number | undefined>;
}

/** Directory of the starts of a program, each in a directory named by its number. */
const directoryOf = (task: Pick<TaskDirectory, 'path'>, name: string): string => join(task.path, 'programs', name);

/** True when a program around the main one of the task was ever about to be started. */
export const hasStartedPrograms = async (task: TaskDirectory): Promise<boolean> =>
  (await namesIn(join(task.path, 'programs'))).length > 0;

/**
 * One program around the main one. Each start has control files of its own, as the main program has, and so begins once at most; a start
 * that an earlier agent left is taken up before there is another.
 */
export class Program {
  private current: ProgramStart | undefined;
  private number = 0;
  /** The start that an earlier agent left. */
  private left: Promise<ProgramStart | undefined> | undefined;
  private isTakenUp = false;
  /** On the clock of performance.now; asked each time. undefined: it is not to end. */
  private deadline: (() => number) | undefined;
  private sweeping: Promise<void> | undefined;
  private isDetached = false;

  constructor(
    private readonly context: TaskContext,
    private readonly task: ProgramTask,
    readonly spec: ProgramOfLaunch,
    readonly role: ProgramRole,
    /** Longest run; absent: no limit. */
    readonly timeoutMillis?: number,
  ) {}

  get isRunning(): boolean {
    return this.current !== undefined;
  }

  /** True of its processes, while it runs. */
  owns = ({ pid, session }: ProcessStat): boolean => {
    const shim = this.current?.processes.shim;
    return shim !== undefined && (session === shim.pid || variableOf(pid, programVariable) === this.spec.name);
  };

  isShim = ({ pid }: ProcessStat): boolean => this.current?.processes.shim?.pid === pid;

  /**
   * Runs it to its end, and ends what it leaves behind. Takes up the start that an earlier agent left, even one that has ended by now; once it is
   * there, or could not be, `hasBegun` is called. Throws the reason of `mayBegin` if that is aborted before.
   */
  async run(mayBegin: AbortSignal, hasBegun: () => void = () => undefined): Promise<ProgramEnd> {
    await this.adopt();
    const left = this.isTakenUp ? undefined : await this.left;
    this.isTakenUp = true;
    const start = left ?? (await this.begin(mayBegin));
    // It may have been told to end before it was known here.
    if (this.deadline) this.end(this.deadline);
    const { started } = start.processes;
    if (started) await this.report('RUNNING');
    hasBegun();
    const late = started && this.limit(beganAt(started.main));
    try {
      const shimStatus = await unlessAborted(start.gone, start.processes.over.signal);
      start.processes.over.abort();
      await this.sweeping;
      if (!(await start.killer.sweepUntilEmpty(this.deadline ?? (() => 0))))
        this.context.log.warn(`Task ${this.task.spec.taskId}: a process of ${this.spec.name} cannot be killed`);
      const exit = await start.directory.readExit();
      const isLate = late?.isOver() ?? false;
      const isKilled = !isLate && this.deadline !== undefined;
      return { hasBegun: started !== undefined, exitCode: exit?.status ?? shimStatus, isLate, isKilled };
    } finally {
      clearTimeout(late?.timer);
      if (!this.isDetached) this.current = undefined;
    }
  }

  /** Finds out what an earlier agent left of it, so that its processes are known. */
  async adopt(): Promise<void> {
    await (this.left ??= this.takeUp());
  }

  /** Asks it to end, and kills it at the deadline. Called again, the deadline changes. */
  end(deadline: () => number): void {
    this.deadline = deadline;
    const { current } = this;
    if (!current) return;
    this.sweeping ??= current.killer.sweepUntil(current.processes.over.signal, () => this.deadline?.() ?? 0);
  }

  /** The next agent takes it up. */
  detach(): void {
    this.isDetached = true;
    this.current?.processes.detach();
  }

  /** Resolves when it is on disk. */
  report(state: ProgramReport['state'], { exitCode, message }: { exitCode?: number; message?: string } = {}) {
    const { name } = this.spec;
    return this.task.reports.sendProgram({ name, role: this.role, state, starts: this.number, exitCode, message });
  }

  /** undefined: there is none, or it never began and never will. */
  private async takeUp(): Promise<ProgramStart | undefined> {
    const names = await namesIn(directoryOf(this.task.directory, this.spec.name));
    this.number = Math.max(0, ...names.map(Number));
    if (this.number === 0) return undefined;
    const start = this.newStart();
    const hasEnded = (await start.directory.readExit()) !== undefined;
    const hasBegun = (await start.directory.readStarted()) !== undefined;
    if (!hasEnded && !hasBegun && (await start.directory.forbidStart())) return undefined;
    const started = await start.directory.readStarted();
    start.processes.started = started;
    this.current = start;
    if (!started || !isAlive(started.shim)) return start;
    start.processes.shim = started.shim;
    start.gone = whenRestoredGone(start.directory, started.shim, start.processes.over.signal);
    return start;
  }

  private async begin(mayBegin: AbortSignal): Promise<ProgramStart> {
    mayBegin.throwIfAborted();
    this.number += 1;
    this.deadline = undefined;
    this.sweeping = undefined;
    const start = this.newStart();
    const { directory, processes } = start;
    await ensureFolder(directory.path, 0o700);
    mayBegin.throwIfAborted();
    this.current = start;
    const shim = await startProgram(this.context, { ...this.task, directory, signal: mayBegin }, this.spec);
    processes.shim = shim.identity;
    start.gone = shim.gone;
    processes.started = await whenStarted(directory, shim, processes.over.signal);
    // Of a sidecar that ends again and again only the newest start is kept. A shim without its directory starts nothing.
    if (this.number > 1) await this.directoryAt(this.number - 1).remove();
    return start;
  }

  private directoryAt(number: number): TaskDirectory {
    return TaskDirectory.at(join(directoryOf(this.task.directory, this.spec.name), String(number)));
  }

  private newStart(): ProgramStart {
    const { task } = this;
    const directory = this.directoryAt(this.number);
    const processes = new TaskProcesses(task.sandbox.root, task.group, (found) => this.owns(found));
    // All of a group goes at once, and it has other programs of the task.
    const group = { killAll: () => undefined };
    const target = {
      mark: () => processes.mark(),
      main: () => processes.started?.main,
      group,
      signal: 'SIGTERM' as const,
    };
    return { directory, processes, killer: new Killer(target, directory), gone: Promise.resolve(undefined) };
  }

  /** Counted from its beginning, whichever agent has seen that. */
  private limit(began: number): { timer: NodeJS.Timeout; isOver: () => boolean } | undefined {
    if (this.timeoutMillis === undefined) return undefined;
    let isOver = false;
    const kill = () => {
      isOver = true;
      this.end(() => 0);
    };
    const left = began + this.timeoutMillis - monotonicMillis();
    return { timer: setTimeout(kill, Math.max(0, left)), isOver: () => isOver };
  }
}
