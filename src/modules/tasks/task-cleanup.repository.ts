import { Injectable } from '@nestjs/common';
import { isBounce } from '../../core/cleanup/index.js';
import { taskCleanupTypes, type TaskCleanupType } from '../../core/model/enums.js';
import type { MachineKind } from '../../core/model/machine.js';
import type { TaskCleanup, TaskHistoryUpdate, TaskShellCommandRequestId } from '../../core/model/task.js';
import { parseTaskId } from '../../core/task-id.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { rows } from '../../platform/database/sql.js';
import { LaunchedTaskRepository } from './launched-task.repository.js';
import { TaskRepository } from './task.repository.js';
import { OutboxRepository } from '../events/outbox.repository.js';

interface CleanupRow {
  task_id: string;
  cleanup_type: TaskCleanupType;
  created_at: Date;
  user_name: string | null;
  message: string | null;
  action_id: string | null;
  run_before_kill: TaskShellCommandRequestId | null;
  remove_from_load_balancer: boolean | null;
}

/** States of machines that drive their tasks away. */
const drained = `'STARTING_DECOMMISSION', 'DECOMMISSIONING', 'DECOMMISSIONED'`;

/**
 * Orders that a task has to go. The cleanup poller decides when it is killed; wake 'cleanup' after the commit.
 * Every order written also becomes the task's TASK_CLEANING update.
 */
@Injectable()
export class TaskCleanupRepository {
  constructor(
    private readonly tasks: TaskRepository,
    private readonly launched: LaunchedTaskRepository,
    private readonly outbox: OutboxRepository,
  ) {}

  /** First one wins: does nothing and answers false when the task already has a cleanup. */
  async create(tx: Transaction, cleanup: TaskCleanup): Promise<boolean> {
    return (await this.createAll(tx, [cleanup])).size > 0;
  }

  /** Creates many at once. Returns the ids of the tasks that got theirs. */
  createAll(tx: Transaction, cleanups: readonly TaskCleanup[]): Promise<Set<string>> {
    // Of two for one task the first one wins here, too.
    return this.write(tx, oneOfEachTask(cleanups.toReversed()).toReversed(), 'DO NOTHING');
  }

  save(tx: Transaction, cleanup: TaskCleanup): Promise<void> {
    return this.saveAll(tx, [cleanup]);
  }

  /** Overwrites existing cleanups. */
  async saveAll(tx: Transaction, cleanups: readonly TaskCleanup[]): Promise<void> {
    await this.write(
      tx,
      oneOfEachTask(cleanups),
      `(task_id) DO UPDATE SET cleanup_type = excluded.cleanup_type, created_at = excluded.created_at,
         user_name = excluded.user_name, message = excluded.message, action_id = excluded.action_id,
         run_before_kill = excluded.run_before_kill, remove_from_load_balancer = excluded.remove_from_load_balancer`,
    );
  }

  /** These are done with. One that was overwritten since it was read is a new order, and is looked at in the next pass. */
  async remove(tx: Queryable, cleanups: readonly TaskCleanup[]): Promise<void> {
    if (cleanups.length === 0) return;
    await tx.query(
      `DELETE FROM task_cleanup c USING unnest($1::text[], $2::timestamptz[]) AS done (task_id, created_at)
       WHERE c.task_id = done.task_id AND c.created_at = done.created_at`,
      [cleanups.map(({ taskId }) => taskId.id), cleanups.map(({ timestamp }) => new Date(timestamp))],
    );
  }

  /** In the order of task ids. */
  async ofRequest(tx: Queryable, requestId: string): Promise<TaskCleanup[]> {
    const found = await rows<CleanupRow>(tx, 'SELECT * FROM task_cleanup WHERE request_id = $1 ORDER BY task_id', [
      requestId,
    ]);
    return found.map(fromRow);
  }

  /** Times at which the orders of these requests' tasks were made (epoch milliseconds), with their instance numbers. */
  async madeFor(
    tx: Queryable,
    requestIds: readonly string[],
  ): Promise<{ requestId: string; instanceNo: number; createdAt: number }[]> {
    const found = await rows<Pick<CleanupRow, 'task_id' | 'created_at'>>(
      tx,
      'SELECT task_id, created_at FROM task_cleanup WHERE request_id = ANY ($1)',
      [requestIds],
    );
    return found.map((row) => {
      const { requestId, instanceNo } = parseTaskId(row.task_id)!;
      return { requestId, instanceNo, createdAt: row.created_at.getTime() };
    });
  }

  /** Cleanups of tasks that have not ended, or of one of them; in the order of task ids. */
  async ofActiveTasks(tx: Queryable, taskId?: string): Promise<TaskCleanup[]> {
    const found = await rows<CleanupRow>(
      tx,
      `SELECT c.* FROM task_cleanup c JOIN task t USING (task_id)
       WHERE t.ended_at IS NULL AND ($1::text IS NULL OR task_id = $1) ORDER BY task_id`,
      [taskId ?? null],
    );
    return found.map(fromRow);
  }

