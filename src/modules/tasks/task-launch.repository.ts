import { Injectable } from '@nestjs/common';
import { type LaunchDecision, launchedText } from '../../core/launch/index.js';
import type { TaskCleanupType } from '../../core/model/enums.js';
import type { LaunchSpec } from '../../core/model/launch.js';
import type { PendingTask, TaskId } from '../../core/model/task.js';
import { parseTaskId } from '../../core/task-id.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { rows } from '../../platform/database/sql.js';
import type { LaunchDocument } from './launched-task.repository.js';

/** A task that was given its place. */
export interface PlacedTask extends LaunchDecision {
  launch: LaunchSpec;
  /** The LaunchDocument as JSON text. */
  document: string;
}

/** The pending task that a task was launched from, and what became of that. */
export interface LaunchData {
  pendingTask: PendingTask;
  hadToGo: boolean;
  /** Reason for which it had to go. */
  cleanupType?: TaskCleanupType;
}

/** A launch that is sent again and again. */
export interface UnansweredLaunch {
  taskId: TaskId;
  slaveId: string;
  /** Epoch milliseconds. */
  launchedAt: number;
  /** As the driver said it last. */
  reason: string;
}

interface LaunchDataRow {
  task_id: string;
  pending_task: PendingTask;
  had_to_go: boolean;
  cleanup_type: TaskCleanupType | null;
}

/** Columns of a new row of `task`: name, type of the array it travels in, value. */
const placedColumns: readonly (readonly [name: string, type: string, value: (task: PlacedTask) => unknown])[] = [
  ['task_id', 'text', ({ taskId }) => taskId.id],
  ['request_id', 'text', ({ taskId }) => taskId.requestId],
  ['deploy_id', 'text', ({ taskId }) => taskId.deployId],
  ['slave_id', 'text', ({ place }) => place.slaveId],
  ['instance_no', 'integer', ({ taskId }) => taskId.instanceNo],
  ['host', 'text', ({ place }) => place.hostname],
  ['rack_id', 'text', ({ place }) => place.rackId],
  ['started_at', 'timestamptz', ({ taskId }) => new Date(taskId.startedAt)],
  ['pending_type', 'text', ({ pending }) => pending.pendingTaskId.pendingType],
  ['run_id', 'text', ({ pending }) => pending.runId ?? null],
  ['action_id', 'text', ({ pending }) => pending.actionId ?? null],
  ['skip_healthchecks', 'boolean', ({ pending }) => pending.skipHealthchecks ?? false],
  ['cpus', 'float8', ({ launch }) => launch.cpus],
  ['memory_mb', 'float8', ({ launch }) => launch.memoryMb],
  ['disk_mb', 'float8', ({ launch }) => launch.diskMb],
  ['extended::jsonb', 'text', ({ launch }) => (launch.extended ? JSON.stringify(launch.extended) : null)],
  // An array of arrays would have to be rectangular.
  ['ports::integer[]', 'text', ({ launch }) => `{${launch.ports.join(',')}}`],
  ['incarnation', 'text', ({ launch }) => launch.incarnation],
];

const names = placedColumns.map(([name]) => name.replace(/::.*/, '')).join(', ');
const insertTasksSql = `INSERT INTO task (${names}, state, state_at)
  SELECT ${placedColumns.map(([name]) => name).join(', ')}, 'TASK_LAUNCHED', $${placedColumns.length + 1}
  FROM unnest(${placedColumns.map(([, type], index) => `$${index + 1}::${type}[]`).join(', ')}) AS p (${names})`;

/**
 * Launches: written with their tasks before they are sent, repeated until they are answered.
 * By hand: placement writes ten thousand a second, 500 in a statement.
 */
@Injectable()
export class TaskLaunchRepository {
  /** Documents travel as one JSON array: as elements of a PostgreSQL array each of their quotes would be escaped. */
  async insert(tx: Transaction, placed: readonly PlacedTask[], now: number): Promise<void> {
    const ids = placed.map(({ taskId }) => taskId.id);
    // The server works at one while the next one is put together here.
    await Promise.all([
      tx.query(insertTasksSql, [...placedColumns.map(([, , value]) => placed.map(value)), new Date(now)]),
      tx.query(
        `INSERT INTO task_launch (task_id, document)
         SELECT task_id, document FROM ROWS FROM (unnest($1::text[]), json_array_elements($2::json)) AS l (task_id, document)`,
        [ids, `[${placed.map(({ document }) => document).join(',')}]`],
      ),
      tx.query(
        `INSERT INTO task_update (task_id, state, at, message)
         SELECT task_id, 'TASK_LAUNCHED', $3, message FROM unnest($1::text[], $2::text[]) AS u (task_id, message)`,
        [ids, placed.map(({ pending }) => launchedText(pending)), new Date(now)],
      ),
    ]);
  }

  /** The given task ids that a task has or had. */
  async usedIds(tx: Transaction, taskIds: readonly string[]): Promise<Set<string>> {
    if (taskIds.length === 0) return new Set();
    const found = await rows<{ task_id: string }>(
      tx,
      `SELECT task_id FROM task WHERE task_id = ANY ($1) UNION ALL SELECT task_id FROM task_history WHERE task_id = ANY ($1)`,
      [taskIds],
    );
    return new Set(found.map((row) => row.task_id));
  }

