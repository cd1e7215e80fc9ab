import { Injectable } from '@nestjs/common';
import {
  isTerminal,
  taskStates,
  type PendingType,
  type TaskCleanupType,
  type TaskState,
} from '../../core/model/enums.js';
import type { ExtendedResources } from '../../core/model/deploy.js';
import type { Request } from '../../core/model/request.js';
import { byUpdateOrder, type TaskHistoryUpdate, type TaskId } from '../../core/model/task.js';
import { makeTaskId } from '../../core/task-id.js';
import type { HeldTask } from '../../core/working-set/index.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { rows, toMillis } from '../../platform/database/sql.js';
import { LoadBalancerRecordRepository } from './balancing/load-balancer-record.repository.js';
import { LoadBalancerRemovalRepository } from './balancing/load-balancer-removal.repository.js';
import type { FormerUpdate } from './task.entity.js';

/** A task whose row is live: launched, and not yet moved to the history. Times in epoch milliseconds. */
export interface LiveTask {
  taskId: TaskId;
  slaveId: string;
  /** Host name and rack as the machine gave them, not sanitized. */
  host: string;
  rackId: string;
  incarnation: string;
  pendingType: PendingType;
  runId?: string;
  actionId?: string;
  skipHealthchecks: boolean;
  cpus: number;
  memoryMb: number;
  diskMb: number;
  ports: number[];
  /** Newest status; TASK_CLEANING never stands here. */
  state: TaskState;
  stateAt: number;
  sentAt?: number;
  answeredAt?: number;
  runningAt?: number;
  /** Absent: the task is active. */
  endedAt?: number;
  /** It was given up with its machine, and may still run there. */
  mayRun: boolean;
  healthchecksFinished: boolean;
  directory?: string;
  /** Type of its cleanup: the task is cleaning. */
  cleaning?: TaskCleanupType;
  /** A kill was decided and the end has not been reported yet. */
  killed: boolean;
}

export interface LiveTaskFilter {
  requestIds?: readonly string[];
  taskIds?: readonly string[];
  slaveId?: string;
  /** Ended tasks that are not moved to the history yet are left out unless this is set. */
  includeEnded?: boolean;
  /**
   * Locks the rows until `tx` ends, in the order of task ids. REMOVAL is for those that remove the tasks: orders that are
   * being written, which keep a task from going and not from changing, are waited for, too.
   */
  lock?: 'CHANGE' | 'REMOVAL';
}

interface TaskRow {
  request_id: string;
  deploy_id: string;
  slave_id: string;
  instance_no: number;
  host: string;
  rack_id: string;
  started_at: Date;
  pending_type: PendingType;
  run_id: string | null;
  action_id: string | null;
  skip_healthchecks: boolean;
  cpus: number;
  memory_mb: number;
  disk_mb: number;
  ports: number[];
  incarnation: string;
  state: TaskState;
  state_at: Date;
  sent_at: Date | null;
  answered_at: Date | null;
  running_at: Date | null;
  ended_at: Date | null;
  may_run: boolean;
  healthchecks_finished: boolean;
  directory: string | null;
  cleanup_type: TaskCleanupType | null;
  killed: boolean;
}

/** SQL: task t is one of a filter, by `filterParameters`. */
const matching = `($1::text[] IS NULL OR t.request_id = ANY ($1)) AND ($2::text[] IS NULL OR t.task_id = ANY ($2))
  AND ($3::text IS NULL OR t.slave_id = $3) AND ($4 OR t.ended_at IS NULL)`;
const filterParameters = ({ requestIds, taskIds, slaveId, includeEnded }: LiveTaskFilter): unknown[] => [
  requestIds ?? null,
  taskIds ?? null,
  slaveId ?? null,
  includeEnded ?? false,
];

/** SQL: a task counts as live, by the rule of `countsAsLive` in the core. */
export const liveSql = (task: string): string => `(${task}.ended_at IS NULL OR ${task}.may_run)`;

interface HeldTaskRow {
  task_id: string;
  request_id: string;
  deploy_id: string;
  slave_id: string;
  rack_id: string;
  pending_type: PendingType;
  action_id: string | null;
  cpus: number;
  memory_mb: number;
  disk_mb: number;
  extended: ExtendedResources | null;
  ports: number[];
  counts_since: Date | null;
  cleaning: boolean;
  killed: boolean;
  ended: boolean;
}

