import { Inject, Injectable, Logger } from '@nestjs/common';
import type { Histogram } from 'prom-client';
import { hasPassed } from '../../core/elapsed.js';
import type { RetryRules } from '../../core/webhooks/delivery.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import { GatheredWarning } from '../../platform/gathered-warning.js';
import { Leadership } from '../../platform/leadership/leadership.js';
import { Metrics } from '../../platform/metrics/metrics.js';
import type { Poller } from '../../platform/poller/poller.js';
import { Pollers } from '../../platform/poller/pollers.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { retryRules, WebhookMarks } from './webhook-marks.service.js';
import { WebhookQueueRepository, type Lane, type QueuedUpdate, type WaitingLane } from './webhook-queue.repository.js';
import { WebhookSender } from './webhook-sender.service.js';

const hourMillis = 3_600_000;
const forgetEveryMillis = 60_000;
/** It reads all that waits, and passes come one after the other while much is delivered. */
const giveUpEveryMillis = 1_000;

/** A receiver that works has answered by then. */
const slowMillis = 500;

const earlier = (first: number | undefined, other: number): number => Math.min(first ?? other, other);

interface Worker {
  webhookId: string;
  /** Its webhook failed last, or has not answered for a while. */
  isSlow: boolean;
  /** The delivery in flight. */
  sending?: { since: number; cut: AbortController };
  done: Promise<void>;
}

const keyOf = ({ webhookId, subjectId }: Lane): string => `${webhookId} ${subjectId}`;

/**
 * Delivers what waits in the queue, at least once and per webhook and request in order. A pass starts a worker for each
 * lane that is due and does not wait for it, so that a slow receiver holds up no other one; a worker sends the updates of
 * its lane one after the other and ends when there is none to send now.
 */
@Injectable()
export class WebhookDelivery {
  private readonly log = new Logger(WebhookDelivery.name);
  private readonly stopped = new GatheredWarning((line) => this.log.warn(line));
  private readonly poller: Poller;
  /** Workers by lane. Only in memory: after a crash the row still stands and is sent again. */
  private readonly workers = new Map<string, Worker>();
  private readonly rules: RetryRules;
  private stopping = new AbortController();
  private forgotAt = 0;
  private gaveUpAt = 0;
  /** Sockets are bounded by these and the quick ones. */
  private readonly mostSlow: number;
  private readonly seconds: Histogram<'result'>;

  constructor(
    private readonly db: Database,
    private readonly queue: WebhookQueueRepository,
    private readonly marks: WebhookMarks,
    private readonly sender: WebhookSender,
    private readonly clock: Clock,
    leadership: Leadership,
    pollers: Pollers,
    metrics: Metrics,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    this.rules = retryRules(settings);
    this.mostSlow = Math.ceil(settings.webhooks.maxConcurrent / 2);
    const help = 'Time of deliveries to webhooks, by whether they were taken';
    this.seconds = metrics.secondsOfCalls('muster_webhook_delivery_seconds', help, ['result']);
    const inFlight =
      'Deliveries to webhooks in flight; slow are those that failed last or have not answered for a while';
    metrics.gauge('muster_webhook_deliveries_in_flight', inFlight, ['kind'], (gauge) => {
      for (const [kind, count] of Object.entries(this.figures())) gauge.set({ kind }, count);
    });
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
    const lanes = await this.queue.lanes(this.db.pool, new Date(now));
    const places = this.places();
    for (const lane of lanes) if (lane.dueAt <= now && places.take(lane)) this.startWorker(lane);
    const due = lanes.flatMap(({ dueAt }) => (dueAt > now ? [dueAt] : []));
    const probe = await this.queue.nextProbe(this.db.pool, new Date(now));
    return [...due, ...(probe === undefined ? [] : [probe])].reduce<number | undefined>(earlier, undefined);
  }

  /** Deliveries in flight, by whether they are, or may become, slow. */
  figures(): { quick: number; slow: number } {
    const slow = [...this.workers.values()].filter(({ isSlow }) => isSlow).length;
    return { quick: this.workers.size - slow, slow };
  }

  /** Resolves when no worker runs. */
  async settled(): Promise<void> {
    while (this.workers.size > 0) await Promise.all([...this.workers.values()].map((worker) => worker.done));
  }

  /** Updates past their age whose webhook is not even asked any more become dead letters. */
  private async giveUpForgotten(now: number): Promise<void> {
    const { giveUpAfterMillis, breakerThreshold } = this.rules;
    if (giveUpAfterMillis === 0 || !hasPassed(this.gaveUpAt, giveUpEveryMillis, now)) return;
    const since = new Date(now - giveUpAfterMillis);
    await this.db.leaderTransaction((tx) => this.queue.giveUpForgotten(tx, since, breakerThreshold, new Date(now)));
    this.gaveUpAt = now;
  }

