import { Injectable } from '@nestjs/common';
import type { Outputs } from '../../core/flows/index.js';
import { runnableStates, type TaskState } from '../../core/model/enums.js';
import type { PendingTask, RunTrigger } from '../../core/model/task.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { rows, toMillis } from '../../platform/database/sql.js';

/** A run of a flow as stored. */
export interface StoredRun {
  flowId: string;
  requestId: string;
  runId: string;
  trigger?: RunTrigger;
  parentRuns: string[];
  asked: Partial<PendingTask>;
  createdAt: number;
  queuedAt?: number;
  endedAt?: number;
  taskId?: string;
  state?: TaskState;
  outputsProblem?: string;
}

/** A run that waits, with what its parents tell, in their order. */
export interface WaitingRun extends StoredRun {
  outputsOfParents: Record<string, string>[];
}

/** An ended run whose followers wait for what it tells. */
export interface RunWithOutputs extends Pick<StoredRun, 'flowId' | 'requestId' | 'runId'> {
  taskId: string;
  endedAt: number;
  /** The machine that has its files; absent: it is not known any more. */
  slaveId?: string;
}

/** A run of which nothing is left where it should be. */
export interface LostRun extends StoredRun {
  /** Its newest task; absent: it has had none. */
  last?: { taskId: string; state: TaskState; endedAt: number };
}

interface RunRow {
  flow_id: string;
  request_id: string;
  run_id: string;
  trigger: RunTrigger | null;
  parent_runs: string[];
  asked: Partial<PendingTask>;
  created_at: Date;
  queued_at: Date | null;
  ended_at: Date | null;
  task_id: string | null;
  state: TaskState | null;
  outputs_problem: string | null;
}
const runColumns = `flow_id, request_id, run_id, trigger, parent_runs, asked, created_at, queued_at, ended_at, task_id, state, outputs_problem`;

/** An ended run with what it tells. */
export type ToldRun = RunWithOutputs & Outputs;

/** SQL: what all parents of this run tell was read. */
const isTold = (run: string): string => `NOT EXISTS (SELECT 1 FROM flow_run parent WHERE parent.flow_id = ${run}.flow_id
  AND parent.task_id = ANY (${run}.parent_runs) AND parent.outputs IS NULL)`;

/**
 * Runs of flows after they were made: from waiting for their request to the queue, and what became of them. Changed under the lock on the
 * row of their request. By hand: the leader looks for those that wait in each of its passes.
 */
@Injectable()
export class FlowRunRepository {
  /** Requests with runs that wait and could go into their queue, or that are gone. */
  async waitingRequestIds(tx: Queryable): Promise<string[]> {
    const found = await rows<{ id: string }>(
      tx,
      `SELECT w.request_id AS id FROM flow_run w LEFT JOIN request r ON r.id = w.request_id
       WHERE w.queued_at IS NULL AND w.ended_at IS NULL AND ${isTold('w')}
         AND (r.id IS NULL OR r.active_deploy_id IS NOT NULL AND r.state = ANY ($1))
       GROUP BY w.request_id ORDER BY min(w.created_at), w.request_id`,
      [runnableStates],
    );
    return found.map((row) => row.id);
  }

  /** Number of the runs of flows that wait before the queue of this request. */
  async waitingCount(tx: Queryable, requestId: string): Promise<number> {
    const [found] = await rows<{ count: number }>(
      tx,
      'SELECT count(*)::int AS count FROM flow_run WHERE request_id = $1 AND queued_at IS NULL AND ended_at IS NULL',
      [requestId],
    );
    return found!.count;
  }