/** Orders about a task. With its end there is nothing left to clean up or to kill. */
const orderTables = ['task_cleanup', 'killed_task'];

/**
 * Tables whose rows live and die with a task. Not among them are its rows at the load balancer, which that room's
 * repositories remove: load_balancer_record by both ends of a task, load_balancer_removal by `removeLive` only, because
 * a task that still has to leave the load balancer does not move to the history.
 */
const satelliteTables = [
  'task_launch',
  'task_update',
  'task_healthcheck',
  'task_liveness',
  'task_shell_command',
  'task_shell_command_update',
  'task_metadata',
  'task_program',
  ...orderTables,
];
const deletions = (tables: readonly string[]): string =>
  tables.map((table) => `gone_${table} AS (DELETE FROM ${table} WHERE task_id = ANY ($1))`).join(', ');

/**
 * SQL: all rows of the tasks $1 go, but for those at the load balancer. Follows `WITH ... ,` or `WITH` of a statement that
 * may write what is known of them elsewhere.
 */
export const deleteTasksSql = `${deletions(satelliteTables)} DELETE FROM task WHERE task_id = ANY ($1)`;

/**
 * Live tasks together with what was ordered about them. In the order of task ids. By hand: placement, status batches and the
 * lists that clients ask for every second read and lock these rows.
 */
@Injectable()
export class TaskRepository {
  constructor(
    private readonly balancing: LoadBalancerRecordRepository,
    private readonly leaving: LoadBalancerRemovalRepository,
  ) {}

  async find(tx: Queryable, filter: LiveTaskFilter = {}): Promise<LiveTask[]> {
    const taskIds = filter.lock ? await this.lock(tx, filter) : filter.taskIds;
    const found = await rows<TaskRow>(
      tx,
      `SELECT t.*, c.cleanup_type, k.task_id IS NOT NULL AS killed
       FROM task t LEFT JOIN task_cleanup c USING (task_id) LEFT JOIN killed_task k USING (task_id)
       WHERE ${matching} ORDER BY t.task_id`,
      filterParameters({ ...filter, taskIds }),
    );
    return found.map(fromRow);
  }

  /**
   * Answers the ids. A statement of its own: the orders that the former holder of a row has written are seen by the next one only,
   * because a statement that waits for a row reads all other tables as they were before.
   */
  private async lock(tx: Queryable, filter: LiveTaskFilter): Promise<string[]> {
    const strength = filter.lock === 'REMOVAL' ? 'FOR UPDATE' : 'FOR NO KEY UPDATE';
    const locked = await rows<{ task_id: string }>(
      tx,
      `SELECT t.task_id FROM task t WHERE ${matching} ORDER BY t.task_id ${strength}`,
      filterParameters(filter),
    );
    return locked.map((row) => row.task_id);
  }

  /** A list, in its order; as JSON, since thousands of rows would cost more than what stands in them. */
  async activeIds(tx: Queryable): Promise<string> {
    const sql = `SELECT coalesce(json_agg(task_id ORDER BY task_id), '[]')::text AS json FROM task WHERE ended_at IS NULL`;
    const [found] = await rows<{ json: string }>(tx, sql);
    return found!.json;
  }

  /** Ids of some active tasks, those that follow this one. Empty: there are no more. */
  async activeIdsAfter(tx: Transaction, taskId: string, atMost: number): Promise<string[]> {
    const found = await rows<{ task_id: string }>(
      tx,
      'SELECT task_id FROM task WHERE ended_at IS NULL AND task_id > $1 ORDER BY task_id LIMIT $2',
      [taskId, atMost],
    );
    return found.map((row) => row.task_id);
  }

  /** Ids of some requests with active tasks, those that follow this one. Empty: there are no more. */
  async activeRequestIdsAfter(tx: Queryable, requestId: string, atMost: number): Promise<string[]> {
    const found = await rows<{ request_id: string }>(
      tx,
      `SELECT DISTINCT request_id FROM task WHERE ended_at IS NULL AND request_id > $1 ORDER BY request_id LIMIT $2`,
      [requestId, atMost],
    );
    return found.map((row) => row.request_id);
  }

  /** Active tasks without an order to go, in the order of task ids. */
  async withoutCleanup(tx: Queryable): Promise<{ taskId: string; requestId: string }[]> {
    return rows(
      tx,
      `SELECT task_id AS "taskId", request_id AS "requestId" FROM task WHERE ended_at IS NULL
         AND NOT EXISTS (SELECT 1 FROM task_cleanup c WHERE c.task_id = task.task_id) ORDER BY task_id`,
    );
  }

