import { Injectable } from '@nestjs/common';
import type { ReadFilter } from '../../core/authorization/index.js';
import { deployKeyText, type Deploy, type DeployKey } from '../../core/model/deploy.js';
import { runnableStates, turnTypes, type PendingType, type RequestType } from '../../core/model/enums.js';
import type { Request } from '../../core/model/request.js';
import type { PendingTask, PendingTaskId, RunKey, TaskRequest } from '../../core/model/task.js';
import { parsePendingTaskId } from '../../core/task-id.js';
import { keysetOf, type KeysetPage } from '../../platform/database/keyset.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { rows } from '../../platform/database/sql.js';
import { OutboxRepository } from '../events/outbox.repository.js';
import { seenOfSql, seenParameters } from '../requests/request-access.repository.js';

/** Order of pending tasks in all lists but pages. */
const order = 'p.next_run_at, p.request_id, p.deploy_id, p.instance_no, p.created_at, p.id';
/** A page of what the caller may read, in the order of ids; with what keysetOf reads beyond it. */
interface Part {
  page: KeysetPage;
  sight: ReadFilter;
}
const partSql = (first: number): string =>
  `AND ${seenOfSql('p.request_id', first)} AND p.id > $${first + 4} ORDER BY p.id LIMIT $${first + 5}`;
const partParameters = (part: Part | undefined): unknown[] =>
  part ? [...seenParameters(part.sight), ...keysetOf(part.page)] : [];

interface ScheduledRow {
  pending_task: PendingTask;
  request: Request;
  deploy: Deploy;
}

/**
 * Tasks that are to be placed, each at its time. Those marked as unwanted are as good as gone; the scheduler removes them.
 * By hand: drain and placement write and take them in batches of hundreds, and placement reads all of them.
 */
@Injectable()
export class PendingTaskRepository {
  constructor(private readonly outbox: OutboxRepository) {}

  /**
   * With the request as it will be when its pending deploy succeeds, in the order in which they are due. Those whose
   * request may not run, or whose deploy is not known, are left out.
   */
  async runnable(tx: Queryable, filter: { requestId?: string; id?: string }, part?: Part): Promise<TaskRequest[]> {
    const found = await rows<ScheduledRow>(
      tx,
      `SELECT p.document AS pending_task, coalesce(pd.updated_request, r.document) AS request, d.data->'deploy' AS deploy
       FROM pending_task p JOIN request r ON r.id = p.request_id AND r.state = ANY ($3)
       JOIN deploy_history d ON d.request_id = p.request_id AND d.deploy_id = p.deploy_id AND d.data IS NOT NULL
       LEFT JOIN pending_deploy pd ON pd.request_id = p.request_id AND pd.deploy_id = p.deploy_id
       WHERE NOT p.delete_requested AND ($1::text IS NULL OR p.request_id = $1) AND ($2::text IS NULL OR p.id = $2)
       ${part ? partSql(4) : `ORDER BY ${order}`}`,
      [filter.requestId ?? null, filter.id ?? null, runnableStates, ...partParameters(part)],
    );
    return found.map(({ request, deploy, pending_task: pendingTask }) => ({ request, deploy, pendingTask }));
  }

  async ids(tx: Queryable, part?: Part): Promise<PendingTaskId[]> {
    const found = await rows<{ id: string }>(
      tx,
      `SELECT p.id FROM pending_task p WHERE NOT p.delete_requested ${part ? partSql(1) : `ORDER BY ${order}`}`,
      partParameters(part),
    );
    return found.map((row) => parsePendingTaskId(row.id)!);
  }

  /** Ids for these requests, in the order in which they are due. */
  async idsOf(tx: Queryable, requestIds: readonly string[]): Promise<PendingTaskId[]> {
    const found = await rows<{ id: string }>(
      tx,
      `SELECT id FROM pending_task WHERE request_id = ANY ($1) AND NOT delete_requested ORDER BY next_run_at, id`,
      [requestIds],
    );
    return found.flatMap((row) => parsePendingTaskId(row.id) ?? []);
  }

  /** Holds the row until `tx` ends. The type is that of its request, as long as there is one. */
  async lock(tx: Transaction, id: string): Promise<{ task: PendingTask; requestType?: RequestType } | undefined> {
    const [found] = await rows<{ document: PendingTask; request_type: RequestType | null }>(
      tx,
      `SELECT p.document, r.request_type FROM pending_task p LEFT JOIN request r ON r.id = p.request_id
       WHERE p.id = $1 AND NOT p.delete_requested FOR NO KEY UPDATE OF p`,
      [id],
    );
    return found && { task: found.document, requestType: found.request_type ?? undefined };
  }

