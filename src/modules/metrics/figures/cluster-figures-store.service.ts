import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { rows } from '../../../platform/database/sql.js';

/** From so many rows on, the size of the history is estimated: to read all of them would take seconds. */
const mostRowsRead = 100_000;

/** Figures that the state of the service does not have. */
@Injectable()
export class ClusterFiguresStore {
  async tasksByState(tx: EntityManager): Promise<{ state: string; count: number }[]> {
    return rows(tx, 'SELECT state, count(*)::int AS count FROM task WHERE ended_at IS NULL GROUP BY state');
  }

  async webhooks(tx: EntityManager): Promise<{ queued: number; dead: number }> {
    const [found] = await rows<{ queued: number; dead: number }>(
      tx,
      `SELECT (SELECT count(*)::int FROM webhook_update) AS queued,
         (SELECT count(*)::int FROM webhook_dead_letter) AS dead`,
    );
    return found!;
  }

  /** Bytes of the ids of all requests, of all live tasks, and of all tasks of the history. */
  async idBytes(tx: EntityManager): Promise<{ allRequestIds: number; taskStatuses: number; taskHistoryIds: number }> {
    const [found] = await rows<{ allRequestIds: number; taskStatuses: number; taskHistoryIds: number }>(
      tx,
      `SELECT (SELECT coalesce(sum(octet_length(id)), 0)::int8 FROM request) AS "allRequestIds",
         (SELECT coalesce(sum(octet_length(task_id)), 0)::int8 FROM task) AS "taskStatuses",
         (SELECT CASE WHEN reltuples < $1 THEN (SELECT coalesce(sum(octet_length(task_id)), 0) FROM task_history)
            ELSE reltuples * (SELECT avg(octet_length(task_id)) FROM (SELECT task_id FROM task_history LIMIT 1000) s)
            END::int8 FROM pg_class WHERE oid = 'task_history'::regclass) AS "taskHistoryIds"`,
      [mostRowsRead],
    );
    return found!;
  }
}
