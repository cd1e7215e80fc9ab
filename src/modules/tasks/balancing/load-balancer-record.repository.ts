import { Injectable } from '@nestjs/common';
import { noRecords, type BalancerRecords } from '../../../core/load-balancer/index.js';
import type { LoadBalancerUpdate } from '../../../core/model/load-balancer.js';
import type { Queryable } from '../../../platform/database/queryable.js';
import { rows } from '../../../platform/database/sql.js';

export type RecordKind = 'ADD' | 'REMOVE';

interface RecordRow {
  task_id: string;
  kind: RecordKind;
  attempts_before: number;
  document: LoadBalancerUpdate | null;
}

/**
 * Updates sent to the load balancer about tasks: the newest one per task and kind. Only of tasks whose row is live. By
 * hand: what is written depends on the task's row, which is locked in the same statement.
 */
@Injectable()
export class LoadBalancerRecordRepository {
  /** By task id; every id asked for has an entry. */
  async find(tx: Queryable, taskIds: readonly string[]): Promise<Map<string, BalancerRecords>> {
    const found = new Map(taskIds.map((id): [string, BalancerRecords] => [id, noRecords]));
    if (taskIds.length === 0) return found;
    const stored = await rows<RecordRow>(tx, 'SELECT * FROM load_balancer_record WHERE task_id = ANY ($1)', [taskIds]);
    for (const { task_id: id, kind, attempts_before: before, document } of stored) {
      const update = document ?? undefined;
      const added =
        kind === 'ADD' ? { add: update, addAttemptsBefore: before } : { remove: update, removeAttemptsBefore: before };
      found.set(id, { ...found.get(id)!, ...added });
    }
    return found;
  }

  /**
   * Running tasks of load balanced requests that do not get their traffic, or not for sure; in the order of task ids. Those
   * of a deploy in progress, and those that have to go, are left out.
   */
  async tasksOutside(tx: Queryable): Promise<string[]> {
    const found = await rows<{ task_id: string }>(
      tx,
      `SELECT t.task_id FROM task t JOIN request r ON r.id = t.request_id
         LEFT JOIN load_balancer_record a ON a.task_id = t.task_id AND a.kind = 'ADD'
         LEFT JOIN load_balancer_record m ON m.task_id = t.task_id AND m.kind = 'REMOVE'
       WHERE t.ended_at IS NULL AND t.running_at IS NOT NULL AND (r.document ->> 'loadBalanced')::boolean
         AND t.deploy_id IS DISTINCT FROM r.pending_deploy_id
         AND (a.document IS NULL OR a.document ->> 'loadBalancerState' <> 'SUCCESS' OR m.document IS NOT NULL)
         AND NOT EXISTS (SELECT 1 FROM task_cleanup c WHERE c.task_id = t.task_id)
         AND NOT EXISTS (SELECT 1 FROM killed_task k WHERE k.task_id = t.task_id)
       ORDER BY t.task_id`,
    );
    return found.map((row) => row.task_id);
  }

  /** Saves one update for several tasks. Tasks whose row is gone are left out. */
  async save(tx: Queryable, taskIds: readonly string[], kind: RecordKind, update: LoadBalancerUpdate): Promise<void> {
    if (taskIds.length === 0) return;
    await tx.query(
      `INSERT INTO load_balancer_record (task_id, kind, document)
       SELECT task_id, $2, $3 FROM task WHERE task_id = ANY ($1) ORDER BY task_id FOR KEY SHARE
       ON CONFLICT (task_id, kind) DO UPDATE SET document = excluded.document`,
      [taskIds, kind, JSON.stringify(update)],
    );
  }

  /**
   * The answer to a call that was made outside a transaction: false, and nothing is written, when the record is not any
   * more what the call was made for.
   */
  async saveAnswer(
    tx: Queryable,
    taskId: string,
    kind: RecordKind,
    former: LoadBalancerUpdate | undefined,
    answer: LoadBalancerUpdate,
  ): Promise<boolean> {
    const given = [taskId, kind, JSON.stringify(answer)];
    // An earlier, forgotten record is a row without document.
    const written = former
      ? await rows(
          tx,
          `UPDATE load_balancer_record SET document = $3 WHERE task_id = $1 AND kind = $2 AND document = $4 RETURNING 1`,
          [...given, JSON.stringify(former)],
        )
      : await rows(
          tx,
          `INSERT INTO load_balancer_record AS stored (task_id, kind, document)
           SELECT task_id, $2, $3 FROM task WHERE task_id = $1 FOR KEY SHARE
           ON CONFLICT (task_id, kind) DO UPDATE SET document = excluded.document WHERE stored.document IS NULL RETURNING 1`,
          given,
        );
    return written.length > 0;
  }

  /** As if the load balancer had never been told about these tasks; whatever it is told next is new to it, too. */
  async forget(tx: Queryable, taskIds: readonly string[]): Promise<void> {
    if (taskIds.length === 0) return;
    await tx.query(
      `UPDATE load_balancer_record SET document = NULL,
         attempts_before = greatest(attempts_before, (document #>> '{loadBalancerRequestId,attemptNumber}')::int)
       WHERE task_id = ANY ($1) AND document IS NOT NULL`,
      [taskIds],
    );
  }
  /** Removes the records of tasks whose own rows go. */
  async removeAll(tx: Queryable, taskIds: readonly string[]): Promise<void> {
    await tx.query('DELETE FROM load_balancer_record WHERE task_id = ANY ($1)', [taskIds]);
  }
}