  /** No task has begun later, by its id; a bound that indexes give at once. */
  async latestStart(tx: Queryable): Promise<number> {
    const [found] = await rows<{ latest: Date | null }>(
      tx,
      `SELECT greatest((SELECT max(started_at) FROM task), (SELECT max(updated_at) FROM task_history)) AS latest`,
    );
    return found?.latest?.getTime() ?? 0;
  }

  /** Launches that no machine has answered yet. */
  async unanswered(tx: Queryable): Promise<LaunchSpec[]> {
    const found = await rows<{ launch: LaunchSpec }>(
      tx,
      `SELECT l.document->'launch' AS launch FROM task t JOIN task_launch l USING (task_id)
       WHERE t.answered_at IS NULL AND t.ended_at IS NULL`,
    );
    return found.map(({ launch }) => launch);
  }

  /** The given tasks that still wait for an answer. */
  async stillUnanswered(tx: Queryable, taskIds: readonly string[]): Promise<Set<string>> {
    const found = await rows<{ task_id: string }>(
      tx,
      'SELECT task_id FROM task WHERE task_id = ANY ($1) AND answered_at IS NULL AND ended_at IS NULL',
      [taskIds],
    );
    return new Set(found.map((row) => row.task_id));
  }

  /** Those of a request for which a reason is known, the oldest first. */
  async unansweredOf(tx: Queryable, requestId: string, most: number): Promise<UnansweredLaunch[]> {
    const found = await rows<{ task_id: string; slave_id: string; started_at: Date; unanswered_because: string }>(
      tx,
      `SELECT task_id, slave_id, started_at, unanswered_because FROM task
       WHERE request_id = $1 AND state = 'TASK_LAUNCHED' AND answered_at IS NULL AND ended_at IS NULL
         AND unanswered_because IS NOT NULL
       ORDER BY started_at, task_id LIMIT $2`,
      [requestId, most],
    );
    return found.map((row) => ({
      taskId: parseTaskId(row.task_id)!, // made by this service, so it can be read
      slaveId: row.slave_id,
      launchedAt: row.started_at.getTime(),
      reason: row.unanswered_because,
    }));
  }

  /** Notes why they were not answered. */
  async notAnswered(tx: Transaction, launches: readonly { taskId: string; reason: string }[]): Promise<void> {
    const ids = launches.map(({ taskId }) => taskId);
    await rows(tx, 'SELECT 1 FROM task WHERE task_id = ANY ($1) ORDER BY task_id FOR NO KEY UPDATE', [ids]);
    await tx.query(
      `UPDATE task SET unanswered_because = u.reason FROM unnest($1::text[], $2::text[]) AS u (task_id, reason)
       WHERE task.task_id = u.task_id AND answered_at IS NULL AND unanswered_because IS DISTINCT FROM u.reason`,
      [ids, launches.map(({ reason }) => reason)],
    );
  }

  /** Their machines have taken them on, each in the given sandbox. */
  async accepted(
    tx: Transaction,
    launches: readonly { taskId: string; directory: string }[],
    now: number,
  ): Promise<void> {
    const ids = launches.map(({ taskId }) => taskId);
    await rows(tx, 'SELECT 1 FROM task WHERE task_id = ANY ($1) ORDER BY task_id FOR NO KEY UPDATE', [ids]);
    await tx.query(
      `UPDATE task SET sent_at = coalesce(sent_at, $3), answered_at = coalesce(answered_at, $3),
         directory = coalesce(task.directory, a.directory)
       FROM unnest($1::text[], $2::text[]) AS a (task_id, directory) WHERE task.task_id = a.task_id`,
      [ids, launches.map(({ directory }) => directory), new Date(now)],
    );
  }

  /** By task id. */
  async launchData(tx: Transaction, taskIds: readonly string[]): Promise<Map<string, LaunchData>> {
    const found = await rows<LaunchDataRow>(
      tx,
      `SELECT l.task_id, l.document->'pendingTask' AS pending_task,
         c.task_id IS NOT NULL AS had_to_go, c.cleanup_type
       FROM task_launch l LEFT JOIN task_update c ON c.task_id = l.task_id AND c.state = 'TASK_CLEANING'
       WHERE l.task_id = ANY ($1)`,
      [taskIds],
    );
    return new Map(
      found.map((row) => [
        row.task_id,
        { pendingTask: row.pending_task, hadToGo: row.had_to_go, cleanupType: row.cleanup_type ?? undefined },
      ]),
    );
  }

  /** What a live task was launched for. */
  async launchedFor(tx: Transaction, taskId: string): Promise<Pick<LaunchDocument, 'request' | 'pendingTask'>> {
    const [found] = await rows<Pick<LaunchDocument, 'request' | 'pendingTask'>>(
      tx,
      `SELECT document->'request' AS request, document->'pendingTask' AS "pendingTask" FROM task_launch WHERE task_id = $1`,
      [taskId],
    );
    return found!;
  }
}
