import { Inject, Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { heldBackUntil } from '../../core/history/index.js';
import { leftOutOfTasks } from '../../core/launch/index.js';
import { Clock } from '../../platform/clock.js';
import { rows } from '../../platform/database/sql.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { LoadBalancerRecordRepository } from '../load-balancer/load-balancer-record.repository.js';
import { launchedForJoins, launchedForSql } from '../tasks/launched-task.repository.js';
import { deleteTasksSql, updateOrderSql } from '../tasks/task.repository.js';
import { LiveTaskHistoryRepository } from './live-task-history.repository.js';

/** At this reason the machine was given up, and may still come back with the task. */
const agentRemoved = 'REASON_AGENT_REMOVED';

/**
 * Ended, not of the request's pending deploy (whose outcome is still judged by it), off the load balancer, and not able to
 * come back.
 */
const mayMove = (heldBackUntil: string): string => `t.ended_at IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM request r WHERE r.id = t.request_id AND r.pending_deploy_id = t.deploy_id)
  AND NOT EXISTS (SELECT 1 FROM load_balancer_removal b WHERE b.task_id = t.task_id)
  AND NOT EXISTS (SELECT 1 FROM task_update u WHERE u.task_id = t.task_id AND u.at > ${heldBackUntil}
    AND (u.state = 'TASK_UNREACHABLE' OR u.state = 'TASK_LOST' AND u.reason = '${agentRemoved}'))`;

/** Update u of a task as `taskUpdateOf` gives it. */
const updateSql = `jsonb_strip_nulls(jsonb_build_object('taskId', n.data->'task'->'taskId', 'taskState', u.state,
    'timestamp', (extract(epoch FROM u.at) * 1000)::bigint, 'statusMessage', u.message, 'statusReason', u.reason, 'previous',
    CASE WHEN u.previous = '[]' THEN u.previous ELSE (
      SELECT jsonb_agg(jsonb_build_object('taskId', n.data->'task'->'taskId', 'taskState', u.state, 'previous', '[]'::jsonb)
        || (former - 'cleanupType') ORDER BY place)
      FROM jsonb_array_elements(u.previous) WITH ORDINALITY AS p (former, place)) END))`;

/**
 * What stands in rows as it does in the history goes there without coming here, which is half of it. $1: ids of tasks whose rows
 * are locked; $2: their EndedTaskHistory records, as one JSON array in the same order; $3: fields of deploys that are left out.
 */
const moveTasksSql = `WITH written AS (
    INSERT INTO task_history (task_id, request_id, deploy_id, run_id, slave_id, host, rack_id, instance_no, started_at, running_at,
      updated_at, last_task_status, data)
    SELECT task_id, t.request_id, t.deploy_id, t.run_id, t.slave_id, replace(t.host, '-', '_'), t.rack_id, t.instance_no, t.started_at,
      t.running_at, greatest(updates.newest, t.started_at), t.state, n.data || jsonb_build_object(
        'taskUpdates', coalesce(updates.list, '[]'),
        'task', n.data->'task' || jsonb_build_object('taskRequest', ${launchedForSql('$3::text[]')}))
    FROM ROWS FROM (unnest($1::text[]), jsonb_array_elements($2::jsonb)) AS n (task_id, data) JOIN task t USING (task_id)
    ${launchedForJoins}
    CROSS JOIN LATERAL (
      SELECT max(u.at) AS newest, jsonb_agg(${updateSql} ORDER BY ${updateOrderSql('u', 'ASC')}) AS list
      FROM task_update u WHERE u.task_id = t.task_id) AS updates
    ON CONFLICT (task_id) DO NOTHING
  ), ${deleteTasksSql}`;

/**
 * Moves ended tasks out of the live tables. Each becomes one row of task_history, written once and complete. By hand: a
 * batch of tasks leaves a dozen tables in one statement.
 */
@Injectable()
export class TaskHistoryMoveRepository {
  constructor(
    private readonly live: LiveTaskHistoryRepository,
    private readonly balancing: LoadBalancerRecordRepository,
    private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /**
   * Of these tasks moves those that may move and answers their ids. The others stay live for the history poller.
   * A task that is in the history already keeps its row there.
   */
  async move(tx: EntityManager, taskIds: readonly string[]): Promise<string[]> {
    if (taskIds.length === 0) return [];
    // Locked by a statement of its own: a transaction that adds a cleanup holds the task's key meanwhile, and the next
    // statement then sees what was added. In one statement its row would stay behind without a task.
    const movable = await rows<{ task_id: string }>(
      tx,
      `SELECT t.task_id FROM task t WHERE t.task_id = ANY ($1) AND ${mayMove('$2')} ORDER BY t.task_id FOR UPDATE OF t`,
      [taskIds, this.heldBackUntil()],
    );
    const ids = movable.map((row) => row.task_id);
    if (ids.length === 0) return [];
    const histories = await this.live.ended(tx, ids);
    const moved = [...histories.keys()];
    const leftOut = leftOutOfTasks(this.settings.storeAllClusterTaskInfoForDebugging);
    await Promise.all([
      this.balancing.removeAll(tx, moved),
      tx.query(moveTasksSql, [moved, JSON.stringify([...histories.values()]), leftOut]),
    ]);
    return ids;
  }

  /** Live tasks that may move, newest started first. */
  async movable(tx: EntityManager, limit: number): Promise<string[]> {
    const found = await rows<{ task_id: string }>(
      tx,
      `SELECT t.task_id FROM task t WHERE ${mayMove('$1')} ORDER BY t.started_at DESC, t.task_id LIMIT $2`,
      [this.heldBackUntil(), limit],
    );
    return found.map((row) => row.task_id);
  }

  private heldBackUntil(): Date {
    return new Date(heldBackUntil(this.settings.cluster.agentReregisterTimeoutSeconds, this.clock.now()));
  }
}