  /** Requests with an order for themselves or for one of their tasks, and those that are being bounced. */
  async requestIdsToClean(tx: Queryable, requestIds?: readonly string[]): Promise<string[]> {
    if (requestIds?.length === 0) return [];
    const found = await rows<{ request_id: string }>(
      tx,
      `SELECT request_id FROM (SELECT request_id FROM request_cleanup UNION SELECT request_id FROM task_cleanup
         UNION SELECT id FROM request WHERE bouncing) AS work (request_id)
       WHERE $1::text[] IS NULL OR request_id = ANY ($1) ORDER BY request_id`,
      [requestIds ?? null],
    );
    return found.map((row) => row.request_id);
  }

  /** An order to bounce waits, or an active task has to go whose cleanup is, or was before, that of a bounce. */
  async isBounceUnderWay(tx: Transaction, requestId: string): Promise<boolean> {
    const found = await rows(
      tx,
      `SELECT 1 FROM request_cleanup WHERE request_id = $1 AND cleanup_type IN ('BOUNCE', 'INCREMENTAL_BOUNCE')
       UNION ALL
       SELECT 1 FROM task t JOIN task_update u ON u.task_id = t.task_id AND u.state = 'TASK_CLEANING'
       WHERE t.request_id = $1 AND t.ended_at IS NULL
         AND (EXISTS (SELECT 1 FROM task_cleanup c WHERE c.task_id = t.task_id)
           OR EXISTS (SELECT 1 FROM killed_task k WHERE k.task_id = t.task_id))
         AND (u.cleanup_type = ANY ($2)
         OR EXISTS (SELECT 1 FROM jsonb_array_elements(u.previous) former WHERE former->>'cleanupType' = ANY ($2)))
       LIMIT 1`,
      [requestId, taskCleanupTypes.filter(isBounce)],
    );
    return found.length > 0;
  }

  /** Takes back the orders of a bounce: its tasks that still wait for their replacement stay. */
  async withdrawBounce(tx: Transaction, requestId: string, actionId: string): Promise<void> {
    const spared = await rows<{ task_id: string }>(
      tx,
      `DELETE FROM task_cleanup WHERE request_id = $1 AND action_id = $2
         AND cleanup_type IN ('BOUNCING', 'INCREMENTAL_BOUNCE') RETURNING task_id`,
      [requestId, actionId],
    );
    await this.forgetCleaning(
      tx,
      spared.map((row) => row.task_id),
    );
  }

  /** These tasks are not cleaning any more: the update of before counts again, and listeners are told so. */
  async forgetCleaning(tx: Transaction, taskIds: readonly string[]): Promise<void> {
    const forgotten = await rows<{ task_id: string }>(
      tx,
      `DELETE FROM task_update cleaning WHERE task_id = ANY ($1) AND state = 'TASK_CLEANING' AND NOT EXISTS
         (SELECT 1 FROM task_update later WHERE later.task_id = cleaning.task_id AND later.at > cleaning.at)
       RETURNING task_id`,
      [taskIds],
    );
    const live = await this.tasks.find(tx, { taskIds: forgotten.map((row) => row.task_id) });
    const updates = await this.tasks.updates(
      tx,
      live.map(({ taskId }) => taskId),
    );
    const newest = [...updates.values()].flatMap((ofTask) => ofTask.slice(-1));
    await this.outbox.tasks(tx, newest, (ids) => this.launched.records(tx, ids));
  }

  /**
   * Takes the orders of a decommission of this machine back. An order stays when the task is being killed, when it has its
   * replacement, or when another decommission (of its slave, or of its rack) drives it away as well. Answers the ids of the
   * tasks that are spared.
   */
  async withdrawDecommission(tx: Transaction, kind: MachineKind, id: string): Promise<string[]> {
    const withdrawn = await rows<{ task_id: string }>(
      tx,
      `DELETE FROM task_cleanup c USING task t
       WHERE t.task_id = c.task_id AND c.cleanup_type = 'DECOMISSIONING' AND t.${kind === 'SLAVE' ? 'slave_id' : 'rack_id'} = $1
         AND NOT EXISTS (SELECT 1 FROM killed_task k WHERE k.task_id = t.task_id)
         AND NOT EXISTS (SELECT 1 FROM task n LEFT JOIN task_cleanup nc USING (task_id) LEFT JOIN killed_task nk USING (task_id)
           WHERE n.request_id = t.request_id AND n.deploy_id = t.deploy_id AND n.instance_no = t.instance_no
             AND n.ended_at IS NULL AND nc.task_id IS NULL AND nk.task_id IS NULL)
         AND NOT EXISTS (SELECT 1 FROM slave s WHERE s.id = t.slave_id AND s.state IN (${drained}) AND NOT ($2 = 'SLAVE' AND s.id = $1))
         AND NOT EXISTS (SELECT 1 FROM rack r WHERE r.id = t.rack_id AND r.state IN (${drained}) AND NOT ($2 = 'RACK' AND r.id = $1))
       RETURNING c.task_id`,
      [id, kind],
    );
    const taskIds = withdrawn.map((row) => row.task_id);
    if (taskIds.length > 0) await this.forgetCleaning(tx, taskIds);
    return taskIds;
  }

