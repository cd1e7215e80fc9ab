import type { ReconciliationRun } from './statistics.js';

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

  /** Tasks that ended meanwhile drop out: nobody will ever answer for them. */
  keepOnly(isActive: (taskId: string) => boolean): void {
    for (const id of this.unanswered) if (!isActive(id)) this.unanswered.delete(id);
  }

  /** There is no giving up: a machine that is away is asked until it answers or its tasks are active no more. */
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