  /** Counts the tasks of a request: those launched and not ended, those that wait, and those that have to go. */
  async countsOf(tx: Queryable, id: string): Promise<{ active: number; pending: number; cleaning: number }> {
    const [found] = await rows<{ active: number; pending: number; cleaning: number }>(
      tx,
      `SELECT (SELECT count(*) FROM task WHERE request_id = $1 AND ended_at IS NULL)::int AS active,
         (SELECT count(*) FROM pending_task WHERE request_id = $1 AND NOT delete_requested)::int AS pending,
         (SELECT count(*) FROM task_cleanup JOIN task USING (task_id)
          WHERE task.request_id = $1 AND ended_at IS NULL)::int AS cleaning`,
      [id],
    );
    return found!;
  }

  /** Runs of each of these requests that take turns. One statement, so that a task on its way from one table to the next is counted once. */
  async runCounts(
    tx: Queryable,
    requestIds: readonly string[],
  ): Promise<Map<string, { active: number; waiting: number }>> {
    const found = await rows<{ id: string; active: number; waiting: number }>(
      tx,
      `SELECT r.id,
         (SELECT count(*) FROM task WHERE request_id = r.id AND ended_at IS NULL AND pending_type <> 'BACKFILL')::int AS active,
         ((SELECT count(*) FROM pending_task WHERE request_id = r.id AND NOT delete_requested)
           + (SELECT count(*) FROM pending_request WHERE request_id = r.id AND pending_type = 'ONEOFF'))::int AS waiting
       FROM unnest($1::text[]) AS r (id)`,
      [requestIds],
    );
    return new Map(found.map(({ id, ...counts }) => [id, counts]));
  }

  /** The active tasks with what it takes to end them: machine and grace. */
  async toEnd(tx: Queryable): Promise<{ taskId: string; slaveId: string; killGraceMillis: number }[]> {
    const found = await rows<{ task_id: string; slave_id: string; grace: number | null }>(
      tx,
      `SELECT task_id, slave_id, (document->'launch'->>'killGraceMillis')::float8 AS grace
       FROM task JOIN task_launch USING (task_id) WHERE ended_at IS NULL`,
    );
    return found.map(({ task_id: taskId, slave_id: slaveId, grace }) => ({
      taskId,
      slaveId,
      killGraceMillis: grace ?? 0,
    }));
  }

  /** Counts the tasks among these that have not ended. */
  async countActive(tx: Queryable, taskIds: readonly string[]): Promise<number> {
    const [count] = await rows<{ n: number }>(
      tx,
      'SELECT count(*) AS n FROM task WHERE ended_at IS NULL AND task_id = ANY ($1)',
      [taskIds],
    );
    return count!.n;
  }

  /** Until `tx` ends the task does not move to the history, and no other call keeps it. false: it is not among the live ones. */
  async keepLive(tx: Transaction, taskId: string): Promise<boolean> {
    const found = await rows(tx, 'SELECT 1 FROM task WHERE task_id = $1 FOR NO KEY UPDATE', [taskId]);
    return found.length > 0;
  }

  /** Counts active tasks by state. */
  async activeCountsByState(tx: Transaction): Promise<{ state: TaskState; count: number }[]> {
    return rows(tx, 'SELECT state, count(*)::int AS count FROM task WHERE ended_at IS NULL GROUP BY state');
  }

  /**
   * Resources that active tasks use on each of these machines, by slave id: cores and MB. Machines without any are left
   * out.
   */
  async usedOn(tx: Queryable, slaveIds: readonly string[]): Promise<Map<string, { cpus: number; memoryMb: number }>> {
    const found = await rows<{ slave_id: string; cpus: number; memory_mb: number }>(
      tx,
      `SELECT slave_id, sum(cpus) AS cpus, sum(memory_mb) AS memory_mb FROM task
     WHERE ended_at IS NULL AND slave_id = ANY ($1) GROUP BY slave_id`,
      [slaveIds],
    );
    return new Map(found.map((row) => [row.slave_id, { cpus: row.cpus, memoryMb: row.memory_mb }]));
  }

