import { Inject, Injectable } from '@nestjs/common';
import { isTerminal, type TaskState } from '../../core/model/enums.js';
import type { TaskHistory, TaskId } from '../../core/model/task.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { rows, toMillis, toTime } from '../../platform/database/sql.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { LiveTaskHistoryRepository } from './live-task-history.repository.js';
import { oldDocument } from './old-payloads.js';

/** One task, wherever its row stands. */
export interface TaskRecord {
  /** Still running, as far as is known. */
  active: boolean;
  slaveId?: string;
  runId?: string;
  /** Newest state; TASK_CLEANING never stands here. */
  state?: TaskState;
  history: TaskHistory;
}

/** A task that ended at another installation. */
export interface ImportedTask extends Pick<TaskRecord, 'runId' | 'slaveId' | 'state' | 'history'> {
  taskId: TaskId;
  /** Epoch milliseconds. */
  runningAt?: number;
  updatedAt: number;
}

interface RecordRow {
  active: boolean;
  slave_id: string | null;
  run_id: string | null;
  state: TaskState | null;
}
type EndedRow = RecordRow & { data: TaskHistory | null; bytes: Buffer | null };

/** Data of a task whose logs are looked for. */
interface TaskLifetime {
  group?: string;
  /** '' for none; absent: not known. */
  tag?: string;
  /** Epoch milliseconds. */
  endedAt?: number;
}

/** The part of a task that a purge deletes: its row, or what only its details need. */
export type PurgedPart = 'rows' | 'details';

/** of: which rows of the request $1 are left to take. */
const purges: Readonly<Record<PurgedPart, { of: string; purge: string }>> = {
  rows: { of: 'request_id = $1', purge: 'DELETE FROM task_history' },
  details: {
    of: 'request_id = $1 AND NOT purged',
    // Such a task still counts and is listed; its details are gone.
    purge: 'UPDATE task_history SET data = NULL, bytes = NULL, purged = true',
  },
};

/** From so many rows on, the size of the history is estimated: to read all of them would take seconds. */
const mostRowsRead = 100_000;

interface LifetimeRow {
  id: string;
  state: TaskState | null;
  at: Date;
  group_name: string | null;
  tag: string | null;
}

