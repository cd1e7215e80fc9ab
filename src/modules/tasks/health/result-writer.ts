import type { TaskHealthcheckResult } from '../../../core/model/task.js';

/**
 * Stores results together: whatever arrives while one batch is being written goes with the next. A batch that cannot be
 * stored is given up; its tasks are then asked again.
 */
export class ResultWriter {
  private waiting: TaskHealthcheckResult[] = [];
  private next: Promise<void> | undefined;
  private last: Promise<void> = Promise.resolve();

  constructor(
    private readonly store: (batch: readonly TaskHealthcheckResult[]) => Promise<void>,
    private readonly failed: (cause: unknown) => void,
  ) {}

  /** Resolves when the result is stored or given up. */
  add(result: TaskHealthcheckResult): Promise<void> {
    this.waiting.push(result);
    if (!this.next) this.last = this.next = this.last.then(() => this.writeWaiting());
    return this.next;
  }

  private async writeWaiting(): Promise<void> {
    const batch = this.waiting;
    this.waiting = [];
    this.next = undefined;
    await this.store(batch).catch(this.failed);
  }
}
