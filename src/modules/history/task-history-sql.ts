import { isTerminal, taskStates } from '../../core/model/enums.js';

const list = (states: readonly string[]): string => states.map((state) => `'${state}'`).join(', ');

/**
 * Order of the updates of one task: by time; the end always last, even where clocks of machines disagree, because
 * readers take the last update for the present state; states of the same millisecond in the order of a task's life.
 */
export const updateOrder = (alias: string, direction: 'ASC' | 'DESC' = 'ASC'): string =>
  [
    `${alias}.state IN (${list(taskStates.filter(isTerminal))})`,
    `${alias}.at`,
    `array_position(ARRAY[${list(taskStates)}], ${alias}.state)`,
  ]
    .map((key) => `${key} ${direction}`)
    .join(', ');

export const toMillisSql = (column: string): string => `(extract(epoch FROM ${column}) * 1000)::bigint`;

/** The updates of task $id as a JSON array of TaskHistoryUpdate. taskId: SQL of the TaskId record. */
export const updatesSql = (id: string, taskId: string): string => `(
  SELECT coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object('taskId', ${taskId}, 'timestamp', ${toMillisSql('u.at')},
      'taskState', u.state, 'statusMessage', u.message, 'statusReason', u.reason, 'previous', CASE WHEN u.previous = '[]' THEN u.previous ELSE (
        SELECT jsonb_agg(p || jsonb_build_object('taskId', ${taskId}, 'taskState', u.state, 'previous', '[]'::jsonb))
        FROM jsonb_array_elements(u.previous) p) END)) ORDER BY ${updateOrder('u')}), '[]')
  FROM task_update u WHERE u.task_id = ${id})`;

const healthchecksSql = (id: string, taskId: string): string => `(
  SELECT coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object('taskId', ${taskId}, 'timestamp', ${toMillisSql('h.checked_at')},
      'startup', h.startup, 'statusCode', h.status_code, 'durationMillis', h.duration_millis,
      'responseBody', h.response_body, 'errorMessage', h.error_message)) ORDER BY h.checked_at, NOT h.startup), '[]')
  FROM task_healthcheck h WHERE h.task_id = ${id})`;

/** The TaskHistory record of a live task: t is its row of task, `task` the SQL of its Task record (jsonb). */
export const liveTaskHistorySql = (task: string): string => `jsonb_build_object(
    'taskUpdates', ${updatesSql('t.task_id', `${task}->'taskId'`)},
    'healthcheckResults', ${healthchecksSql('t.task_id', `${task}->'taskId'`)},
    'task', ${task}, 'loadBalancerUpdates', '[]'::jsonb, 'shellCommandHistory', '[]'::jsonb,
    'taskMetadata', '[]'::jsonb)
  || CASE WHEN t.directory IS NULL THEN '{}' ELSE jsonb_build_object('directory', t.directory) END`;

/** Time of a live task's newest update: t is its row of task. */
export const newestUpdateSql = `coalesce((SELECT max(u.at) FROM task_update u WHERE u.task_id = t.task_id), t.started_at)`;

/** State of a live task's newest update, TASK_CLEANING included: t is its row of task. */
export const newestStateSql = `coalesce((SELECT u.state FROM task_update u WHERE u.task_id = t.task_id
  ORDER BY ${updateOrder('u', 'DESC')} LIMIT 1), t.state)`;

/** $1: ids of tasks whose rows are locked; $2: their Task records, as one JSON array in the same order. */
export const moveTasksSql = `WITH written AS (
    INSERT INTO task_history (task_id, request_id, deploy_id, run_id, slave_id, host, rack_id, instance_no, started_at, running_at,
      updated_at, last_task_status, data)
    SELECT task_id, t.request_id, t.deploy_id, t.run_id, t.slave_id, replace(t.host, '-', '_'), t.rack_id, t.instance_no, t.started_at,
      t.running_at, greatest(${newestUpdateSql}, t.started_at), t.state, ${liveTaskHistorySql('n.record')}
    FROM ROWS FROM (unnest($1::text[]), jsonb_array_elements($2::jsonb)) AS n (task_id, record) JOIN task t USING (task_id)
    ON CONFLICT (task_id) DO NOTHING
  ), launch AS (DELETE FROM task_launch WHERE task_id = ANY ($1)
  ), updates AS (DELETE FROM task_update WHERE task_id = ANY ($1)
  ), healthchecks AS (DELETE FROM task_healthcheck WHERE task_id = ANY ($1)
  ), cleanup AS (DELETE FROM task_cleanup WHERE task_id = ANY ($1)
  ), kill AS (DELETE FROM killed_task WHERE task_id = ANY ($1))
  DELETE FROM task WHERE task_id = ANY ($1)`;
