import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { CrashLoopInfo } from '../../core/model/crash-loop.js';
import type { DeployUpdate } from '../../core/model/deploy.js';
import type { RequestHistory } from '../../core/model/request.js';
import type { Task, TaskHistoryUpdate } from '../../core/model/task.js';
import { Clock } from '../../platform/clock.js';
import { rows } from '../../platform/database/sql.js';
import type { WebhookType } from '../../core/model/enums.js';

interface OutboxEntry {
  type: WebhookType;
  /** A later event with the same key replaces one that still waits. */
  key: string;
  requestId: string;
  eventAt: number;
  placeholders: Record<string, string>;
  /** What the queue endpoints show. */
  listed: unknown;
  /** What is posted. */
  body: unknown;
}

/**
 * Queues updates for webhooks inside the transaction that makes the change, so that an update exists exactly when its
 * change does. One row per webhook of the type; nothing is written while no webhook listens.
 */
@Injectable()
export class WebhookOutboxRepository {
  constructor(private readonly clock: Clock) {}

  /** How many updates wait, and how many were given up. */
  async counts(tx: EntityManager): Promise<{ queued: number; dead: number }> {
    const [found] = await rows<{ queued: number; dead: number }>(
      tx,
      `SELECT (SELECT count(*)::int FROM webhook_update) AS queued,
         (SELECT count(*)::int FROM webhook_dead_letter) AS dead`,
    );
    return found!;
  }

  request(tx: EntityManager, event: RequestHistory): Promise<void> {
    return this.queue(tx, [
      {
        type: 'REQUEST',
        key: `${event.request.id}:${event.eventType}:${event.createdAt}`,
        requestId: event.request.id,
        eventAt: event.createdAt,
        placeholders: { REQUEST_ID: event.request.id },
        listed: event,
        body: event,
      },
    ]);
  }

  deploy(tx: EntityManager, update: DeployUpdate): Promise<void> {
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

  crashLoops(tx: EntityManager, loops: readonly CrashLoopInfo[]): Promise<void> {
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

  /** The tasks are read only when there is a listener, all in one go: status updates are a hot path. */
  async tasks(
    tx: EntityManager,
    updates: readonly TaskHistoryUpdate[],
    loadTasks: (taskIds: string[]) => Promise<ReadonlyMap<string, Task>>,
  ): Promise<void> {
    if (updates.length === 0 || !(await this.hasListener(tx, 'TASK'))) return;
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
    await this.queue(tx, entries);
  }

  private async hasListener(tx: EntityManager, type: WebhookType): Promise<boolean> {
    const found: unknown[] = await tx.query('SELECT 1 FROM webhook WHERE webhook_type = $1 LIMIT 1', [type]);
    return found.length > 0;
  }

  private async queue(tx: EntityManager, entries: readonly OutboxEntry[]): Promise<void> {
    if (entries.length === 0) return;
    const column = <T>(pick: (entry: OutboxEntry) => T): T[] => entries.map(pick);
    // DO UPDATE keeps the place in the queue and the attempts of the row that still waits.
    await tx.query(
      `INSERT INTO webhook_update (webhook_id, update_key, subject_id, event_at, queued_at, next_attempt_at, placeholders, listed, body)
       SELECT w.id, e.key, e.subject, e.event_at, $8, $8, e.placeholders, e.listed, e.body
       FROM unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::jsonb[], $6::jsonb[], $7::jsonb[])
         WITH ORDINALITY AS e (type, key, subject, event_at, placeholders, listed, body, position)
       JOIN webhook w ON w.webhook_type = e.type
       ORDER BY e.position, w.id
       ON CONFLICT (webhook_id, update_key) DO UPDATE SET
         event_at = excluded.event_at, placeholders = excluded.placeholders, listed = excluded.listed, body = excluded.body`,
      [
        column((entry) => entry.type),
        column((entry) => entry.key),
        column((entry) => entry.requestId),
        column((entry) => new Date(entry.eventAt)),
        column((entry) => JSON.stringify(entry.placeholders)),
        column((entry) => JSON.stringify(entry.listed)),
        column((entry) => JSON.stringify(entry.body)),
        new Date(this.clock.now()),
      ],
    );
  }
}
