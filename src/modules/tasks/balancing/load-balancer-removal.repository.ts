import { Injectable } from '@nestjs/common';
import type { Queryable } from '../../../platform/database/queryable.js';
import type { Transaction } from '../../../platform/database/transaction.js';
import { rows } from '../../../platform/database/sql.js';
import { LoadBalancerRemovalEntity } from './load-balancer-removal.entity.js';

/** Tasks that have to leave the load balancer. Wake 'load-balancer' after the commit. */
@Injectable()
export class LoadBalancerRemovalRepository {
  /** Ids of their tasks, oldest first. */
  async taskIds(tx: Queryable): Promise<string[]> {
    const found = await tx
      .getRepository(LoadBalancerRemovalEntity)
      .find({ order: { createdAt: 'ASC', taskId: 'ASC' } });
    return found.map(({ taskId }) => taskId);
  }

  /** Ids of the tasks of a request. */
  async ofRequest(tx: Queryable, requestId: string): Promise<Set<string>> {
    const found = await rows<{ task_id: string }>(
      tx,
      'SELECT task_id FROM load_balancer_removal WHERE request_id = $1',
      [requestId],
    );
    return new Set(found.map((row) => row.task_id));
  }

  /** Ids of tasks that have ended and are still waited for, in their order. */
  async endedTaskIds(tx: Queryable): Promise<string[]> {
    const found = await rows<{ task_id: string }>(
      tx,
      `SELECT q.task_id FROM load_balancer_removal q LEFT JOIN task t USING (task_id)
       WHERE t.task_id IS NULL OR t.ended_at IS NOT NULL ORDER BY q.task_id`,
    );
    return found.map((row) => row.task_id);
  }

  /** Answers how many were not queued yet. Tasks whose row is gone are left out. */
  async add(tx: Queryable, taskIds: readonly string[], now: number): Promise<number> {
    if (taskIds.length === 0) return 0;
    const added = await rows(
      tx,
      `INSERT INTO load_balancer_removal (task_id, request_id, created_at)
       SELECT task_id, request_id, $2 FROM task WHERE task_id = ANY ($1) ORDER BY task_id
       ON CONFLICT (task_id) DO NOTHING RETURNING task_id`,
      [taskIds, new Date(now)],
    );
    return added.length;
  }

  async remove(tx: Transaction, taskId: string): Promise<void> {
    await tx.getRepository(LoadBalancerRemovalEntity).delete({ taskId });
  }
  /** Removes the rows of tasks whose own rows go, or that enter again. */
  async removeAll(tx: Transaction, taskIds: readonly string[]): Promise<void> {
    if (taskIds.length === 0) return;
    await tx.query('DELETE FROM load_balancer_removal WHERE task_id = ANY ($1)', [taskIds]);
  }
}
