import { Inject, Injectable, Logger } from '@nestjs/common';
import type { CrashLoopInfo } from '../../core/model/crash-loop.js';
import type { DeployUpdate } from '../../core/model/deploy.js';
import type { RequestHistory } from '../../core/model/request.js';
import type { Task, TaskHistoryUpdate } from '../../core/model/task.js';
import type { ElevatedAccessEvent } from '../../core/model/webhook.js';
import { Clock } from '../../platform/clock.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { rows, toMillis } from '../../platform/database/sql.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Wake } from '../../platform/wake/wake.js';
import { QueueRoom } from './queue-room.js';
import type { WebhookType } from '../../core/model/enums.js';

interface OutboxEntry {
  type: WebhookType;
  /** A later event with the same key replaces one that still waits. */
  key: string;
  requestId: string;
  eventAt: number;
  placeholders: Record<string, string>;
  /** The record that the queue endpoints show. */
  listed: unknown;
  /** The body that is posted. */
  body: unknown;
}

export interface WebhookCounts {
  queued: number;
  oldest: number | undefined;
  dead: number;
  working: number;
  failing: number;
}

/** For the webhooks $9, which are locked. DO UPDATE keeps the place in the queue and the attempts of the row that still waits. */
const insert = (where: string): string =>
  `INSERT INTO webhook_update (webhook_id, update_key, subject_id, event_at, queued_at, next_attempt_at, placeholders, listed, body)
   SELECT webhook_id, key, subject, event_at, $8, $8, placeholders, listed, body
   FROM (SELECT w.id AS webhook_id, e.*, row_number() OVER (PARTITION BY w.id ORDER BY e.position) AS nth
     FROM unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::jsonb[], $6::jsonb[], $7::jsonb[])
       WITH ORDINALITY AS e (type, key, subject, event_at, placeholders, listed, body, position)
     JOIN webhook w ON w.webhook_type = e.type AND w.id = ANY ($9)) AS entry ${where}
   ORDER BY position, webhook_id
   ON CONFLICT (webhook_id, update_key) DO UPDATE SET
     event_at = excluded.event_at, placeholders = excluded.placeholders, listed = excluded.listed, body = excluded.body`;

/** Admits the updates that fit, and those that replace one that waits. */
const withinRoom = `WHERE nth <= (SELECT room FROM unnest($9::text[], $10::int[]) AS r (id, room) WHERE r.id = webhook_id)
  OR EXISTS (SELECT 1 FROM webhook_update u WHERE u.webhook_id = entry.webhook_id AND u.update_key = entry.key)`;

/**
 * Queues updates for webhooks inside the transaction that makes the change, so that an update exists exactly when its
 * change does. One row per webhook of the type; nothing is written while no webhook listens.
 */
@Injectable()
export class WebhookOutboxRepository {
  private readonly log = new Logger(WebhookOutboxRepository.name);
  private readonly room: QueueRoom;
  private readonly tell = (): void => this.wake.signal('webhooks');
  /** Updates that this instance dropped because too many waited for their webhook. */
  dropped = 0;

  constructor(
    private readonly clock: Clock,
    private readonly wake: Wake,
    @Inject(SETTINGS) { webhooks }: Settings,
  ) {
    this.room = new QueueRoom(webhooks.maxWaitingUpdatesPerWebhook);
  }

  /**
   * Counts waiting updates, updates that were given up, and webhooks that fail; and reads since when (epoch
   * milliseconds) the oldest waits.
   */
  async counts(tx: Transaction): Promise<WebhookCounts> {
    const [found] = await rows<Omit<WebhookCounts, 'oldest'> & { oldest: Date | null }>(
      tx,
      `SELECT (SELECT count(*)::int FROM webhook_dead_letter) AS dead,
         (SELECT count(*)::int FROM webhook WHERE failures_in_row = 0) AS working,
         (SELECT count(*)::int FROM webhook WHERE failures_in_row > 0) AS failing,
         count(*)::int AS queued, min(queued_at) AS oldest FROM webhook_update`,
    );
    return { ...found!, oldest: toMillis(found!.oldest) };
  }

  request(tx: Transaction, event: RequestHistory): Promise<void> {
    const entry: OutboxEntry = {
      type: 'REQUEST',
      key: `${event.request.id}:${event.eventType}:${event.createdAt}`,
      requestId: event.request.id,
      eventAt: event.createdAt,
      placeholders: { REQUEST_ID: event.request.id },
      listed: event,
      body: event,
    };
    return this.queue(tx, [entry]);
  }

  deploy(tx: Transaction, update: DeployUpdate): Promise<void> {
    const { requestId, deployId, timestamp } = update.deployMarker;
    return this.queue(tx, [
      {
        type: 'DEPLOY',
        key: `${requestId}:${deployId}:${update.eventType}`,
        requestId,
        eventAt: update.deployResult?.timestamp ?? timestamp,
        placeholders: { REQUEST_ID: requestId, DEPLOY_ID: deployId },
        listed: update,
        body: update,
      },
    ]);
  }

  crashLoops(tx: Transaction, loops: readonly CrashLoopInfo[]): Promise<void> {
    return this.queue(
      tx,
      loops.map((loop) => ({
        type: 'CRASHLOOP',
        // The end of a loop replaces its beginning while it waits to be told.
        key: `${loop.requestId}:${loop.deployId}:${loop.type}:${loop.start}`,
        requestId: loop.requestId,
        eventAt: loop.end ?? loop.start,
        placeholders: { REQUEST_ID: loop.requestId, DEPLOY_ID: loop.deployId },
        listed: loop,
        body: loop,
      })),
    );
  }

