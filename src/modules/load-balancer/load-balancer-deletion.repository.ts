import { Injectable } from '@nestjs/common';
import type { DeletionView, RemovedService } from '../../core/load-balancer/index.js';
import { isRunnable, type RequestState } from '../../core/model/enums.js';
import type { LoadBalancerUpdate } from '../../core/model/load-balancer.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { rows } from '../../platform/database/sql.js';
import { LoadBalancerDeletionEntity } from './load-balancer-deletion.entity.js';

/** A service that has to go, with what decides when. */
export interface QueuedDeletion extends DeletionView {
  service: RemovedService;
  /** Epoch milliseconds; that of an order which takes the place of another one is always later. */
  orderedAt: number;
}

interface DeletionRow {
  request_id: string;
  groups: string[];
  service_base_path: string | null;
  created_at: Date;
  document: LoadBalancerUpdate | null;
  state: RequestState | null;
  has_tasks: boolean;
}

/** Services of deleted requests that have to go from the load balancer. Wake 'load-balancer' after the commit. */
@Injectable()
export class LoadBalancerDeletionRepository {
  /** In the order of request ids. */
  async all(tx: Queryable): Promise<QueuedDeletion[]> {
    const found = await rows<DeletionRow>(
      tx,
      `SELECT d.*, r.state, EXISTS (SELECT 1 FROM task t WHERE t.request_id = d.request_id AND t.ended_at IS NULL)
         OR EXISTS (SELECT 1 FROM load_balancer_removal q WHERE q.request_id = d.request_id) AS has_tasks
       FROM load_balancer_deletion d LEFT JOIN request r ON r.id = d.request_id ORDER BY d.request_id`,
    );
    return found.map((row) => ({
      requestId: row.request_id,
      service: { requestId: row.request_id, groups: row.groups, basePath: row.service_base_path ?? undefined },
      orderedAt: row.created_at.getTime(),
      update: row.document ?? undefined,
      isRunnable: row.state !== null && isRunnable(row.state),
      hasTasks: row.has_tasks,
    }));
  }

  async requestIds(tx: Queryable): Promise<string[]> {
    const found = await tx.getRepository(LoadBalancerDeletionEntity).find({ order: { requestId: 'ASC' } });
    return found.map(({ requestId }) => requestId);
  }

  /** One that waits already takes the new description, and begins anew. */
  async add(tx: Transaction, { requestId, groups, basePath }: RemovedService, now: number): Promise<void> {
    // By hand: it is a later order than the one before, also within a millisecond, or after the clock was set back.
    await tx.query(
      `INSERT INTO load_balancer_deletion AS former (request_id, groups, service_base_path, created_at) VALUES ($1, $2, $3, $4)
       ON CONFLICT (request_id) DO UPDATE SET groups = excluded.groups, service_base_path = excluded.service_base_path,
         created_at = greatest(excluded.created_at, former.created_at + interval '1 millisecond'), document = NULL`,
      [requestId, groups, basePath ?? null, new Date(now)],
    );
  }

  /** The answer to a call made for what `former` said; undefined `answer`: it is done with. */
  async settle(
    tx: Transaction,
    { requestId, orderedAt, update: former }: QueuedDeletion,
    answer: LoadBalancerUpdate | undefined,
  ): Promise<void> {
    // One that was ordered anew meanwhile is looked at in the next pass. By hand: TypeORM cannot compare with NULL and value alike.
    const unchanged = 'request_id = $1 AND created_at = $2 AND document IS NOT DISTINCT FROM $3';
    const given = [requestId, new Date(orderedAt), former ? JSON.stringify(former) : null];
    if (answer) {
      await tx.query(`UPDATE load_balancer_deletion SET document = $4 WHERE ${unchanged}`, [
        ...given,
        JSON.stringify(answer),
      ]);
    } else await tx.query(`DELETE FROM load_balancer_deletion WHERE ${unchanged}`, given);
  }
}
