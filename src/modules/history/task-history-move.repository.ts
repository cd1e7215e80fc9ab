import { Inject, Injectable } from '@nestjs/common';
import { heldBack } from '../../core/history/index.js';
import { leftOutOfTasks } from '../../core/launch/index.js';
import { Clock } from '../../platform/clock.js';
import type { Queryable } from '../../platform/database/queryable.js';
import { rows } from '../../platform/database/sql.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { LoadBalancerRecordRepository } from '../tasks/balancing/load-balancer-record.repository.js';
import { launchedForJoins, launchedForSql } from '../tasks/launched-task.repository.js';
import { countsWhileAway } from '../tasks/machine-task.repository.js';
import { deleteTasksSql, updateOrderSql } from '../tasks/task.repository.js';
import { LiveTaskHistoryRepository } from './live-task-history.repository.js';

/** At this reason the machine was given up, and may still come back with the task. */
const agentRemoved = 'REASON_AGENT_REMOVED';

/**
 * Ended, not of the request's pending deploy (whose outcome is still judged by it), off the load balancer, and not able to
 * come back. $1, $2: HeldBack. One whose launch was never answered waits for as long as its machine may come back, which then says whether it
 * ever got it: if not, the run goes again. One that may still run waits for its machine where it counts as live.
 */
const mayMove = `t.ended_at IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM request r WHERE r.id = t.request_id AND r.pending_deploy_id = t.deploy_id)
  AND NOT EXISTS (SELECT 1 FROM load_balancer_removal b WHERE b.task_id = t.task_id)
  AND NOT EXISTS (SELECT 1 FROM task_update u WHERE u.task_id = t.task_id
    AND (u.state = 'TASK_UNREACHABLE' OR u.state = 'TASK_LOST' AND u.reason = '${agentRemoved}')
    AND (u.at > $1 OR u.at > $2 AND EXISTS (SELECT 1 FROM slave s WHERE s.id = t.slave_id AND s.incarnation = t.incarnation
      AND (s.state <> 'ACTIVE' OR s.state_at > $1))))
  AND NOT (t.state = 'TASK_UNREACHABLE' AND t.answered_at IS NULL AND t.running_at IS NULL
    AND EXISTS (SELECT 1 FROM slave s WHERE s.id = t.slave_id AND s.incarnation = t.incarnation))
  AND NOT ${countsWhileAway}`;

/** Member of a JSON object, with the comma before it, where there is a value. */
const textMember = (name: string, value: string): string => `coalesce(',"${name}":' || to_json(${value})::text, '')`;

/** Update u of a task as `taskUpdateOf` gives it, as JSON text; `taskId`: the JSON text of the task's id. */
const updateSql = (
  taskId: string,
): string => `'{"taskId":' || ${taskId} || ',"taskState":"' || u.state || '","timestamp":' ||
    (extract(epoch FROM u.at) * 1000)::bigint || ${textMember('statusMessage', 'u.message')} || ${textMember('statusReason', 'u.reason')} ||
    ',"previous":' || CASE WHEN u.previous = '[]' THEN '[]' ELSE (
      SELECT jsonb_agg(jsonb_strip_nulls(jsonb_build_object('taskId', ${taskId}::jsonb, 'taskState', u.state, 'previous', '[]'::jsonb)
        || (former - 'cleanupType')) ORDER BY place)::text
      FROM jsonb_array_elements(u.previous) WITH ORDINALITY AS p (former, place)) END || '}'`;

/** Between texts of JSON, in which it is always escaped: chr(30). */
const separator = '\u001e';

/**
 * Moves what is the same in rows and in the history without a way through this process, which is half of it. Put
 * together as text and read as JSON once: a value that is built up of JSON values is written anew at each step, which
 * takes the server several times as long. $1: ids of tasks whose rows are locked. For each, as JSON texts with the
 * separator between tasks: $2 its id, $3 the rest of its Task record without the first brace, $4 the rest of its
 * history without it. $5: fields of deploys that are left out.
 */
const moveTasksSql = `WITH written AS (
    INSERT INTO task_history (task_id, request_id, deploy_id, run_id, slave_id, host, rack_id, instance_no, started_at, running_at,
      updated_at, last_task_status, data)
    SELECT task_id, t.request_id, t.deploy_id, t.run_id, t.slave_id, replace(t.host, '-', '_'), t.rack_id, t.instance_no, t.started_at,
      t.running_at, greatest(updates.newest, t.started_at), t.state,
      ('{"taskUpdates":[' || coalesce(updates.list, '') || '],"task":{"taskId":' || n.id || ',"taskRequest":' || ${launchedForSql('$5::text[]')}
        || ',' || n.launch || ',' || n.rest)::jsonb
    FROM ROWS FROM (unnest($1::text[]), string_to_table($2, chr(30)), string_to_table($3, chr(30)), string_to_table($4, chr(30)))
      AS n (task_id, id, launch, rest) JOIN task t USING (task_id)
    ${launchedForJoins}
    CROSS JOIN LATERAL (
      SELECT max(u.at) AS newest, string_agg(${updateSql('n.id')}, ',' ORDER BY ${updateOrderSql('u', 'ASC')}) AS list
      FROM task_update u WHERE u.task_id = t.task_id) AS updates
    ON CONFLICT (task_id) DO NOTHING
  ), ${deleteTasksSql}`;

/** An object with at least one member, as JSON text without its first brace. */
const members = (record: object): string => JSON.stringify(record).slice(1);

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
   * Moves those of these tasks that may move and returns their ids. The others stay live for the history poller. A task
   * that is in the history already keeps its row there.
   */
  async move(tx: Queryable, taskIds: readonly string[]): Promise<string[]> {
    if (taskIds.length === 0) return [];
    // Locked by a statement of its own: a transaction that adds a cleanup holds the task's key meanwhile, and the next
    // statement then sees what was added. In one statement its row would stay behind without a task.
    const movable = await rows<{ task_id: string }>(
      tx,
      `SELECT t.task_id FROM task t WHERE t.task_id = ANY ($3) AND ${mayMove} ORDER BY t.task_id FOR UPDATE OF t`,
      [...this.heldBack(), taskIds],
    );
    const ids = movable.map((row) => row.task_id);
    if (ids.length === 0) return [];
    const histories = await this.live.ended(tx, ids);
    const moved = [...histories.keys()];
    const ended = [...histories.values()].map(({ task: { taskId, ...launch }, ...rest }) => ({ taskId, launch, rest }));
    const texts = (textOf: (history: (typeof ended)[number]) => string): string => ended.map(textOf).join(separator);
    const leftOut = leftOutOfTasks(this.settings.storeAllClusterTaskInfoForDebugging);
    await Promise.all([
      this.balancing.removeAll(tx, moved),
      tx.query(moveTasksSql, [
        moved,
        texts(({ taskId }) => JSON.stringify(taskId)),
        texts(({ launch }) => members(launch)),
        texts(({ rest }) => members(rest)),
        leftOut,
      ]),
    ]);
    return ids;
  }

  /** Live tasks that may move, newest started first. */
  async movable(tx: Queryable, limit: number): Promise<string[]> {
    const found = await rows<{ task_id: string }>(
      tx,
      `SELECT t.task_id FROM task t WHERE ${mayMove} ORDER BY t.started_at DESC, t.task_id LIMIT $3`,
      [...this.heldBack(), limit],
    );
    return found.map((row) => row.task_id);
  }

  private heldBack(): Date[] {
    const { since, whileAwaySince } = heldBack(this.settings.cluster.agentReregisterTimeoutSeconds, this.clock.now());
    return [new Date(since), new Date(whileAwaySince)];
  }
}