  /** Live tasks that were lost at `since` or later for one of these reasons, and when. */
  async lostSince(tx: Transaction, since: number, reasons: readonly string[]): Promise<{ id: string; at: number }[]> {
    const found = await rows<{ id: string; at: Date }>(
      tx,
      `SELECT t.task_id AS id, u.at FROM task t JOIN task_update u ON u.task_id = t.task_id AND u.state = 'TASK_LOST'
       WHERE t.state_at >= $1 AND u.at >= $1 AND u.reason = ANY ($2)`,
      [new Date(since), reasons],
    );
    return found.map(({ id, at }) => ({ id, at: at.getTime() }));
  }

  /** Bytes of all their ids. */
  async idBytes(tx: Transaction): Promise<number> {
    const [found] = await rows<{ bytes: number }>(
      tx,
      'SELECT coalesce(sum(octet_length(task_id)), 0)::int8 AS bytes FROM task',
    );
    return found!.bytes;
  }

  /** Tasks for the leader's working set: those of the given requests or slaves, or all. */
  async held(
    tx: Queryable,
    of: { requestIds?: readonly string[]; slaveIds?: readonly string[] } = {},
  ): Promise<{ active: HeldTask[]; givenUp: HeldTask[] }> {
    const found = await rows<HeldTaskRow>(
      tx,
      `SELECT t.task_id, t.request_id, t.deploy_id, t.slave_id, t.rack_id, t.pending_type, t.action_id, t.cpus, t.memory_mb,
         t.disk_mb, t.extended, t.ports, t.counts_since, c.task_id IS NOT NULL AS cleaning, k.task_id IS NOT NULL AS killed,
         t.ended_at IS NOT NULL AS ended
       FROM task t LEFT JOIN task_cleanup c USING (task_id) LEFT JOIN killed_task k USING (task_id)
       WHERE ${liveSql('t')} AND ($1::text[] IS NULL OR t.${of.slaveIds ? 'slave_id' : 'request_id'} = ANY ($1))`,
      [of.slaveIds ?? of.requestIds ?? null],
    );
    const tasksOf = (ended: boolean) => found.filter((row) => row.ended === ended).map(heldTask);
    return { active: tasksOf(false), givenUp: tasksOf(true) };
  }

  /** Numbers of live tasks by request, those among them that were given up and may run; requests without any are left out. */
  async liveCounts(tx: Queryable, requestIds: readonly string[]): Promise<Map<string, number>> {
    const found = await rows<{ request_id: string; count: number }>(
      tx,
      `SELECT request_id, count(*)::integer AS count FROM task t WHERE request_id = ANY ($1) AND ${liveSql('t')} GROUP BY request_id`,
      [requestIds],
    );
    return new Map(found.map((row) => [row.request_id, row.count]));
  }

  /**
   * Counts the tasks started on each slave after the given time (epoch milliseconds); slaves without any are left out.
   */
  async startedSince(tx: Queryable, momentBySlave: ReadonlyMap<string, number>): Promise<Map<string, number>> {
    const found = await rows<{ slave_id: string; count: number }>(
      tx,
      `SELECT t.slave_id, count(*)::integer AS count FROM task t
       JOIN unnest($1::text[], $2::timestamptz[]) AS u (slave_id, since) USING (slave_id)
       WHERE t.started_at > u.since GROUP BY t.slave_id`,
      [[...momentBySlave.keys()], [...momentBySlave.values()].map((moment) => new Date(moment))],
    );
    return new Map(found.map((row) => [row.slave_id, row.count]));
  }

  /** By task id: the request as it was when the task was launched. */
  async requestsAtLaunch(tx: Queryable, taskIds: readonly string[]): Promise<Map<string, Request>> {
    const found = await rows<{ task_id: string; request: Request }>(
      tx,
      `SELECT task_id, document->'request' AS request FROM task_launch WHERE task_id = ANY ($1)`,
      [taskIds],
    );
    return new Map(found.map((row) => [row.task_id, row.request]));
  }

  /** Updates of live tasks by task id, in their order, TASK_CLEANING included. */
  async updates(tx: Queryable, taskIds: readonly TaskId[]): Promise<Map<string, TaskHistoryUpdate[]>> {
    const byId = new Map(taskIds.map((taskId) => [taskId.id, taskId]));
    const found = await rows<TaskUpdateRow>(tx, 'SELECT * FROM task_update WHERE task_id = ANY ($1)', [
      [...byId.keys()],
    ]);
    const result = new Map<string, TaskHistoryUpdate[]>([...byId.keys()].map((id) => [id, []]));
    for (const row of found) result.get(row.task_id)!.push(taskUpdateOf(byId.get(row.task_id)!, row));
    for (const updates of result.values()) updates.sort(byUpdateOrder);
    return result;
  }