  /**
   * The oldest of the runs that wait for these requests, whose rows are locked in `tx`: of each request no more than it has room for, and
   * `most` together.
   */
  async waiting(tx: Transaction, rooms: ReadonlyMap<string, number>, most: number): Promise<WaitingRun[]> {
    const open = [...rooms].filter(([, room]) => room > 0);
    if (open.length === 0) return [];
    const found = await rows<RunRow & { told: Record<string, string>[] }>(
      tx,
      `SELECT w.*, (SELECT coalesce(jsonb_agg(parent.outputs ORDER BY place), '[]')
           FROM unnest(w.parent_runs) WITH ORDINALITY AS p (id, place)
           JOIN flow_run parent ON parent.flow_id = w.flow_id AND parent.task_id = p.id) AS told
       FROM unnest($1::text[], $2::bigint[]) AS r (id, room) CROSS JOIN LATERAL (SELECT ${runColumns} FROM flow_run w
         WHERE request_id = r.id AND queued_at IS NULL AND ended_at IS NULL AND ${isTold('w')}
         ORDER BY created_at, flow_id, run_id LIMIT r.room) AS w
       ORDER BY created_at, flow_id, run_id LIMIT $3`,
      [open.map(([id]) => id), open.map(([, room]) => room), most],
    );
    return found.map((row) => ({ ...storedRun(row), outputsOfParents: row.told }));
  }

  /** Runs whose followers wait for what they tell. */
  async withOutputs(tx: Queryable, most: number, away: readonly string[]): Promise<RunWithOutputs[]> {
    const found = await rows<{
      flow_id: string;
      request_id: string;
      run_id: string;
      task_id: string;
      ended_at: Date;
      slave_id: string | null;
    }>(
      tx,
      `SELECT p.flow_id, p.request_id, p.run_id, p.task_id, p.ended_at, s.slave_id
       FROM (SELECT DISTINCT parent.flow_id, parent.request_id, parent.run_id, parent.task_id, parent.ended_at
         FROM flow_run w JOIN flow_run parent ON parent.flow_id = w.flow_id AND parent.task_id = ANY (w.parent_runs)
         WHERE w.queued_at IS NULL AND w.ended_at IS NULL AND parent.outputs IS NULL) p
       CROSS JOIN LATERAL (SELECT coalesce((SELECT slave_id FROM task WHERE task_id = p.task_id),
           (SELECT slave_id FROM task_history WHERE task_id = p.task_id)) AS slave_id) s
       WHERE s.slave_id IS NULL OR s.slave_id <> ALL ($2)
       ORDER BY p.ended_at LIMIT $1`,
      [most, away],
    );
    return found.map((row) => ({
      flowId: row.flow_id,
      requestId: row.request_id,
      runId: row.run_id,
      taskId: row.task_id,
      endedAt: row.ended_at.getTime(),
      slaveId: row.slave_id ?? undefined,
    }));
  }

  async saveOutputs(tx: Transaction, told: readonly ToldRun[]): Promise<void> {
    await tx.query(
      `UPDATE flow_run SET outputs = o, outputs_problem = p
       FROM unnest($1::text[], $2::text[], $3::text[], $4::jsonb[], $5::text[]) AS k (f, r, n, o, p)
       WHERE flow_id = f AND request_id = r AND run_id = n`,
      [
        told.map(({ flowId }) => flowId),
        told.map(({ requestId }) => requestId),
        told.map(({ runId }) => runId),
        told.map(({ values }) => JSON.stringify(values)),
        told.map(({ problem }) => problem ?? null),
      ],
    );
  }

  /** They are in the queue of their request. */
  async queued(tx: Transaction, runs: readonly StoredRun[], now: number): Promise<void> {
    await this.change(tx, runs, 'queued_at = $4', [new Date(now)]);
  }

  /** They wait for the queue of their request again: what became of them is not known, and nothing of them runs. */
  async wait(tx: Transaction, runs: readonly StoredRun[]): Promise<void> {
    await this.change(tx, runs, 'queued_at = NULL', []);
  }

  private async change(tx: Transaction, runs: readonly StoredRun[], what: string, values: unknown[]): Promise<void> {
    if (runs.length === 0) return;
    await tx.query(
      `UPDATE flow_run SET ${what} FROM unnest($1::text[], $2::text[], $3::text[]) AS k (f, r, n)
       WHERE flow_id = f AND request_id = r AND run_id = n AND ended_at IS NULL`,
      [runs.map((run) => run.flowId), runs.map((run) => run.requestId), runs.map((run) => run.runId), ...values],
    );
  }

