import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { WebhookType } from '../../core/model/enums.js';
import type { Webhook, WebhookResult, WebhookSummary } from '../../core/model/webhook.js';
import { makeWebhookId, webhookIdCandidates } from '../../core/webhooks/delivery.js';
import { sampleUpdate } from '../../core/webhooks/sample.js';
import { Targets } from '../../platform/targets.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import { SchedulerError } from '../../platform/errors.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Wake } from '../../platform/wake/wake.js';
import { WebhookQueueRepository } from './webhook-queue.repository.js';
import type { WebhookEntity } from './webhook.entity.js';
import { WebhookRepository } from './webhook.repository.js';
import { WebhookSender } from './webhook-sender.service.js';

interface NewWebhook {
  uri: string;
  type: WebhookType;
  timestamp?: number;
  user?: string;
  /** Key for the signatures of its deliveries; never shown again. */
  secret?: string;
}

/** An update that was given up. */
export interface DeadLetter {
  id: number;
  webhookId: string;
  updateKey: string;
  eventAt: number;
  deadAt: number;
  attempts: number;
  lastError?: string;
  body: unknown;
}

/** Registered receivers of updates, and what still waits for them. */
@Injectable()
export class Webhooks {
  private tests = 0;

  constructor(
    private readonly db: Database,
    private readonly webhooks: WebhookRepository,
    private readonly waiting: WebhookQueueRepository,
    private readonly sender: WebhookSender,
    private readonly wake: Wake,
    private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** In the order of ids. */
  async list(): Promise<Webhook[]> {
    return (await this.webhooks.all(this.db.pool)).map(toWebhook);
  }

  /** Every webhook with the number of updates that wait for it, in the order of ids. */
  async summary(): Promise<WebhookSummary[]> {
    const found = await this.webhooks.queueSizes(this.db.pool);
    return found.map(({ webhook, queueSize }) => ({
      webhook: toWebhook(webhook),
      queueSize,
      lastResult: lastResultOf(webhook),
    }));
  }

  /** Only one webhook exists per type and uri: registering it again changes nothing. It hears of all that happens from now on. */
  async register(webhook: NewWebhook): Promise<'CREATED' | 'EXISTED'> {
    this.refuseForeign(webhook.uri);
    const { type, uri, timestamp = this.clock.now(), user = null, secret = null } = webhook;
    const row = {
      id: makeWebhookId(type, uri),
      uri,
      webhookType: type,
      createdAt: new Date(timestamp),
      userName: user,
      secret,
    };
    return (await this.db.transaction((tx) => this.webhooks.add(tx, row))) ? 'CREATED' : 'EXISTED';
  }

  /** Refuses by name only: the address to which a name resolves is checked when a connection is made. */
  private refuseForeign(uri: string): void {
    const { allowedTargets } = this.settings.webhooks;
    if (allowedTargets === undefined || new Targets(allowedTargets).mayName(new URL(uri).hostname)) return;
    const message = "'uri' must lead to one of the targets that webhooks.allowedTargets lists";
    throw SchedulerError.invalid('INVALID_PARAMETER', [{ field: 'uri', rule: 'allowedTargets', message }]);
  }

  /** With all that waits for it, and its dead letters. */
  async remove(id: string): Promise<'DELETED' | 'DIDNT_EXIST'> {
    const ids = await this.idsOf(id);
    const removed = await this.db.transaction((tx) => this.webhooks.remove(tx, ids));
    return removed ? 'DELETED' : 'DIDNT_EXIST';
  }

  /** Updates of one type that wait for one webhook, or for all of that type; oldest first. */
  async queue<T>(type: WebhookType, id?: string): Promise<T[]> {
    return this.waiting.listed<T>(this.db.pool, type, id === undefined ? undefined : await this.idsOf(id));
  }

  /** Updates that were given up, newest first. */
  async deadLetters(id: string | undefined, count: number, offset: number): Promise<DeadLetter[]> {
    const ids = id === undefined ? undefined : await this.idsOf(id);
    const found = await this.webhooks.deadLetters(this.db.pool, ids, count, offset);
    return found.map((letter) => ({
      // The driver answers a bigint as text.
      id: Number(letter.id),
      webhookId: withoutCredentials(letter.webhookId),
      updateKey: letter.updateKey,
      eventAt: letter.eventAt.getTime(),
      deadAt: letter.deadAt.getTime(),
      attempts: letter.attempts,
      lastError: letter.lastError ?? undefined,
      body: letter.body,
    }));
  }

  /** Sends it an update that was made up, at once and once, past its queue. What becomes of it changes nothing. */
  async test(id: string): Promise<WebhookResult> {
    const webhook = await this.find(id);
    if (this.tests >= mostTests) {
      throw new SchedulerError('UNAVAILABLE', `${mostTests} webhooks are being tested, which is the limit; try again`);
    }
    this.tests++;
    try {
      const at = this.clock.now();
      const { uri, secret } = webhook;
      const delivery = { id: `test_${randomUUID()}`, uri, secret: secret ?? undefined };
      const sample = sampleUpdate(webhook.webhookType, at);
      const error = await this.sender.send({ ...delivery, ...sample }, at, [AbortSignal.timeout(testMillis)]);
      return { at, delivered: error === undefined, error };
    } finally {
      this.tests--;
    }
  }

  /** Dead letters of a webhook wait again, those of these ids or all, the oldest first, as far as there is room. Answers how many. */
  async resend(id: string, letterIds: readonly number[] | undefined): Promise<number> {
    const webhook = await this.find(id);
    const most = this.settings.webhooks.maxWaitingUpdatesPerWebhook;
    const now = new Date(this.clock.now());
    const queued = await this.db.transaction((tx) => this.waiting.resend(tx, webhook.id, letterIds, most, now));
    if (queued > 0) this.wake.signal('webhooks');
    return queued;
  }

  private async find(id: string): Promise<WebhookEntity> {
    const found = await this.webhooks.find(this.db.pool, await this.idsOf(id));
    if (!found) throw SchedulerError.webhookNotFound(withoutCredentials(id));
    return found;
  }

  /**
   * Ids of the webhooks that a caller may mean; one with credentials is shown without them, and found by what is shown.
   */
  private async idsOf(given: string): Promise<string[]> {
    const candidates = webhookIdCandidates(given);
    if (!given.includes(mask)) return candidates;
    const all = await this.webhooks.all(this.db.pool);
    const meant = all.filter(({ id }) => candidates.includes(withoutCredentials(id)));
    return [...candidates, ...meant.map(({ id }) => id)];
  }
}

/** A receiver that works answers sooner, and the caller waits. */
const testMillis = 10_000;
const mostTests = 5;

const lastResultOf = ({ lastAttemptAt, lastError }: WebhookEntity): WebhookResult | undefined =>
  lastAttemptAt
    ? { at: lastAttemptAt.getTime(), delivered: lastError === null, error: lastError ?? undefined }
    : undefined;

const mask = '***';
/** Masks credentials in a uri, or in the id that is made of it. New webhooks have none. */
const withoutCredentials = (text: string): string =>
  text.replace(/^((?:[A-Z_]+-)?https?(?::|%3A)(?:\/|%2F){2})(?:(?!\/|%2F|\?|%3F|#|%23).)*(@|%40)/i, `$1${mask}$2`);

const toWebhook = (row: WebhookEntity): Webhook => ({
  uri: withoutCredentials(row.uri),
  timestamp: row.createdAt.getTime(),
  user: row.userName ?? undefined,
  type: row.webhookType,
  id: withoutCredentials(row.id),
});
