import { undelivered } from '../completion/ended-task.js';
import { isTerminal, type TaskState } from '../model/enums.js';
import type { TaskReconciliationStatistics } from '../model/state.js';
import type { PerhapsRunning } from '../model/strategy.js';

/** A launched task in the state that the scheduler believes it in. */
export interface BelievedTask extends PerhapsRunning {
  taskId: string;
  slaveId: string;
  incarnation: string;
  state: TaskState;
  /** The machine has answered its launch: from then on it must know of it. */
  acknowledged: boolean;
}

interface FoundStatus {
  taskId: string;
  slaveId: string;
  state: TaskState;
  /** Incarnation of the machine that has it, or never got it; absent: it has no such task any more. */
  incarnation?: string;
  reason?: string;
  message: string;
}

/**
 * Compares a task with the list of its machine and returns a status to apply; undefined: nothing new. `listed`: its
 * state there, undefined when the machine does not have it. Believe a status only when all updates up to the list are
 * applied, and that a launch never came (`undelivered`) only when the machine has promised that it never will.
 */
export function compareTask(
  task: BelievedTask,
  listed: TaskState | undefined,
  incarnation: string,
): FoundStatus | undefined {
  if (task.incarnation !== incarnation) return undefined;
  const { taskId, slaveId } = task;
  if (task.ended) {
    const isInDoubt = task.mayRun || task.state === 'TASK_UNREACHABLE';
    if (listed === undefined && isInDoubt && !task.acknowledged)
      return { taskId, slaveId, ...undelivered, incarnation, message: 'Its slave is back and never got it' };
    if (listed === undefined || isTerminal(listed)) return undefined;
    const reason = 'REASON_AGENT_REREGISTERED';
    return { taskId, slaveId, state: listed, incarnation, reason, message: 'Its slave is back with it' };
  }
  if (listed === undefined) {
    // A launch that was not answered may still be on its way.
    if (!task.acknowledged) return undefined;
    return {
      taskId,
      slaveId,
      state: 'TASK_LOST',
      reason: 'REASON_RECONCILIATION',
      message: 'Its slave does not have it',
    };
  }
  if (listed === task.state) return undefined;
  return { taskId, slaveId, state: listed, incarnation, message: 'Found by reconciliation' };
}

/** One reconciliation, from its start until each task that was active then is answered or active no more. */
export class ReconciliationCycle {
  private readonly delays = new Map<string, number>();
  private readonly unanswered: Set<string>;
  private iterations = 0;

  constructor(
    readonly startedAt: number,
    activeTaskIds: Iterable<string>,
  ) {
    this.unanswered = new Set(activeTaskIds);
  }

  roundBegins(): void {
    this.iterations += 1;
  }

  /** A task counts once, with its first answer; one that began after the start does not count. */
  answered(taskIds: Iterable<string>, now: number): void {
    for (const id of taskIds) if (this.unanswered.delete(id)) this.delays.set(id, now - this.startedAt);
  }

  /** Tasks that ended meanwhile drop out: no machine will ever answer for them. */
  keepOnly(isActive: (taskId: string) => boolean): void {
    for (const id of this.unanswered) if (!isActive(id)) this.unanswered.delete(id);
  }

  /**
   * True when all have answered. There is no giving up: a machine that is away is asked until it answers or its tasks
   * are active no more.
   */
  get isDone(): boolean {
    return this.unanswered.size === 0;
  }

  get waitsFor(): ReadonlySet<string> {
    return this.unanswered;
  }

  ended(endedAt: number): ReconciliationRun {
    const delays = [...this.delays.values()];
    return { startedAt: this.startedAt, endedAt, iterations: this.iterations, delays };
  }
}

/** One comparison of our tasks with those of the machines. */
export interface ReconciliationRun {
  /** Epoch milliseconds. */
  startedAt: number;
  endedAt: number;
  /** Number of times the machines were asked until everything was answered. */
  iterations: number;
  /** Milliseconds from the start to the answer, one entry per task. */
  delays: readonly number[];
}

export function reconciliationStatistics(run: ReconciliationRun): TaskReconciliationStatistics {
  const sorted = run.delays.toSorted((a, b) => a - b);
  const count = sorted.length;
  const mean = count === 0 ? 0 : sorted.reduce((sum, delay) => sum + delay, 0) / count;
  const variance = count === 0 ? 0 : sorted.reduce((sum, delay) => sum + (delay - mean) ** 2, 0) / count;
  /** The smallest delay that the share of all is not above. */
  const percentile = (share: number): number => sorted[Math.max(0, Math.ceil(share * count) - 1)] ?? 0;
  return {
    taskReconciliationStartedAt: run.startedAt,
    taskReconciliationDurationMillis: run.endedAt - run.startedAt,
    taskReconciliationIterations: run.iterations,
    taskReconciliationResponseCount: count,
    taskReconciliationResponseMax: sorted.at(-1) ?? 0,
    taskReconciliationResponseMean: mean,
    taskReconciliationResponseMin: sorted[0] ?? 0,
    taskReconciliationResponseP50: percentile(0.5),
    taskReconciliationResponseP75: percentile(0.75),
    taskReconciliationResponseP95: percentile(0.95),
    taskReconciliationResponseP98: percentile(0.98),
    taskReconciliationResponseP99: percentile(0.99),
    taskReconciliationResponseP999: percentile(0.999),
    taskReconciliationResponseStddev: Math.sqrt(variance),
  };
}