/** Tasks that have ended. By hand: the table is the largest one, and each statement follows one of its indexes. */
@Injectable()
export class TaskHistoryRepository {
  constructor(
    private readonly live: LiveTaskHistoryRepository,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /**
   * One task with everything known about it: among the live ones, else in the history. undefined: there is no such task, or
   * its history was purged or cannot be read.
   */
  async find(tx: Queryable, taskId: string): Promise<TaskRecord | undefined> {
    return (await this.findLive(tx, taskId)) ?? this.findEnded(tx, taskId);
  }

  private async findLive(tx: Queryable, taskId: string): Promise<TaskRecord | undefined> {
    const histories = await this.live.find(tx, [taskId]);
    if (histories.size === 0) return undefined;
    // The row of the task after everything else: while it is there nothing has moved to the history, so that all was read.
    const found = await rows<RecordRow>(
      tx,
      'SELECT ended_at IS NULL AS active, slave_id, run_id, state FROM task WHERE task_id = $1',
      [taskId],
    );
    return found.map((row) => fromRow(row, histories.get(taskId)))[0];
  }

  private async findEnded(tx: Queryable, taskId: string): Promise<TaskRecord | undefined> {
    const [row] = await rows<EndedRow>(
      tx,
      `SELECT false AS active, slave_id, run_id, last_task_status AS state, data, bytes
       FROM task_history WHERE task_id = $1 AND NOT purged`,
      [taskId],
    );
    return row && fromRow(row, row.data ?? oldDocument<TaskHistory>(this.settings, 'TASK', row.bytes));
  }

  /** The ids among these that are not in the history. */
  async missing(tx: Queryable, ids: readonly string[]): Promise<string[]> {
    const found = await rows<{ id: string }>(
      tx,
      `SELECT n.id FROM unnest($1::text[]) AS n (id)
       WHERE NOT EXISTS (SELECT 1 FROM task_history h WHERE h.task_id = n.id)`,
      [ids],
    );
    return found.map(({ id }) => id);
  }

  /** Ended tasks of another installation, as they were there. One that is here already stays. Answers how many were not. */
  async takeOver(tx: Transaction, tasks: readonly ImportedTask[]): Promise<number> {
    const written = await rows(
      tx,
      `INSERT INTO task_history (task_id, request_id, deploy_id, run_id, slave_id, host, rack_id, instance_no, started_at,
         running_at, updated_at, last_task_status, purged, data)
       SELECT task_id, request_id, deploy_id, run_id, slave_id, host, rack_id, instance_no, started_at,
         running_at, greatest(updated_at, started_at), last_task_status, false, data
       FROM jsonb_populate_recordset(NULL::task_history, $1::jsonb) ON CONFLICT (task_id) DO NOTHING RETURNING 1`,
      [
        JSON.stringify(
          tasks.map(({ taskId, runId, slaveId, runningAt, updatedAt, state, history }) => ({
            task_id: taskId.id,
            request_id: taskId.requestId,
            deploy_id: taskId.deployId,
            run_id: runId,
            slave_id: slaveId,
            host: taskId.host,
            rack_id: taskId.rackId,
            instance_no: taskId.instanceNo,
            started_at: new Date(taskId.startedAt),
            running_at: toTime(runningAt),
            updated_at: new Date(updatedAt),
            last_task_status: state,
            data: history,
          })),
        ),
      ],
    );
    return written.length;
  }

  /** Data of these tasks, live or ended, by id; unknown ones are left out. */
  async lifetimes(tx: Transaction, ids: readonly string[]): Promise<Map<string, TaskLifetime>> {
    const found = await rows<LifetimeRow>(
      tx,
      `SELECT task_id AS id, last_task_status AS state, updated_at AS at,
         data #>> '{task,taskRequest,request,group}' AS group_name,
         CASE WHEN data IS NOT NULL
           THEN coalesce(data #>> '{task,taskRequest,deploy,executorData,loggingTag}', '') END AS tag
       FROM task_history WHERE task_id = ANY ($1)
       UNION ALL
       SELECT t.task_id, t.state, t.state_at, l.document #>> '{request,group}',
         CASE WHEN d.data IS NOT NULL THEN coalesce(d.data #>> '{deploy,executorData,loggingTag}', '') END
       FROM task t LEFT JOIN task_launch l USING (task_id)
         LEFT JOIN deploy_history d ON (d.request_id, d.deploy_id) = (t.request_id, t.deploy_id)
       WHERE t.task_id = ANY ($1)`,
      [ids],
    );
    return new Map(
      found.map(({ id, state, at, group_name: group, tag }) => [
        id,
        {
          group: group ?? undefined,
          tag: tag ?? undefined,
          endedAt: state && isTerminal(state) ? at.getTime() : undefined,
        },
      ]),
    );
  }

  /** Tasks that were lost at `since` or later for one of these reasons, and when. */
  async lostSince(tx: Transaction, since: number, reasons: readonly string[]): Promise<{ id: string; at: number }[]> {
    const found = await rows<{ id: string; at: Date }>(
      tx,
      `SELECT h.task_id AS id, h.updated_at AS at FROM task_history h
       WHERE h.updated_at >= $1 AND h.last_task_status = 'TASK_LOST' AND EXISTS (
         SELECT 1 FROM jsonb_array_elements(h.data->'taskUpdates') u
         WHERE u->>'taskState' = 'TASK_LOST' AND u->>'statusReason' = ANY ($2))`,
      [new Date(since), reasons],
    );
    return found.map(({ id, at }) => ({ id, at: at.getTime() }));
  }

  /** Bytes of all their ids; of a long history about. */
  async idBytes(tx: Transaction): Promise<number> {
    const [found] = await rows<{ bytes: number }>(
      tx,
      `SELECT CASE WHEN reltuples < $1 THEN (SELECT coalesce(sum(octet_length(task_id)), 0) FROM task_history)
         ELSE reltuples * (SELECT avg(octet_length(task_id)) FROM (SELECT task_id FROM task_history LIMIT 1000) s)
         END::int8 AS bytes FROM pg_class WHERE oid = 'task_history'::regclass`,
      [mostRowsRead],
    );
    return found!.bytes;
  }

  /** The requests that have tasks here: from one to the next along the index, not past every task of each. */
  async requestIds(tx: Queryable): Promise<string[]> {
    const found = await rows<{ id: string }>(
      tx,
      `WITH RECURSIVE found (id) AS (
    SELECT min(request_id) FROM task_history
    UNION ALL SELECT (SELECT min(h.request_id) FROM task_history h WHERE h.request_id > found.id) FROM found WHERE id IS NOT NULL)
  SELECT id FROM found WHERE id IS NOT NULL`,
    );
    return found.map(({ id }) => id);
  }

  /**
   * Counts the tasks of a request that a purge could take, and reads the last update of the oldest of the newest
   * `newest`.
   */
  async purgeable(
    tx: Transaction,
    part: PurgedPart,
    requestId: string,
    newest: number,
  ): Promise<{ count: number; oldestThatStays: number | undefined }> {
    const { of } = purges[part];
    const [kept] = await rows<{ count: number; oldest: Date | null }>(
      tx,
      `SELECT count(*) AS count, (SELECT updated_at FROM task_history WHERE ${of}
         ORDER BY updated_at DESC OFFSET greatest($2 - 1, 0) LIMIT 1) AS oldest FROM task_history WHERE ${of}`,
      [requestId, newest],
    );
    return { count: kept!.count, oldestThatStays: toMillis(kept!.oldest) };
  }

  /** Takes the oldest ones that were updated last before that time, at most so many. */
  async purge(tx: Transaction, part: PurgedPart, requestId: string, before: number, most: number): Promise<void> {
    const { of, purge } = purges[part];
    await tx.query(
      `${purge} WHERE task_id = ANY (ARRAY(SELECT task_id FROM task_history WHERE ${of} AND updated_at < $2
         ORDER BY updated_at LIMIT $3))`,
      [requestId, new Date(before), most],
    );
  }
}

const fromRow = (row: RecordRow, history: TaskHistory | null | undefined): TaskRecord | undefined =>
  history
    ? {
        active: row.active,
        slaveId: row.slave_id ?? undefined,
        runId: row.run_id ?? undefined,
        state: row.state ?? undefined,
        history,
      }
    : undefined;
