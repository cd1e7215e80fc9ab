import type { PlannedTask } from './task-planner.js';

/** Most tasks in one transaction: faster than more, and an API call on the same request waits milliseconds. */
export const mostTasks = 500;
/** From here on a batch ends where a request ends. */
const enoughTasks = 400;
/**
 * Characters of launches in one transaction. They travel as one text, which the engine limits to 512 million, and are held in memory
 * several times over; launches of 256 KiB each, the most that callers may ask for, are 64 in a batch. A longer one goes alone.
 */
export const mostCharacters = 16 * 1024 * 1024;
/** While one transaction waits for the disk, the next one is under way. */
const mostWriting = 2;

/** Collects what was planned into batches and has them written, while the next ones are decided. */
export class PlacementBatches {
  private planned: PlannedTask[] = [];
  private characters = 0;
  private readonly writing = new Set<Promise<void>>();
  private lastRequestId: string | undefined;
  private failure: { cause: unknown } | undefined;
  private incomplete = false;

  /** `write` answers whether all of the batch was written. */
  constructor(private readonly write: (planned: readonly PlannedTask[]) => Promise<boolean>) {}

  /** Tasks of one request come one after the other. */
  async add(task: PlannedTask): Promise<void> {
    const ended = this.planned.at(-1)?.taskId.requestId !== task.taskId.requestId;
    const isEnough = ended && this.planned.length >= enoughTasks;
    const isFull =
      this.planned.length >= mostTasks ||
      (this.planned.length > 0 && this.characters + task.document.length > mostCharacters);
    if (isEnough || isFull) await this.flush();
    this.planned.push(task);
    this.characters += task.document.length;
  }

  /** Resolves when everything is written; answers whether nothing was left out. */
  async end(): Promise<boolean> {
    if (this.planned.length > 0) await this.flush();
    await Promise.all(this.writing);
    if (this.failure) throw this.failure.cause;
    return !this.incomplete;
  }

  private async flush(): Promise<void> {
    const batch = this.planned;
    this.planned = [];
    this.characters = 0;
    // Two transactions on one request: the second one would find it held and leave it out.
    const sharesRequest = batch[0]!.taskId.requestId === this.lastRequestId;
    while (this.writing.size > (sharesRequest ? 0 : mostWriting - 1)) await Promise.race(this.writing);
    if (this.failure) throw this.failure.cause;
    this.lastRequestId = batch.at(-1)!.taskId.requestId;
    const written = this.writeBatch(batch).finally(() => this.writing.delete(written));
    this.writing.add(written);
  }

  private async writeBatch(batch: readonly PlannedTask[]): Promise<void> {
    try {
      if (!(await this.write(batch))) this.incomplete = true;
    } catch (cause) {
      this.failure ??= { cause };
    }
  }
}