  private async write(tx: Transaction, cleanups: readonly TaskCleanup[], onConflict: string): Promise<Set<string>> {
    if (cleanups.length === 0) return new Set();
    const column = <T>(pick: (cleanup: TaskCleanup) => T): T[] => cleanups.map(pick);
    // KEY SHARE: a task cannot move to the history before its order is committed, and then takes it along.
    const written = await rows<{ task_id: string }>(
      tx,
      `INSERT INTO task_cleanup (task_id, request_id, cleanup_type, created_at, user_name, message, action_id,
         run_before_kill, remove_from_load_balancer)
       SELECT o.* FROM unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::text[], $6::text[], $7::text[],
         $8::jsonb[], $9::boolean[]) AS o (task_id, request_id, cleanup_type, created_at, user_name, message, action_id,
         run_before_kill, remove_from_load_balancer)
       JOIN task t USING (task_id) WHERE t.ended_at IS NULL ORDER BY t.task_id FOR KEY SHARE OF t
       ON CONFLICT ${onConflict} RETURNING task_id`,
      [
        column(({ taskId }) => taskId.id),
        column(({ taskId }) => taskId.requestId),
        column(({ cleanupType }) => cleanupType),
        column(({ timestamp }) => new Date(timestamp)),
        column(({ user }) => user ?? null),
        column(({ message }) => message ?? null),
        column(({ actionId }) => actionId ?? null),
        column(({ runBeforeKillId }) => (runBeforeKillId ? JSON.stringify(runBeforeKillId) : null)),
        column(({ removeFromLoadBalancer }) => removeFromLoadBalancer ?? null),
      ],
    );
    const ids = new Set(written.map((row) => row.task_id));
    await this.recordCleaning(
      tx,
      cleanups.filter(({ taskId }) => ids.has(taskId.id)),
    );
    return ids;
  }

  private async recordCleaning(tx: Transaction, cleanups: readonly TaskCleanup[]): Promise<void> {
    if (cleanups.length === 0) return;
    const updates = cleanups.map((cleanup): TaskHistoryUpdate => ({
      taskId: cleanup.taskId,
      timestamp: cleanup.timestamp,
      taskState: 'TASK_CLEANING',
      statusMessage: cleaningText(cleanup),
      previous: [],
    }));
    await tx.query(
      `INSERT INTO task_update AS former (task_id, state, at, message, cleanup_type)
       SELECT task_id, 'TASK_CLEANING', at, message, cleanup_type
       FROM unnest($1::text[], $2::timestamptz[], $3::text[], $4::text[]) AS u (task_id, at, message, cleanup_type)
       ON CONFLICT (task_id, state) DO UPDATE SET at = excluded.at, message = excluded.message,
         cleanup_type = excluded.cleanup_type,
         previous = former.previous || jsonb_build_array(jsonb_build_object('cleanupType', former.cleanup_type,
           'timestamp', (extract(epoch FROM former.at) * 1000)::bigint, 'statusMessage', former.message))`,
      [
        updates.map(({ taskId }) => taskId.id),
        updates.map(({ timestamp }) => new Date(timestamp)),
        updates.map(({ statusMessage }) => statusMessage),
        cleanups.map(({ cleanupType }) => cleanupType),
      ],
    );
    await this.outbox.tasks(tx, updates, (ids) => this.launched.records(tx, ids));
  }
}

/** One statement cannot write a row twice: of two cleanups of a task the last one counts. */
const oneOfEachTask = (cleanups: readonly TaskCleanup[]): TaskCleanup[] => [
  ...new Map(cleanups.map((cleanup) => [cleanup.taskId.id, cleanup])).values(),
];

const fromRow = (row: CleanupRow): TaskCleanup => ({
  // Task ids are made by this service, so each can be read.
  taskId: parseTaskId(row.task_id)!,
  cleanupType: row.cleanup_type,
  timestamp: row.created_at.getTime(),
  user: row.user_name ?? undefined,
  message: row.message ?? undefined,
  actionId: row.action_id ?? undefined,
  runBeforeKillId: row.run_before_kill ?? undefined,
  removeFromLoadBalancer: row.remove_from_load_balancer ?? undefined,
});

/** Type, then user, then message: clients of old read the type from this text, so it stands first. */
const cleaningText = ({ cleanupType, user, message }: TaskCleanup): string =>
  `${cleanupType}${user ? ` by ${user}` : ''}${message ? ` - ${message}` : ''}`;
