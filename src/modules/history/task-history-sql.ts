import { isTerminal, taskStates } from '../../core/model/enums.js';

const list = (states: readonly string[]): string => states.map((state) => `'${state}'`).join(', ');

/**
 * Order of the updates of one task: by time; the end always last, even where clocks of machines disagree, because
 * readers take the last update for the present state; states of the same millisecond in the order of a task's life.
 */
const updateOrder = (alias: string, direction: 'ASC' | 'DESC'): string =>
  [
    `${alias}.state IN (${list(taskStates.filter(isTerminal))})`,
    `${alias}.at`,
    `array_position(ARRAY[${list(taskStates)}], ${alias}.state)`,
  ]
    .map((key) => `${key} ${direction}`)
    .join(', ');

/** Time of a live task's newest update: t is its row of task. */
export const newestUpdateSql = `coalesce((SELECT max(u.at) FROM task_update u WHERE u.task_id = t.task_id), t.started_at)`;

/** State of a live task's newest update, TASK_CLEANING included: t is its row of task. */
export const newestStateSql = `coalesce((SELECT u.state FROM task_update u WHERE u.task_id = t.task_id
  ORDER BY ${updateOrder('u', 'DESC')} LIMIT 1), t.state)`;

/** $1: ids of tasks whose rows are locked; $2: their TaskHistory records, as one JSON array in the same order. */
export const moveTasksSql = `WITH written AS (
    INSERT INTO task_history (task_id, request_id, deploy_id, run_id, slave_id, host, rack_id, instance_no, started_at, running_at,
      updated_at, last_task_status, data)
    SELECT task_id, t.request_id, t.deploy_id, t.run_id, t.slave_id, replace(t.host, '-', '_'), t.rack_id, t.instance_no, t.started_at,
      t.running_at, greatest(${newestUpdateSql}, t.started_at), t.state, n.data
    FROM ROWS FROM (unnest($1::text[]), jsonb_array_elements($2::jsonb)) AS n (task_id, data) JOIN task t USING (task_id)
    ON CONFLICT (task_id) DO NOTHING
  ), launch AS (DELETE FROM task_launch WHERE task_id = ANY ($1)
  ), updates AS (DELETE FROM task_update WHERE task_id = ANY ($1)
  ), healthchecks AS (DELETE FROM task_healthcheck WHERE task_id = ANY ($1)
  ), commands AS (DELETE FROM task_shell_command WHERE task_id = ANY ($1)
  ), command_updates AS (DELETE FROM task_shell_command_update WHERE task_id = ANY ($1)
  ), metadata AS (DELETE FROM task_metadata WHERE task_id = ANY ($1)
  ), cleanup AS (DELETE FROM task_cleanup WHERE task_id = ANY ($1)
  ), balancing AS (DELETE FROM load_balancer_record WHERE task_id = ANY ($1)
  ), kill AS (DELETE FROM killed_task WHERE task_id = ANY ($1))
  DELETE FROM task WHERE task_id = ANY ($1)`;
