import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { PendingRequest, PendingTask } from '../../core/model/task.js';
import type { DeployKey } from '../../modules/deploys/deploy-store.service.js';
import { rows } from '../../platform/database/sql.js';

export interface QueueEntry {
  /** Of its row. */
  id: number;
  entry: PendingRequest;
}

/** The scheduler's side of the pending queue: reads and removes entries, writes the pending tasks they lead to. */
@Injectable()
export class QueueStore {
  /** Requests with waiting entries, the longest waiting first. */
  async waitingRequestIds(tx: EntityManager): Promise<string[]> {
    const found = await rows<{ request_id: string }>(
      tx,
      'SELECT request_id FROM pending_request GROUP BY request_id ORDER BY min(created_at), min(id)',
    );
    return found.map((row) => row.request_id);
  }

  /** Oldest first. Locked, so that nobody replaces an entry between its reading and its removal. */
  async lockEntries(tx: EntityManager, requestIds: readonly string[]): Promise<QueueEntry[]> {
    const found = await rows<{ id: number; document: PendingRequest }>(
      tx,
      `SELECT id, document FROM pending_request WHERE request_id = ANY ($1) ORDER BY created_at, id FOR UPDATE`,
      [requestIds],
    );
    return found.map((row) => ({ id: row.id, entry: row.document }));
  }

  async removeEntries(tx: EntityManager, ids: readonly number[]): Promise<void> {
    if (ids.length > 0) await tx.query('DELETE FROM pending_request WHERE id = ANY ($1)', [ids]);
  }

  async pendingTaskIds(tx: EntityManager, requestIds: readonly string[]): Promise<Set<string>> {
    const found = await rows<{ id: string }>(tx, 'SELECT id FROM pending_task WHERE request_id = ANY ($1)', [
      requestIds,
    ]);
    return new Set(found.map((row) => row.id));
  }

  async removePendingTasksOf(tx: EntityManager, keys: readonly DeployKey[]): Promise<void> {
    if (keys.length === 0) return;
    await tx.query(
      `DELETE FROM pending_task t USING unnest($1::text[], $2::text[]) AS gone (request_id, deploy_id)
       WHERE t.request_id = gone.request_id AND t.deploy_id = gone.deploy_id`,
      [keys.map((key) => key.requestId), keys.map((key) => key.deployId)],
    );
  }

  /** Pending tasks that somebody asked to delete. Answers how many there were. */
  async removeUnwanted(tx: EntityManager): Promise<number> {
    return (await rows(tx, 'DELETE FROM pending_task WHERE delete_requested RETURNING id')).length;
  }

  async hasUnwanted(tx: EntityManager): Promise<boolean> {
    const [found] = await rows<{ unwanted: boolean }>(
      tx,
      'SELECT EXISTS (SELECT 1 FROM pending_task WHERE delete_requested) AS unwanted',
    );
    return found!.unwanted;
  }

  async insertPendingTasks(tx: EntityManager, tasks: readonly PendingTask[]): Promise<void> {
    if (tasks.length === 0) return;
    const column = <T>(pick: (task: PendingTask) => T): T[] => tasks.map(pick);
    await tx.query(
      `INSERT INTO pending_task (id, request_id, deploy_id, instance_no, pending_type, next_run_at, created_at, run_id, document)
       SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::integer[], $5::text[], $6::timestamptz[],
         $7::timestamptz[], $8::text[], $9::jsonb[])
       ON CONFLICT (id) DO NOTHING`,
      [
        column(({ pendingTaskId }) => pendingTaskId.id),
        column(({ pendingTaskId }) => pendingTaskId.requestId),
        column(({ pendingTaskId }) => pendingTaskId.deployId),
        column(({ pendingTaskId }) => pendingTaskId.instanceNo),
        column(({ pendingTaskId }) => pendingTaskId.pendingType),
        column(({ pendingTaskId }) => new Date(pendingTaskId.nextRunAt)),
        column(({ pendingTaskId }) => new Date(pendingTaskId.createdAt)),
        column((task) => task.runId ?? null),
        column((task) => JSON.stringify(task)),
      ],
    );
  }
}
