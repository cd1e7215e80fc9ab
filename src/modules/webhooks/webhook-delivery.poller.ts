import { Inject, Injectable, Logger } from '@nestjs/common';
import { isBroken, type RetryRules } from '../../core/webhooks/delivery.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import { Leadership } from '../../platform/leadership/leadership.js';
import type { Poller } from '../../platform/poller/poller.js';
import { Pollers } from '../../platform/poller/pollers.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { retryRules, WebhookMarks } from './webhook-marks.service.js';
import { WebhookQueueRepository, type Lane, type QueuedUpdate, type WaitingLane } from './webhook-queue.repository.js';
import { WebhookSender } from './webhook-sender.service.js';

const hourMillis = 3_600_000;
const forgetEveryMillis = 60_000;

const keyOf = ({ webhookId, subjectId }: Lane): string => `${webhookId} ${subjectId}`;

/**
 * Delivers what waits in the queue, at least once and per webhook and request in order. A pass starts a worker for each
 * lane that is due and does not wait for it, so that a slow receiver holds up no other one; a worker sends the updates of
 * its lane one after the other and ends when there is none to send now.
 */
@Injectable()
export class WebhookDelivery {
  private readonly log = new Logger(WebhookDelivery.name);
  private readonly poller: Poller;
  /** Workers by lane. Only in memory: after a crash the row still stands and is sent again. */
  private readonly workers = new Map<string, { webhookId: string; done: Promise<void> }>();
  private readonly rules: RetryRules;
  private stopping = new AbortController();
  private forgotAt = 0;

  constructor(
    private readonly db: Database,
    private readonly queue: WebhookQueueRepository,
    private readonly marks: WebhookMarks,
    private readonly sender: WebhookSender,
    private readonly clock: Clock,
    leadership: Leadership,
    pollers: Pollers,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    this.rules = retryRules(settings);
    this.poller = pollers.register({
      name: 'webhooks',
      everyMs: settings.checkWebhooksEveryMillis,
      wakeOn: ['webhooks'],
      pass: (now) => this.runOnce(now),
    });
    leadership.register({
      name: 'webhooks',
      gained: async () => void (this.stopping = new AbortController()),
      lost: () => this.stop(),
    });
  }

  /** One pass. Resolves when workers run for all lanes that are due, as far as there is room; answers when the next is. */
  async runOnce(now: number): Promise<number | undefined> {
    await this.giveUpForgotten(now);
    await this.forgetDeadLetters(now);
    const lanes = await this.queue.lanes(this.db.manager);
    for (const lane of lanes) if (lane.dueAt <= now && this.hasRoomFor(lane)) this.startWorker(lane);
    return lanes.find((lane) => lane.dueAt > now)?.dueAt;
  }

  /** Resolves when no worker runs. */
  async settled(): Promise<void> {
    while (this.workers.size > 0) await Promise.all([...this.workers.values()].map((worker) => worker.done));
  }

  /** Updates past their age whose webhook is not even asked any more become dead letters. */
  private async giveUpForgotten(now: number): Promise<void> {
    const { giveUpAfterMillis, breakerThreshold } = this.rules;
    if (giveUpAfterMillis === 0) return;
    const since = new Date(now - giveUpAfterMillis);
    await this.db.leaderTransaction((tx) => this.queue.giveUpForgotten(tx, since, breakerThreshold, new Date(now)));
  }

  /** Those of webhooks that are never mended would pile up. */
  private async forgetDeadLetters(now: number): Promise<void> {
    if (now - this.forgotAt < forgetEveryMillis) return;
    const { deleteDeadLettersAfterHours: hours, maxDeadLettersPerWebhook: most } = this.settings.webhooks;
    const since = hours > 0 ? new Date(now - hours * hourMillis) : undefined;
    await this.db.leaderTransaction((tx) => this.queue.forgetDeadLetters(tx, since, most));
    this.forgotAt = now;
  }

  private hasRoomFor(lane: WaitingLane): boolean {
    if (this.workers.size >= this.settings.webhooks.maxConcurrent || this.workers.has(keyOf(lane))) return false;
    return (
      !isBroken(lane.failuresInRow, this.rules) ||
      ![...this.workers.values()].some((worker) => worker.webhookId === lane.webhookId)
    );
  }

  private startWorker(lane: Lane): void {
    const ended = () => this.workers.delete(keyOf(lane));
    const done = this.work(lane).then(
      () => {
        ended();
        // There is room now, and what failed has a new time.
        this.poller.wake();
      },
      (cause: unknown) => {
        ended();
        this.log.warn(`Delivery to ${lane.webhookId} of ${lane.subjectId} stopped; it goes on later: ${String(cause)}`);
      },
    );
    this.workers.set(keyOf(lane), { webhookId: lane.webhookId, done });
  }

  private async work(lane: Lane): Promise<void> {
    const { signal } = this.stopping;
    for (;;) {
      const update = await this.queue.first(this.db.manager, lane);
      if (signal.aborted || !update || update.dueAt > this.clock.now()) return;
      await this.deliver(update, signal);
      // A webhook that is being tried out gets one update only; the next pass decides about the others.
      if (signal.aborted || isBroken(update.failuresInRow, this.rules)) return;
    }
  }

  private async deliver(update: QueuedUpdate, signal: AbortSignal): Promise<void> {
    const delivery = { ...update, id: `msg_${update.id}` };
    const problem = await this.sender.send(delivery, this.clock.now(), signal);
    // Not known whether it arrived: it stays in the queue for the next leader.
    if (signal.aborted) return;
    await this.marks.mark(update, problem, this.clock.now());
    if (problem !== undefined) this.log.debug(`${update.webhookId} did not take ${update.id}: ${problem}`);
  }

  private async stop(): Promise<void> {
    this.stopping.abort();
    await this.settled();
  }
}
