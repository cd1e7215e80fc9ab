import { Inject, Injectable } from '@nestjs/common';
import type { WebhookType } from '../../core/model/enums.js';
import type { Webhook, WebhookSummary } from '../../core/model/webhook.js';
import { makeWebhookId, webhookIdCandidates } from '../../core/webhooks/delivery.js';
import { Targets } from '../../platform/targets.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import { SchedulerError } from '../../platform/errors.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { WebhookQueueRepository } from './webhook-queue.repository.js';
import type { WebhookEntity } from './webhook.entity.js';
import { WebhookRepository } from './webhook.repository.js';

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
  constructor(
    private readonly db: Database,
    private readonly webhooks: WebhookRepository,
    private readonly waiting: WebhookQueueRepository,
    private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** In the order of ids. */
  async list(): Promise<Webhook[]> {
    return (await this.webhooks.all(this.db.manager)).map(toWebhook);
  }

  /** Every webhook with the number of updates that wait for it, in the order of ids. */
  async summary(): Promise<WebhookSummary[]> {
    const found = await this.webhooks.queueSizes(this.db.manager);
    return found.map(({ webhook, queueSize }) => ({ webhook: toWebhook(webhook), queueSize }));
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

  /** What a name turns out to be is looked at when it is connected to. */
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
    return this.waiting.listed<T>(this.db.manager, type, id === undefined ? undefined : await this.idsOf(id));
  }

  /** Updates that were given up, newest first. */
  async deadLetters(id: string | undefined, count: number, offset: number): Promise<DeadLetter[]> {
    const ids = id === undefined ? undefined : await this.idsOf(id);
    const found = await this.webhooks.deadLetters(this.db.manager, ids, count, offset);
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

  /** Those that a caller may mean; one with credentials is shown without, and found by what is shown. */
  private async idsOf(given: string): Promise<string[]> {
    const candidates = webhookIdCandidates(given);
    if (!given.includes(mask)) return candidates;
    const all = await this.webhooks.all(this.db.manager);
    const meant = all.filter(({ id }) => candidates.includes(withoutCredentials(id)));
    return [...candidates, ...meant.map(({ id }) => id)];
  }
}

const mask = '***';
/** Of a uri, or of the id that is made of it. New webhooks have none. */
const withoutCredentials = (text: string): string =>
  text.replace(/^((?:[A-Z_]+-)?https?(?::|%3A)(?:\/|%2F){2})(?:(?!\/|%2F|\?|%3F|#|%23).)*(@|%40)/i, `$1${mask}$2`);

const toWebhook = (row: WebhookEntity): Webhook => ({
  uri: withoutCredentials(row.uri),
  timestamp: row.createdAt.getTime(),
  user: row.userName ?? undefined,
  type: row.webhookType,
  id: withoutCredentials(row.id),
});
