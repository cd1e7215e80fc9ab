import { Inject, Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { afterFailure, isBroken, type RetryRules } from '../../core/webhooks/delivery.js';
import { Database } from '../../platform/database/database.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { WebhookQueueRepository, type QueuedUpdate } from './webhook-queue.repository.js';

interface Mark {
  update: QueuedUpdate;
  /** Why it was not taken; absent: it was. */
  problem: string | undefined;
  now: number;
  done: () => void;
  failed: (cause: unknown) => void;
}

const marksPerTransaction = 100;
const hourMillis = 3_600_000;

export const retryRules = ({ webhooks }: Settings): RetryRules => ({
  firstRetryMillis: webhooks.firstRetryMillis,
  maxRetryMillis: webhooks.lastRetryMillis,
  breakerThreshold: 5,
  giveUpAfterMillis: webhooks.deleteUndeliverableWebhooksAfterHours * hourMillis,
  maxQueued: webhooks.maxQueuedUpdatesPerWebhook,
});

/**
 * Writes down what became of deliveries. Those that end while a transaction is under way go together into the next one:
 * a hundred receivers answering at once must not take all connections of the leader.
 */
@Injectable()
export class WebhookMarks {
  private readonly waiting: Mark[] = [];
  private writing = false;
  private readonly rules: RetryRules;

  constructor(
    private readonly db: Database,
    private readonly queue: WebhookQueueRepository,
    @Inject(SETTINGS) settings: Settings,
  ) {
    this.rules = retryRules(settings);
  }

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
          await this.queue.noteResults(tx, newestOf(batch));
          const taken = batch.filter(({ problem }) => problem === undefined);
          if (taken.length > 0) await this.delivered(tx, taken);
          for (const { update, problem, now } of batch) {
            if (problem !== undefined) await this.failed(tx, update, problem, now);
          }
        });
        for (const { done } of batch) done();
      } catch (cause) {
        for (const { failed } of batch) failed(cause);
      }
    }
    this.writing = false;
  }
  /** All in a few statements: they are what most deliveries end in. */
  private async delivered(tx: EntityManager, marks: readonly Mark[]): Promise<void> {
    const updates = marks.map(({ update }) => update);
    const recovered = await this.queue.endFailures(tx, [...new Set(updates.map(({ webhookId }) => webhookId))]);
    await this.queue.remove(tx, updates);
    for (const { update, now } of marks) {
      if (recovered.delete(update.webhookId) && isBroken(update.failuresInRow, this.rules)) {
        await this.queue.makeDue(tx, update.webhookId, new Date(now));
      }
    }
  }

  /** Puts it off, or makes it a dead letter. */
  private async failed(tx: EntityManager, update: QueuedUpdate, error: string, now: number): Promise<void> {
    const webhook = await this.queue.countFailure(tx, update.webhookId);
    if (!webhook) return;
    const attempts = update.attempts + 1;
    const next = afterFailure({ eventAt: update.eventAt, attempts, ...webhook }, this.rules, now, Math.random());
    if (next.nextProbeAt !== undefined) {
      await this.queue.leaveAloneUntil(tx, update.webhookId, new Date(next.nextProbeAt));
    }
    const until = next.kind === 'retry' ? next.nextAttemptAt : now;
    await this.queue.putOff(tx, update.id, attempts, error, new Date(until));
    if (next.kind === 'give-up') await this.queue.giveUp(tx, update.id, new Date(now));
  }
}

const newestOf = (batch: readonly Mark[]): Map<string, { at: Date; error: string | undefined }> =>
  new Map(batch.map(({ update, problem, now }) => [update.webhookId, { at: new Date(now), error: problem }]));
