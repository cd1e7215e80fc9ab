import { Injectable } from '@nestjs/common';
import { Database } from '../../platform/database/database.js';
import { WebhookQueue, type QueuedUpdate } from './webhook-queue.service.js';

interface Mark {
  update: QueuedUpdate;
  /** Why it was not taken; absent: it was. */
  problem: string | undefined;
  now: number;
  done: () => void;
  failed: (cause: unknown) => void;
}

const marksPerTransaction = 100;

/**
 * Writes down what became of deliveries. Those that end while a transaction is under way go together into the next one:
 * a hundred receivers answering at once must not take all connections of the leader.
 */
@Injectable()
export class WebhookMarks {
  private readonly waiting: Mark[] = [];
  private writing = false;

  constructor(
    private readonly db: Database,
    private readonly queue: WebhookQueue,
  ) {}

  /** Resolves after the commit. */
  mark(update: QueuedUpdate, problem: string | undefined, now: number): Promise<void> {
    return new Promise((done, failed) => {
      this.waiting.push({ update, problem, now, done, failed });
      void this.write();
    });
  }

  private async write(): Promise<void> {
    if (this.writing) return;
    this.writing = true;
    while (this.waiting.length > 0) {
      const batch = this.waiting.splice(0, marksPerTransaction);
      try {
        await this.db.leaderTransaction(async (tx) => {
          for (const { update, problem, now } of batch) {
            if (problem === undefined) await this.queue.delivered(tx, update, now);
            else await this.queue.failed(tx, update, problem, now);
          }
        });
        for (const { done } of batch) done();
      } catch (cause) {
        for (const { failed } of batch) failed(cause);
      }
    }
    this.writing = false;
  }
}
