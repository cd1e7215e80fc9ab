import { Inject, Injectable, Logger } from '@nestjs/common';
import { hasPassed } from '../../core/elapsed.js';
import { afterFailure, isBroken, type RetryRules } from '../../core/webhooks/delivery.js';
import { Database } from '../../platform/database/database.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { WebhookQueueRepository, type QueuedUpdate } from './webhook-queue.repository.js';

interface Mark {
  update: QueuedUpdate;
  /** The reason for which it was not taken; absent: it was. */
  problem: string | undefined;
  now: number;
  done: () => void;
  failed: (cause: unknown) => void;
}

const marksPerTransaction = 100;
/** A webhook that fails now and then is told of so often. */
const tellAgainMillis = 600_000;
/** Number of failed webhooks beyond which the log repeats them. */
const mostTold = 1_000;
/** The part of a webhook's id that may appear in a log: the rest of its address may be a secret. */
const shownId = (webhookId: string): string => {
  const [, type = '', uri = ''] = /^(\w+)-(.*)$/s.exec(webhookId) ?? [];
  return `for ${type} at ${URL.canParse(decoded(uri)) ? new URL(decoded(uri)).origin : 'its address'}`;
};
const decoded = (uri: string): string => {
  try {
    return decodeURIComponent(uri);
  } catch {
    return uri;
  }
};
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
  private readonly log = new Logger('Webhooks');
  /** By webhook: the time of the last line in the log about it, and whether that line said that the webhook is down. */
  private readonly told = new Map<string, { at: number; isDown: boolean }>();

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
        const { down, up } = await this.db.leaderTransaction(async (tx) => {
          await this.queue.noteResults(tx, newestOf(batch));
          const taken = batch.filter(({ problem }) => problem === undefined);
          const up = taken.length > 0 ? await this.delivered(tx, taken) : [];
          const down: [Mark, failuresInRow: number][] = [];
          for (const mark of batch) {
            if (mark.problem !== undefined) down.push([mark, await this.failed(tx, mark, mark.problem)]);
          }
          return { down, up };
        });
        for (const each of down) this.tellDown(...each);
        for (const webhookId of up) this.tellUp(webhookId);
        for (const { done } of batch) done();
      } catch (cause) {
        for (const { failed } of batch) failed(cause);
      }
    }
    this.writing = false;
  }
  /**
   * Once for each time that it begins to fail, whoever leads: the row counts its failures in a row. What fails and works in turns is
   * told of now and then.
   */
  private tellDown({ update: { webhookId }, problem, now }: Mark, failuresInRow: number): void {
    const told = this.told.get(webhookId);
    const isNew = failuresInRow === 1 || told?.isDown === false;
    if (!isNew || !hasPassed(told?.at ?? -Infinity, tellAgainMillis, now)) return;
    if (this.told.size >= mostTold) this.told.clear();
    this.told.set(webhookId, { at: now, isDown: true });
    this.log.warn(`The webhook ${shownId(webhookId)} accepts no updates, which wait and are sent again: ${problem}`);
  }

  private tellUp(webhookId: string): void {
    const told = this.told.get(webhookId);
    if (told?.isDown === false) return;
    if (told) told.isDown = false;
    this.log.log(`The webhook ${shownId(webhookId)} accepts updates again`);
  }

  /** All in a few statements: they are what most deliveries end in. Answers the webhooks that had failed before. */
  private async delivered(tx: Transaction, marks: readonly Mark[]): Promise<string[]> {
    const updates = marks.map(({ update }) => update);
    const recovered = await this.queue.endFailures(tx, [...new Set(updates.map(({ webhookId }) => webhookId))]);
    const up = [...recovered];
    await this.queue.remove(tx, updates);
    for (const { update, now } of marks) {
      if (recovered.delete(update.webhookId) && isBroken(update.failuresInRow, this.rules)) {
        await this.queue.makeDue(tx, update.webhookId, new Date(now));
      }
    }
    return up;
  }

  /** Puts it off, or makes it a dead letter. Answers how often the webhook has failed in a row; 0: it is gone. */
  private async failed(tx: Transaction, { update, now }: Mark, error: string): Promise<number> {
    const webhook = await this.queue.countFailure(tx, update.webhookId);
    if (!webhook) return 0;
    const attempts = update.attempts + 1;
    const next = afterFailure({ eventAt: update.eventAt, attempts, ...webhook }, this.rules, now, Math.random());
    if (next.nextProbeAt !== undefined) {
      await this.queue.leaveAloneUntil(tx, update.webhookId, new Date(next.nextProbeAt));
    }
    const until = next.kind === 'retry' ? next.nextAttemptAt : now;
    await this.queue.putOff(tx, update.id, attempts, error, new Date(until));
    if (next.kind === 'give-up') await this.queue.giveUp(tx, update.id, new Date(now));
    return webhook.failuresInRow;
  }
}

const newestOf = (batch: readonly Mark[]): Map<string, { at: Date; error: string | undefined }> =>
  new Map(batch.map(({ update, problem, now }) => [update.webhookId, { at: new Date(now), error: problem }]));
