import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { noRecords, type BalancerRecords } from '../../core/load-balancer/index.js';
import type { LoadBalancerUpdate } from '../../core/model/load-balancer.js';
import { rows } from '../../platform/database/sql.js';

export type RecordKind = 'ADD' | 'REMOVE';

interface RecordRow {
  task_id: string;
  kind: RecordKind;
  attempts_before: number;
  document: LoadBalancerUpdate | null;
}

/** What the load balancer was told about tasks: the newest update per task and kind. Only of tasks whose row is live. */
@Injectable()
export class LoadBalancerRecords {
  /** By task id; every id asked for has an entry. */
  async find(tx: EntityManager, taskIds: readonly string[]): Promise<Map<string, BalancerRecords>> {
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

  /** The same update for several tasks. Tasks whose row is gone are left out. */
  async save(
    tx: EntityManager,
    taskIds: readonly string[],
    kind: RecordKind,
    update: LoadBalancerUpdate,
  ): Promise<void> {
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
    tx: EntityManager,
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
  async forget(tx: EntityManager, taskIds: readonly string[]): Promise<void> {
    if (taskIds.length === 0) return;
    await tx.query(
      `UPDATE load_balancer_record SET document = NULL,
         attempts_before = greatest(attempts_before, (document #>> '{loadBalancerRequestId,attemptNumber}')::int)
       WHERE task_id = ANY ($1) AND document IS NOT NULL`,
      [taskIds],
    );
  }
}
