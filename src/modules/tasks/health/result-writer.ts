import { setTimeout as delay } from 'node:timers/promises';
import type { TaskId } from '../../../core/model/task.js';

/** Least time from the start of one batch to the start of the next: a commit for each result would be most of the work. */
const betweenBatchesMillis = 100;

/**
 * Stores results together: whatever arrives while one batch is being written, or too soon after it began, goes with the
 * next. A batch that cannot be stored is given up; its tasks are then asked again.
 */
export class ResultWriter<T extends { taskId: Pick<TaskId, 'id'> }> {
  private waiting: T[] = [];
  private next: Promise<ReadonlySet<string>> | undefined;
  private last: Promise<unknown> = Promise.resolve();
  private lastBegan = Number.NEGATIVE_INFINITY;

  constructor(
    /** Answers the ids of the tasks whose results were stored. */
    private readonly store: (batch: readonly T[]) => Promise<readonly string[]>,
    private readonly failed: (cause: unknown) => void,
  ) {}

  /** Resolves to whether the result was stored: that of a task that has ended, or was settled by others, is not. */
  async add(result: T): Promise<boolean> {
    this.waiting.push(result);
    if (!this.next) this.last = this.next = this.last.then(() => this.writeWaiting());
    return (await this.next).has(result.taskId.id);
  }

  private async writeWaiting(): Promise<ReadonlySet<string>> {
    const pause = this.lastBegan + betweenBatchesMillis - performance.now();
    if (pause > 0) await delay(pause);
    this.lastBegan = performance.now();
    const batch = this.waiting;
    this.waiting = [];
    this.next = undefined;
    try {
      return new Set(await this.store(batch));
    } catch (cause) {
      this.failed(cause);
      return new Set();
    }
  }
}
