import { Injectable } from '@nestjs/common';
import type { WebhookType } from '../../core/model/enums.js';
import type { Webhook, WebhookSummary } from '../../core/model/webhook.js';
import { makeWebhookId, webhookIdCandidates } from '../../core/webhooks/delivery.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
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

  /** With all that waits for it, and its dead letters. */
  async remove(id: string): Promise<'DELETED' | 'DIDNT_EXIST'> {
    const removed = await this.db.transaction((tx) => this.webhooks.remove(tx, webhookIdCandidates(id)));
    return removed ? 'DELETED' : 'DIDNT_EXIST';
  }

  /** Updates of one type that wait for one webhook, or for all of that type; oldest first. */
  queue<T>(type: WebhookType, id?: string): Promise<T[]> {
    return this.waiting.listed<T>(this.db.manager, type, id === undefined ? undefined : webhookIdCandidates(id));
  }

  /** Updates that were given up, newest first. */
  async deadLetters(id: string | undefined, count: number, offset: number): Promise<DeadLetter[]> {
    const ids = id === undefined ? undefined : webhookIdCandidates(id);
    const found = await this.webhooks.deadLetters(this.db.manager, ids, count, offset);
    return found.map((letter) => ({
      // The driver answers a bigint as text.
      id: Number(letter.id),
      webhookId: letter.webhookId,
      updateKey: letter.updateKey,
      eventAt: letter.eventAt.getTime(),
      deadAt: letter.deadAt.getTime(),
      attempts: letter.attempts,
      lastError: letter.lastError ?? undefined,
      body: letter.body,
    }));
  }
}

const toWebhook = (row: WebhookEntity): Webhook => ({
  uri: row.uri,
  timestamp: row.createdAt.getTime(),
  user: row.userName ?? undefined,
  type: row.webhookType,
  id: row.id,
});
