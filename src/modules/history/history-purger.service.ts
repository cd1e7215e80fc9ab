import { Inject, Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { purgeBefore, type PurgeLimits } from '../../core/history/index.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import { rows, toMillis } from '../../platform/database/sql.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';

const dayMillis = 86_400_000;
const day = (days: number, now: number): Date => new Date(now - days * dayMillis);

/** Which rows of a request's history one step is about. */
type Step = { limits: PurgeLimits; of: string; purge: string };

/** The requests that have tasks in the history: from one to the next along the index, not past every task of each. */
const requestIdsSql = `WITH RECURSIVE found (id) AS (
    SELECT min(request_id) FROM task_history
    UNION ALL SELECT (SELECT min(h.request_id) FROM task_history h WHERE h.request_id > found.id) FROM found WHERE id IS NOT NULL)
  SELECT id FROM found WHERE id IS NOT NULL`;

/** Removes old history. Every statement touches at most `purgeLimitPerQuery` rows, in a transaction of its own. */
@Injectable()
export class HistoryPurger {
  constructor(
    private readonly db: Database,
    private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** Everything. What exceeds the limit per query of one request's tasks goes in the next run. */
  async purge(): Promise<void> {
    const now = this.clock.now();
    const found = await rows<{ id: string }>(this.db.manager, requestIdsSql);
    for (const { id } of found) await this.purgeTasks(id, now);
    await this.purgeLeftovers(now);
    await this.purgeRequests();
    await this.purgeDeploys();
  }

  /** Changes of requests. */
  async purgeRequests(): Promise<void> {
    const { purgeRequestHistoryAfterDays: days } = this.settings.historyPurging;
    if (days < 1) return;
    await this.inBatches(
      `DELETE FROM request_history WHERE ctid = ANY (ARRAY(SELECT ctid FROM request_history WHERE created_at < $1 LIMIT $2))
       RETURNING 1`,
      day(days, this.clock.now()),
    );
  }

  /** Deploys that nothing needs any more: not those that serve, are under way, or have a task. */
  async purgeDeploys(): Promise<void> {
    const { purgeDeployHistoryAfterDays: days } = this.settings.historyPurging;
    if (days < 1) return;
    await this.inBatches(
      `DELETE FROM deploy_history WHERE ctid = ANY (ARRAY(SELECT d.ctid FROM deploy_history d WHERE created_at < $1
         AND NOT EXISTS (SELECT 1 FROM request r
           WHERE r.id = d.request_id AND d.deploy_id IN (r.active_deploy_id, r.pending_deploy_id))
         AND NOT EXISTS (SELECT 1 FROM pending_deploy p WHERE p.request_id = d.request_id AND p.deploy_id = d.deploy_id)
         AND NOT EXISTS (SELECT 1 FROM task t WHERE t.request_id = d.request_id AND t.deploy_id = d.deploy_id)
         AND NOT EXISTS (SELECT 1 FROM pending_task w WHERE w.request_id = d.request_id AND w.deploy_id = d.deploy_id)
         LIMIT $2)) RETURNING 1`,
      day(days, this.clock.now()),
    );
  }

  private async purgeTasks(requestId: string, now: number): Promise<void> {
    const { historyPurging: global } = this.settings;
    const limits = { ...global, ...global.requestOverrides[requestId] };
    const steps: Step[] = [
      {
        limits: {
          afterDays: limits.deleteTaskHistoryAfterDays,
          afterTasks: limits.deleteTaskHistoryAfterTasksPerRequest,
        },
        of: 'request_id = $1',
        purge: 'DELETE FROM task_history',
      },
      {
        limits: {
          afterDays: limits.deleteTaskHistoryBytesAfterDays,
          afterTasks: limits.deleteTaskHistoryBytesAfterTasksPerRequest,
        },
        of: 'request_id = $1 AND NOT purged',
        // Such a task still counts and is listed; its details are gone.
        purge: 'UPDATE task_history SET data = NULL, bytes = NULL, purged = true',
      },
    ];
    for (const step of steps) await this.db.transaction((tx) => this.take(tx, requestId, step, now));
  }

  private async take(tx: EntityManager, requestId: string, { limits, of, purge }: Step, now: number): Promise<void> {
    const [kept] = await rows<{ count: number; oldest: Date | null }>(
      tx,
      `SELECT count(*) AS count, (SELECT updated_at FROM task_history WHERE ${of}
         ORDER BY updated_at DESC OFFSET greatest($2 - 1, 0) LIMIT 1) AS oldest FROM task_history WHERE ${of}`,
      [requestId, limits.afterTasks],
    );
    const before = purgeBefore(limits, { count: kept!.count, oldestThatStays: toMillis(kept!.oldest) }, now);
    if (before === undefined) return;
    await tx.query(
      `${purge} WHERE task_id = ANY (ARRAY(SELECT task_id FROM task_history WHERE ${of} AND updated_at < $2
         ORDER BY updated_at LIMIT $3))`,
      [requestId, new Date(before), this.settings.historyPurging.purgeLimitPerQuery],
    );
  }

  /** Figures of requests that are gone for good. */
  private async purgeLeftovers(now: number): Promise<void> {
    const { purgeStaleRequestIdsAfterDays: days } = this.settings.historyPurging;
    if (days < 1) return;
    await this.inBatches(
      `DELETE FROM deploy_statistics WHERE ctid = ANY (ARRAY(SELECT s.ctid FROM deploy_statistics s
         WHERE coalesce(last_finish_at, '-infinity') < $1 AND NOT EXISTS (SELECT 1 FROM request r WHERE r.id = s.request_id)
         LIMIT $2)) RETURNING 1`,
      day(days, now),
    );
  }

  /** Until none is left. */
  private async inBatches(sql: string, before: Date): Promise<void> {
    const { purgeLimitPerQuery } = this.settings.historyPurging;
    for (;;) {
      const gone = await this.db.transaction((tx) => rows(tx, sql, [before, purgeLimitPerQuery]));
      if (gone.length < purgeLimitPerQuery) return;
    }
  }
}
