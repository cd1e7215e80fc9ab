import type { LaunchSpec } from '../../core/model/launch.js';
import type { TaskContext } from './task-context.js';
import type { TaskGroup } from '../cgroups/cgroups.js';
import { messageOf } from '../../platform/files.js';
import type { ProcessStat } from '../processes/process-identity.js';
import type { LocalClusterSettings } from '../settings.js';
import type { TaskCommands } from '../shell-commands/task-commands.js';
import type { SavedKill } from '../state/task-directory.js';
import type { TaskKill } from './task-kill.js';

interface LimitedTask {
  spec: LaunchSpec;
  group: TaskGroup;
  commands: TaskCommands;
  kill: TaskKill;
  isRunning(): boolean;
  processes(): ProcessStat[];
  /** undefined: it has not begun, or has ended. */
  mainPid(): number | undefined;
  requestKill(because: SavedKill['because']): Promise<void>;
  /** For work that is not waited for. */
  beside(work: Promise<void>): void;
}

/** Limits of a running task that the agent has to check from time to time. */
export class TaskLimitWatch {
  private memoryExceeded = false;
  private tooManyThreads = false;

  constructor(
    private readonly context: TaskContext,
    private readonly task: LimitedTask,
  ) {}

  get isMemoryExceeded(): boolean {
    return this.memoryExceeded || this.task.group.outOfMemoryKills() > 0;
  }

  noteMemoryExceeded(): void {
    this.memoryExceeded = true;
  }

  /** Checks for processes ended for want of memory: the kernel may end only one of a task's processes. */
  async checkMemory(): Promise<void> {
    const { task } = this;
    if (!task.isRunning() || this.memoryExceeded || !this.isMemoryExceeded) return;
    this.memoryExceeded = true;
    await task.kill.endByForce();
  }

  checkThreads(): void {
    const { task } = this;
    const limit = task.spec.executorData?.maxTaskThreads ?? this.context.settings.maxTaskThreads;
    if (limit === undefined || !task.isRunning() || task.kill.isAsked || this.tooManyThreads) return;
    const { threadCheckerType } = this.context.settings;
    const seen = countedThreads(task.processes(), task.mainPid(), threadCheckerType);
    if (seen <= limit) return;
    this.tooManyThreads = true;
    // Beside the checks, which go on for all other tasks however long the command takes.
    task.beside(this.killForThreads({ seen, limit }));
  }

  /** The kill follows whether or not the command before it worked. */
  private async killForThreads(threads: { seen: number; limit: number }): Promise<void> {
    const { commands, spec, requestKill } = this.task;
    const before = this.context.settings.runShellCommandBeforeKillDueToThreads;
    const warn = (cause: unknown) =>
      this.context.log.warn(`Task ${spec.taskId}: could not run a command: ${messageOf(cause)}`);
    if (before) await commands.runToEnd(before).catch(warn);
    await requestKill({ threads });
  }
}

/** Threads of a task: of all its processes, or of the first one alone. */
export function countedThreads(
  processes: readonly ProcessStat[],
  mainPid: number | undefined,
  type: LocalClusterSettings['threadCheckerType'],
): number {
  const counted = type === 'CGROUP' ? processes : processes.filter(({ pid }) => pid === mainPid);
  return counted.reduce((sum, { threads }) => sum + threads, 0);
}
