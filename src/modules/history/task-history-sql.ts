import { isTerminal, shellCommandUpdateTypes, taskStates } from '../../core/model/enums.js';

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

/** Of one command. Clocks may differ: the order is that of a command's life. */
const shellUpdateOrder = `array_position(ARRAY[${list(shellCommandUpdateTypes)}], s.update_type)`;

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

const loadBalancerUpdatesSql = (id: string): string => `(
  SELECT coalesce(jsonb_agg(b.document ORDER BY (b.document->>'timestamp')::bigint, b.kind), '[]')
  FROM load_balancer_record b WHERE b.task_id = ${id} AND b.document IS NOT NULL)`;
/** Those that were sent to their machine. */
const shellCommandsSql = (id: string, taskId: string): string => `(
  SELECT coalesce(jsonb_agg(jsonb_build_object(
      'shellRequest', jsonb_strip_nulls(jsonb_build_object('taskId', ${taskId}, 'user', c.user_name,
        'timestamp', ${toMillisSql('c.queued_at')})) || jsonb_build_object('shellCommand', c.document),
      'shellUpdates', (SELECT coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
          'shellRequestId', jsonb_build_object('taskId', ${taskId}, 'name', c.name, 'timestamp', ${toMillisSql('c.queued_at')}),
          'timestamp', ${toMillisSql('s.at')}, 'message', s.message, 'outputFilename', s.output_filename,
          'updateType', s.update_type)) ORDER BY ${shellUpdateOrder}), '[]')
        FROM task_shell_command_update s
        WHERE s.task_id = c.task_id AND s.name = c.name AND s.queued_at = c.queued_at)) ORDER BY c.queued_at), '[]')
  FROM task_shell_command c WHERE c.task_id = ${id} AND c.dispatched_at IS NOT NULL)`;

const metadataSql = (id: string, taskId: string): string => `(
  SELECT coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object('taskId', ${taskId}, 'timestamp', ${toMillisSql('m.at')},
      'type', m.type, 'title', m.title, 'message', m.message, 'user', m.user_name, 'level', m.level))
      ORDER BY m.at, m.type), '[]')
  FROM task_metadata m WHERE m.task_id = ${id})`;

/** The TaskHistory record of a live task: t is its row of task, `task` the SQL of its Task record (jsonb). */
export const liveTaskHistorySql = (task: string): string => `jsonb_build_object(
    'taskUpdates', ${updatesSql('t.task_id', `${task}->'taskId'`)},
    'healthcheckResults', ${healthchecksSql('t.task_id', `${task}->'taskId'`)},
    'task', ${task}, 'loadBalancerUpdates', ${loadBalancerUpdatesSql('t.task_id')},
    'shellCommandHistory', ${shellCommandsSql('t.task_id', `${task}->'taskId'`)},
    'taskMetadata', ${metadataSql('t.task_id', `${task}->'taskId'`)})
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
  ), commands AS (DELETE FROM task_shell_command WHERE task_id = ANY ($1)
  ), command_updates AS (DELETE FROM task_shell_command_update WHERE task_id = ANY ($1)
  ), metadata AS (DELETE FROM task_metadata WHERE task_id = ANY ($1)
  ), cleanup AS (DELETE FROM task_cleanup WHERE task_id = ANY ($1)
  ), balancing AS (DELETE FROM load_balancer_record WHERE task_id = ANY ($1)
  ), kill AS (DELETE FROM killed_task WHERE task_id = ANY ($1))
  DELETE FROM task WHERE task_id = ANY ($1)`;