  /** Deletes dead letters beyond their age or number: those of webhooks that are never mended would pile up. */
  private async forgetDeadLetters(now: number): Promise<void> {
    if (!hasPassed(this.forgotAt, forgetEveryMillis, now)) return;
    const { deleteDeadLettersAfterHours: hours, maxDeadLettersPerWebhook: most } = this.settings.webhooks;
    const since = hours > 0 ? new Date(now - hours * hourMillis) : undefined;
    await this.db.leaderTransaction((tx) => this.queue.forgetDeadLetters(tx, since, most));
    this.forgotAt = now;
  }

  /**
   * For one pass. A webhook that failed last, or keeps a delivery waiting, has places of its own, and one delivery at a time: those
   * that work do not wait for it.
   */
  private places(): { take: (lane: WaitingLane) => boolean } {
    const workers = [...this.workers.values()];
    const busy = new Set(workers.map(({ webhookId }) => webhookId));
    const kept = new Set(workers.flatMap(({ webhookId, isSlow }) => (isSlow ? [webhookId] : [])));
    const figures = this.figures();
    // With those whose end is being written down, which takes as long as the database does.
    const mostWorkers = this.settings.webhooks.maxConcurrent + 2 * this.mostSlow;
    const take = (lane: WaitingLane): boolean => {
      if (this.workers.has(keyOf(lane)) || this.workers.size >= mostWorkers) return false;
      const kind = lane.failuresInRow > 0 || kept.has(lane.webhookId) ? 'slow' : 'quick';
      const most = kind === 'slow' ? this.mostSlow : this.settings.webhooks.maxConcurrent;
      if (figures[kind] >= most || (kind === 'slow' && busy.has(lane.webhookId))) return false;
      figures[kind]++;
      busy.add(lane.webhookId);
      return true;
    };
    return { take };
  }

  private startWorker(lane: WaitingLane): void {
    const ended = () => this.workers.delete(keyOf(lane));
    const worker: Worker = { webhookId: lane.webhookId, isSlow: lane.failuresInRow > 0, done: Promise.resolve() };
    this.workers.set(keyOf(lane), worker);
    worker.done = this.work(lane, worker).then(
      () => {
        ended();
        // There is room now, and what failed has a new time.
        this.poller.wake();
      },
      (cause: unknown) => {
        ended();
        this.stopped.note(`A delivery to a webhook stopped, and is retried later: ${String(cause)}`);
      },
    );
  }

  private async work(lane: Lane, worker: Worker): Promise<void> {
    const { signal } = this.stopping;
    for (;;) {
      const update = await this.queue.first(this.db.pool, lane);
      if (signal.aborted || !update || update.dueAt > this.clock.now()) return;
      const isQuick = await this.deliver(update, worker, signal);
      // Else it needs another place, and a webhook that is tried out gets one update only: the next pass decides.
      if (signal.aborted || !isQuick) return;
    }
  }

  /** true: it was taken, and at once. */
  private async deliver(update: QueuedUpdate, worker: Worker, signal: AbortSignal): Promise<boolean> {
    const delivery = { ...update, id: `msg_${update.id}` };
    const cut = new AbortController();
    worker.isSlow = update.failuresInRow > 0;
    worker.sending = { since: performance.now(), cut };
    const stopWatch = afterOwnTime(slowMillis, () => this.becameSlow(worker));
    const sent = await this.sender.send(delivery, this.clock.now(), [signal, cut.signal]);
    stopWatch();
    const seconds = (performance.now() - worker.sending.since) / 1_000;
    worker.sending = undefined;
    // Not known whether it arrived: it stays in the queue for the next leader.
    if (signal.aborted) return false;
    const problem = cut.signal.aborted
      ? `It did not answer for ${seconds.toFixed(1)} s while many others were slow`
      : sent;
    this.seconds.observe({ result: problem === undefined ? 'delivered' : 'failed' }, seconds);
    await this.marks.mark(update, problem, this.clock.now());
    if (problem !== undefined) this.log.debug(`${update.webhookId} did not take ${update.id}: ${problem}`);
    return problem === undefined && !worker.isSlow;
  }

  /** It takes no place of the quick ones from now on. Of more than there is room for, the one that is slow longest is given up. */
  private becameSlow(worker: Worker): void {
    worker.isSlow = true;
    const slow = [...this.workers.values()].filter(
      ({ isSlow, sending }) => isSlow && sending && !sending.cut.signal.aborted,
    );
    if (slow.length > this.mostSlow) {
      slow.toSorted((a, b) => a.sending!.since - b.sending!.since)[0]!.sending!.cut.abort();
    }
    this.poller.wake();
  }

  private async stop(): Promise<void> {
    this.stopping.abort();
    await this.settled();
  }
}

const stepMillis = 50;

/**
 * Calls `work` when this process has had so much time, in steps: while it stands still, or waits for a processor, no more than a step
 * passes, and what has come meanwhile is read before the next one. So who waits for an answer from elsewhere is not told that it is
 * late because this process is. Answers how to give it up.
 */
function afterOwnTime(millis: number, work: () => void): () => void {
  let left = Math.ceil(millis / stepMillis);
  const step = (): void => {
    left -= 1;
    if (left <= 0) return work();
    timer = setTimeout(step, stepMillis);
  };
  let timer = setTimeout(step, stepMillis);
  return () => clearTimeout(timer);
}