  elevatedAccess(tx: Transaction, events: readonly ElevatedAccessEvent[]): Promise<void> {
    return this.queue(
      tx,
      events.map((event) => ({
        type: 'ELEVATED_ACCESS',
        key: `${event.user}:${event.requestId}:${event.scope}:${event.createdAt}`,
        requestId: event.requestId,
        eventAt: event.createdAt,
        placeholders: { REQUEST_ID: event.requestId, USER_ID: event.user, SCOPE: event.scope },
        listed: event,
        body: event,
      })),
    );
  }

  /** The tasks are read only when there is a listener, all in one go: status updates are a hot path. */
  async tasks(
    tx: Transaction,
    updates: readonly TaskHistoryUpdate[],
    loadTasks: (taskIds: string[]) => Promise<ReadonlyMap<string, Task>>,
  ): Promise<void> {
    if (updates.length === 0) return;
    const listeners = await this.lockListeners(tx, ['TASK']);
    if (listeners.length === 0) return;
    const tasks = await loadTasks([...new Set(updates.map(({ taskId }) => taskId.id))]);
    const entries: OutboxEntry[] = [];
    for (const update of updates) {
      const { id, requestId, deployId } = update.taskId;
      const task = tasks.get(id);
      if (!task) continue;
      entries.push({
        type: 'TASK',
        key: `${id}:${update.taskState}`,
        requestId,
        eventAt: update.timestamp,
        placeholders: { REQUEST_ID: requestId, DEPLOY_ID: deployId, TASK_ID: id },
        listed: update,
        body: { task, taskUpdate: update },
      });
    }
    await this.queue(tx, entries, listeners);
  }

  /** True if any webhook receives such updates. */
  async isHeard(tx: Queryable, type: WebhookType): Promise<boolean> {
    return (await rows(tx, 'SELECT 1 FROM webhook WHERE webhook_type = $1 LIMIT 1', [type])).length > 0;
  }

  /**
   * Webhooks of these types, which stay until `tx` ends. Those that are being deleted are left out: the deletion takes as long as there
   * are updates to delete, and an update for a webhook that is gone would fail the change that it is about.
   */
  private async lockListeners(tx: Transaction, types: readonly WebhookType[]): Promise<string[]> {
    const found = await rows<{ id: string }>(
      tx,
      'SELECT id FROM webhook WHERE webhook_type = ANY ($1) ORDER BY id FOR KEY SHARE SKIP LOCKED',
      [types],
    );
    return found.map(({ id }) => id);
  }

  private async queue(tx: Transaction, entries: readonly OutboxEntry[], locked?: readonly string[]): Promise<void> {
    if (entries.length === 0) return;
    const listeners = locked ?? (await this.lockListeners(tx, [...new Set(entries.map(({ type }) => type))]));
    if (listeners.length === 0) return;
    tx.afterCommit(this.tell);
    const now = this.clock.now();
    const unsure = this.room.unsure(listeners, entries.length, now);
    if (unsure.length > 0) this.room.counted(await this.waiting(tx, unsure), now);
    const rooms = listeners.map((id) => this.room.take(id, entries.length));
    const isShort = rooms.some((room) => room < entries.length);
    const column = <T>(pick: (entry: OutboxEntry) => T): T[] => entries.map(pick);
    const parameters = [
      column((entry) => entry.type),
      column((entry) => entry.key),
      column((entry) => entry.requestId),
      column((entry) => new Date(entry.eventAt)),
      column((entry) => JSON.stringify(entry.placeholders)),
      column((entry) => JSON.stringify(entry.listed)),
      column((entry) => JSON.stringify(entry.body)),
      new Date(now),
      listeners,
    ];
    if (!isShort) return void (await tx.query(insert(''), parameters));
    const taken = await rows<{ webhook_id: string }>(tx, `${insert(withinRoom)} RETURNING webhook_id`, [
      ...parameters,
      rooms,
    ]);
    this.noteDropped(listeners, entries, taken, now);
  }

  /** No more than it takes to know whether there is room. */
  private async waiting(tx: Queryable, ids: readonly string[]): Promise<Map<string, number>> {
    const found = await rows<{ id: string; count: number }>(
      tx,
      `SELECT id, (SELECT count(*)::int FROM (SELECT 1 FROM webhook_update WHERE webhook_id = asked.id LIMIT $2) AS found) AS count
       FROM unnest($1::text[]) AS asked (id)`,
      [ids, this.room.most],
    );
    return new Map(found.map(({ id, count }) => [id, count]));
  }

  private noteDropped(
    listeners: readonly string[],
    entries: readonly OutboxEntry[],
    taken: readonly { webhook_id: string }[],
    now: number,
  ): void {
    for (const id of listeners) {
      const heard = entries.filter(({ type }) => id.startsWith(`${type}-`)).length;
      const dropped = heard - taken.filter(({ webhook_id }) => webhook_id === id).length;
      if (dropped <= 0) continue;
      this.dropped += dropped;
      if (!this.room.mayWarn(id, now)) continue;
      this.log.warn(`${this.room.most} updates wait for a webhook of ${id.split('-')[0]}: ${dropped} more are dropped`);
    }
  }
}