  /** Everything about these live tasks, without a trace in the history. */
  async removeLive(tx: Transaction, taskIds: readonly string[]): Promise<void> {
    if (taskIds.length === 0) return;
    await this.balancing.removeAll(tx, taskIds);
    await this.leaving.removeAll(tx, taskIds);
    await tx.query(`WITH ${deleteTasksSql}`, [taskIds]);
  }

  /** Deletes the orders of tasks that have ended. */
  async dropOrders(tx: Transaction, taskIds: readonly string[]): Promise<void> {
    if (taskIds.length === 0) return;
    const [first, ...others] = orderTables;
    await tx.query(`WITH ${deletions(others)} DELETE FROM ${first!} WHERE task_id = ANY ($1)`, [taskIds]);
  }
}

const list = (states: readonly string[]): string => states.map((state) => `'${state}'`).join(', ');

/** The order of the core's `byUpdateOrder`, for a statement that needs only the newest update of each task. */
export const updateOrderSql = (alias: string, direction: 'ASC' | 'DESC'): string =>
  [
    `${alias}.state IN (${list(taskStates.filter(isTerminal))})`,
    `${alias}.at`,
    `array_position(ARRAY[${list(taskStates)}], ${alias}.state)`,
  ]
    .map((key) => `${key} ${direction}`)
    .join(', ');

export interface TaskUpdateRow {
  task_id: string;
  state: TaskState;
  at: Date;
  message: string | null;
  reason: string | null;
  previous: FormerUpdate[];
}

/** An update as clients see it. */
export const taskUpdateOf = (taskId: TaskId, row: TaskUpdateRow): TaskHistoryUpdate => ({
  taskId,
  timestamp: row.at.getTime(),
  taskState: row.state,
  statusMessage: row.message ?? undefined,
  statusReason: row.reason ?? undefined,
  previous: row.previous.map(({ cleanupType: _hidden, ...former }) => ({
    taskId,
    taskState: row.state,
    previous: [],
    ...former,
  })),
});

/** Columns of a task's row of which its id is made. */
export interface TaskIdRow {
  request_id: string;
  deploy_id: string;
  started_at: Date;
  instance_no: number;
  host: string;
  rack_id: string;
}

export const taskIdOfRow = (row: TaskIdRow): TaskId =>
  makeTaskId({
    requestId: row.request_id,
    deployId: row.deploy_id,
    startedAt: row.started_at.getTime(),
    instanceNo: row.instance_no,
    host: row.host,
    rackId: row.rack_id,
  });

const fromRow = (row: TaskRow): LiveTask => ({
  taskId: taskIdOfRow(row),
  slaveId: row.slave_id,
  host: row.host,
  rackId: row.rack_id,
  incarnation: row.incarnation,
  pendingType: row.pending_type,
  runId: row.run_id ?? undefined,
  actionId: row.action_id ?? undefined,
  skipHealthchecks: row.skip_healthchecks,
  cpus: row.cpus,
  memoryMb: row.memory_mb,
  diskMb: row.disk_mb,
  ports: row.ports,
  state: row.state,
  stateAt: row.state_at.getTime(),
  sentAt: toMillis(row.sent_at),
  answeredAt: toMillis(row.answered_at),
  runningAt: toMillis(row.running_at),
  endedAt: toMillis(row.ended_at),
  mayRun: row.may_run,
  healthchecksFinished: row.healthchecks_finished,
  directory: row.directory ?? undefined,
  cleaning: row.cleanup_type ?? undefined,
  killed: row.killed,
});

const heldTask = (row: HeldTaskRow): HeldTask => ({
  taskId: { id: row.task_id, deployId: row.deploy_id },
  requestId: row.request_id,
  slaveId: row.slave_id,
  rackId: row.rack_id,
  pendingType: row.pending_type,
  actionId: row.action_id ?? undefined,
  cleaning: row.cleaning,
  killed: row.killed,
  cpus: row.cpus,
  memoryMb: row.memory_mb,
  diskMb: row.disk_mb,
  ...(row.extended && { extended: row.extended }),
  ports: row.ports,
  countsSince: toMillis(row.counts_since),
});