  /** Runs that wait are given up with their requests. */
  async giveUp(tx: Transaction, requestIds: readonly string[], now: number): Promise<void> {
    await tx.query(
      `UPDATE flow_run SET ended_at = $2 WHERE request_id = ANY ($1) AND ended_at IS NULL AND NOT EXISTS (SELECT 1 FROM task t
         WHERE t.request_id = flow_run.request_id AND t.run_id = flow_run.run_id AND t.ended_at IS NULL)`,
      [requestIds, new Date(now)],
    );
  }

  /**
   * Runs in the queue of their request of which nothing is left there, among pending tasks or among live tasks; each with its newest
   * task in the history, where it had one. Of one request, or of all.
   */
  async lost(tx: Queryable, most: number, requestId?: string): Promise<LostRun[]> {
    const found = await rows<RunRow & { last_task_id: string | null; last_state: TaskState; last_at: Date }>(
      tx,
      `SELECT f.*, h.task_id AS last_task_id, h.last_task_status AS last_state, h.updated_at AS last_at
       FROM (SELECT ${runColumns} FROM flow_run f
         WHERE queued_at IS NOT NULL AND ended_at IS NULL AND ($2::text IS NULL OR request_id = $2)
           AND NOT EXISTS (SELECT 1 FROM pending_request p WHERE p.request_id = f.request_id AND p.run_id = f.run_id)
           AND NOT EXISTS (SELECT 1 FROM pending_task p WHERE p.request_id = f.request_id AND p.run_id = f.run_id)
           AND NOT EXISTS (SELECT 1 FROM task t WHERE t.request_id = f.request_id AND (t.run_id = f.run_id OR t.task_id = f.task_id))
         ORDER BY queued_at LIMIT $1) f
       LEFT JOIN LATERAL (SELECT task_id, last_task_status, updated_at FROM task_history
         WHERE request_id = f.request_id AND (run_id = f.run_id OR task_id = f.task_id)
         ORDER BY started_at DESC LIMIT 1) h ON true`,
      [most, requestId ?? null],
    );
    return found.map((row) => ({
      ...storedRun(row),
      last:
        row.last_task_id === null
          ? undefined
          : { taskId: row.last_task_id, state: row.last_state, endedAt: row.last_at.getTime() },
    }));
  }

  /** A run that its caller took back before it began: nothing follows. */
  async takeBack(tx: Transaction, { pendingTaskId, flowId, runId }: PendingTask, now: number): Promise<void> {
    await tx.query(
      'UPDATE flow_run SET ended_at = $4 WHERE flow_id = $1 AND request_id = $2 AND run_id = $3 AND ended_at IS NULL',
      [flowId, pendingTaskId.requestId, runId, new Date(now)],
    );
  }

  /** All runs of a flow, in the order in which they were made. */
  async ofFlow(tx: Queryable, flowId: string): Promise<StoredRun[]> {
    const found = await rows<RunRow>(
      tx,
      `SELECT ${runColumns} FROM flow_run WHERE flow_id = $1 ORDER BY created_at, queued_at, request_id, run_id`,
      [flowId],
    );
    return found.map(storedRun);
  }

  /** The newest run of each of these requests in any flow. */
  async newest(tx: Queryable, requestIds: readonly string[]): Promise<Map<string, StoredRun>> {
    const found = await rows<RunRow>(
      tx,
      `SELECT newest.* FROM unnest($1::text[]) AS asked (id) CROSS JOIN LATERAL (SELECT ${runColumns} FROM flow_run
         WHERE request_id = asked.id ORDER BY created_at DESC, flow_id, run_id LIMIT 1) AS newest`,
      [requestIds],
    );
    return new Map(found.map((row) => [row.request_id, storedRun(row)]));
  }
}

const storedRun = (row: RunRow): StoredRun => ({
  flowId: row.flow_id,
  requestId: row.request_id,
  runId: row.run_id,
  trigger: row.trigger ?? undefined,
  parentRuns: row.parent_runs,
  asked: row.asked,
  createdAt: row.created_at.getTime(),
  queuedAt: toMillis(row.queued_at),
  endedAt: toMillis(row.ended_at),
  taskId: row.task_id ?? undefined,
  state: row.state ?? undefined,
  outputsProblem: row.outputs_problem ?? undefined,
});