  async markUnwanted(tx: Transaction, id: string): Promise<void> {
    const marked = await rows<{ id: string }>(
      tx,
      'UPDATE pending_task SET delete_requested = true WHERE id = $1 AND NOT delete_requested RETURNING id',
      [id],
    );
    await this.tellRemoved(tx, marked);
  }

  /** The newest one of a run. */
  async ofRun(tx: Transaction, { requestId, runId, askedAt }: RunKey): Promise<PendingTask | undefined> {
    const [found] = await rows<{ document: PendingTask }>(
      tx,
      `SELECT document FROM pending_task WHERE request_id = $1 AND run_id = $2 AND NOT delete_requested
         AND ($3::bigint IS NULL OR (document->>'askedAt')::bigint = $3)
       ORDER BY created_at DESC LIMIT 1`,
      [requestId, runId, askedAt ?? null],
    );
    return found?.document;
  }

  async removeAll(tx: Transaction, requestId: string): Promise<void> {
    await this.delete(tx, 'WHERE request_id = $1', [requestId]);
  }

  /** An id that is there already stays as it is. */
  async insert(tx: Transaction, tasks: readonly PendingTask[]): Promise<void> {
    if (tasks.length === 0) return;
    const column = <T>(pick: (task: PendingTask) => T): T[] => tasks.map(pick);
    const inserted = tx.query(
      `INSERT INTO pending_task
         (id, request_id, deploy_id, instance_no, pending_type, next_run_at, created_at, run_id, document, bytes)
       SELECT t.*, octet_length(t.document::text)
       FROM unnest($1::text[], $2::text[], $3::text[], $4::integer[], $5::text[], $6::timestamptz[], $7::timestamptz[],
         $8::text[], $9::jsonb[])
         AS t (id, request_id, deploy_id, instance_no, pending_type, next_run_at, created_at, run_id, document)
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
    await Promise.all([
      inserted,
      this.outbox.pendingTasks(
        tx,
        'QUEUED',
        column(({ pendingTaskId }) => pendingTaskId),
      ),
    ]);
  }

  /** All ids of these requests, wanted or not. */
  async takenIds(tx: Transaction, requestIds: readonly string[]): Promise<Set<string>> {
    const found = await rows<{ id: string }>(tx, 'SELECT id FROM pending_task WHERE request_id = ANY ($1)', [
      requestIds,
    ]);
    return new Set(found.map((row) => row.id));
  }

  /** Deploys of these requests under which a promised run waits that the schedule waits for. */
  withPromisedRuns(tx: Transaction, requestIds: readonly string[]): Promise<DeployKey[]> {
    return rows(
      tx,
      `SELECT DISTINCT request_id AS "requestId", deploy_id AS "deployId" FROM pending_task
       WHERE request_id = ANY ($1) AND pending_type = ANY ($2) AND NOT delete_requested`,
      [requestIds, turnTypes],
    );
  }

  /** Pending tasks that no caller asked to delete: of the given requests, or all. */
  async wanted(tx: Queryable, requestIds: readonly string[] | null): Promise<PendingTask[]> {
    const found = await rows<{ document: PendingTask }>(
      tx,
      `SELECT document FROM pending_task WHERE NOT delete_requested AND ($1::text[] IS NULL OR request_id = ANY ($1))`,
      [requestIds],
    );
    return found.map((row) => row.document);
  }

  /** Removes those that are still there and wanted, and answers their ids. Others touch them one by one, or hold their request. */
  async take(tx: Transaction, ids: readonly string[]): Promise<Set<string>> {
    const found = await rows<{ id: string }>(
      tx,
      'DELETE FROM pending_task WHERE id = ANY ($1) AND NOT delete_requested RETURNING id',
      [ids],
    );
    return new Set(found.map((row) => row.id));
  }

  async remove(tx: Transaction, ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await this.delete(tx, 'WHERE id = ANY ($1)', [ids]);
  }

  async removeOfDeploys(tx: Transaction, keys: readonly DeployKey[]): Promise<void> {
    if (keys.length === 0) return;
    await this.delete(
      tx,
      `USING unnest($1::text[], $2::text[]) AS gone (request_id, deploy_id)
       WHERE t.request_id = gone.request_id AND t.deploy_id = gone.deploy_id AND t.pending_type <> 'BACKFILL'`,
      [keys.map((key) => key.requestId), keys.map((key) => key.deployId)],
    );
  }

  /** Counts the pending tasks of a request, without those that a caller asked to delete. */
  async wantedCount(tx: Transaction, requestId: string): Promise<number> {
    const [found] = await rows<{ tasks: number }>(
      tx,
      'SELECT count(*)::int AS tasks FROM pending_task WHERE request_id = $1 AND NOT delete_requested',
      [requestId],
    );
    return found!.tasks;
  }

  /**
   * The reasons why tasks of these deploys are not placed, as the leader wrote them last, by deployKeyText; it may not
   * have looked yet.
   */
  async whyWaiting(tx: Queryable, deploys: readonly DeployKey[]): Promise<Map<string, string>> {
    if (deploys.length === 0) return new Map();
    const found = await rows<{ request_id: string; deploy_id: string; message: string }>(
      tx,
      `SELECT DISTINCT ON (p.request_id, p.deploy_id) p.request_id, p.deploy_id, w.message
       FROM waiting_reason w JOIN pending_task p ON p.id = w.pending_task_id
       WHERE (p.request_id, p.deploy_id) IN (SELECT * FROM unnest($1::text[], $2::text[]))
       ORDER BY p.request_id, p.deploy_id, w.at DESC, p.id`,
      [deploys.map(({ requestId }) => requestId), deploys.map(({ deployId }) => deployId)],
    );
    return new Map(
      found.map((row) => [deployKeyText({ requestId: row.request_id, deployId: row.deploy_id }), row.message]),
    );
  }

  async hasUnwanted(tx: Queryable): Promise<boolean> {
    const [found] = await rows<{ unwanted: boolean }>(
      tx,
      'SELECT EXISTS (SELECT 1 FROM pending_task WHERE delete_requested) AS unwanted',
    );
    return found!.unwanted;
  }

  /** Pending tasks that a caller asked to delete. */
  async removeUnwanted(tx: Transaction): Promise<void> {
    await tx.query('DELETE FROM pending_task WHERE delete_requested');
  }

  /**
   * Counts the tasks of a deploy that wait for a machine. Without limit while an entry that will make the missing ones
   * waits.
   */
  async countOfDeploy(tx: Transaction, requestId: string, deployId: string): Promise<number> {
    const [found] = await rows<{ tasks: number; is_waiting: boolean }>(
      tx,
      `SELECT (SELECT count(*)::int FROM pending_task WHERE request_id = $1 AND deploy_id = $2) AS tasks,
         EXISTS (SELECT 1 FROM pending_request WHERE request_id = $1 AND deploy_id = $2) AS is_waiting`,
      [requestId, deployId],
    );
    // An entry that waits will make as many tasks as are missing, whatever their number.
    return found!.is_waiting ? Number.POSITIVE_INFINITY : found!.tasks;
  }

  async removeOfOtherDeploys(tx: Transaction, requestId: string, deployId: string): Promise<void> {
    await this.delete(tx, 'WHERE request_id = $1 AND deploy_id <> $2', [requestId, deployId]);
  }

  /** Asks for the removal of tasks of other deploys and answers them. The rows themselves are the leader's to remove. */
  async requestRemovalOfOtherDeploys(
    tx: Transaction,
    requestId: string,
    deployId: string,
    types: readonly PendingType[],
  ): Promise<PendingTask[]> {
    const marked = await rows<{ id: string; document: PendingTask }>(
      tx,
      `UPDATE pending_task SET delete_requested = true
       WHERE request_id = $1 AND deploy_id <> $2 AND pending_type = ANY ($3) AND NOT delete_requested RETURNING id, document`,
      [requestId, deployId, types],
    );
    await this.tellRemoved(tx, marked);
    return marked.map(({ document }) => document);
  }

  /** The one way out for tasks that were not placed. Those that were marked before are told already. */
  private async delete(tx: Transaction, where: string, parameters: unknown[]): Promise<void> {
    const removed = await rows<{ id: string; is_told: boolean }>(
      tx,
      `DELETE FROM pending_task t ${where} RETURNING t.id, t.delete_requested AS is_told`,
      parameters,
    );
    await this.tellRemoved(
      tx,
      removed.filter(({ is_told }) => !is_told),
    );
  }

  private tellRemoved(tx: Transaction, removed: readonly { id: string }[]): Promise<void> {
    const keys: DeployKey[] = removed.flatMap(({ id }) => parsePendingTaskId(id) ?? []);
    return this.outbox.pendingTasks(tx, 'REMOVED', keys);
  }
}
