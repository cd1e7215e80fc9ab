import { parseTaskId } from '../../src/core/task-id.js';
import type { SchedulerWorld } from '../support/scheduler-world.js';

/**
 * All that is left in the end, without what a kill may change: times (and so the order of updates), generated ids,
 * machines, texts of updates. One line per fact; `4 x ..` where there are several alike.
 */
export type EndState = Record<string, string[]>;

/** By heading: lines whose first column names a request. */
const facts: Record<string, string> = {
  requests: `SELECT id || ' ' || state || ', active ' || coalesce(active_deploy_id, '-') || ', pending ' ||
      coalesce(pending_deploy_id, '-') || CASE WHEN bouncing THEN ', bouncing ' ELSE ' ' END || document AS line FROM request`,
  deploys: `SELECT request_id || ' ' || deploy_id || ' ' || coalesce(deploy_state, '-') || ' ' ||
      coalesce(regexp_replace(data #>> '{deployResult,message}', '[0-9]{4}-[0-9]{2}-[0-9T:.-]+Z', '(then)'), '') || ' ' || coalesce((SELECT string_agg(f->>'reason', ', ' ORDER BY f->>'reason')
        FROM jsonb_array_elements(data #> '{deployResult,deployFailures}') f), '') AS line FROM deploy_history`,
  gates: `SELECT request_id || ' ' || deploy_id || ' ' || step || '.' || gate || ' ' || type || ' ' || state || ' ' || passes || ' passed, ' ||
      (SELECT count(*) FROM gate_measurement m WHERE (m.request_id, m.deploy_id, m.step, m.gate) = (g.request_id, g.deploy_id, g.step, g.gate))
      || ' measured' AS line FROM deploy_gate g`,
  autoscaling: `SELECT request_id || ' ' || instances || ', last ' || scaled_from || ' to ' || scaled_to AS line FROM autoscale`,
  'deploys in progress': `SELECT request_id || ' ' || deploy_id || ' ' || state AS line FROM pending_deploy`,
  'live tasks': `SELECT request_id || ' ' || deploy_id || ' ' || instance_no || ' ' || state AS line FROM task`,
  'ended tasks': `SELECT request_id || ' ' || deploy_id || ' ' || instance_no || ': ' ||
      (SELECT string_agg(u->>'taskState', ', ' ORDER BY u->>'taskState')
       FROM jsonb_array_elements(data->'taskUpdates') u) AS line FROM task_history`,
  'pending tasks': `SELECT request_id || ' ' || deploy_id || ' ' || instance_no AS line FROM pending_task`,
  queue: `SELECT request_id || ' ' || deploy_id || ' ' || pending_type AS line FROM pending_request`,
  flows: `SELECT request_id || ' ' || coalesce(state, '-') || ' after ' ||
      coalesce((SELECT string_agg(split_part(parent, '-', 1), ', ' ORDER BY parent) FROM unnest(parent_runs) parent), '') AS line FROM flow_run`,
  orders: `SELECT request_id || ' ' || cleanup_type AS line FROM request_cleanup
    UNION ALL SELECT request_id || ' ' || cleanup_type || ' of a task' FROM task_cleanup
    UNION ALL SELECT request_id || ' kill' FROM killed_task`,
  'expiring actions': `SELECT target_id || ' ' || kind AS line FROM expiring_action`,
  'request history': `SELECT request_id || ' ' || event_type || ' ' || coalesce(message, '') AS line FROM request_history`,
  statistics: `SELECT request_id || ' ' || deploy_id || ': ' || num_tasks || ' tasks, ' || num_success || ' succeeded, ' ||
      num_failures || ' failed, ' || num_sequential_retries || ' retries in a row' AS line FROM deploy_statistics`,
  machines: `SELECT id || ' ' || state AS line FROM slave`,
  'machine history': `SELECT machine_id || ' ' || state AS line FROM machine_history`,
  'held updates': `SELECT task_id AS line FROM held_status_update`,
};

export async function endState(world: SchedulerWorld): Promise<EndState> {
  const found = await Promise.all(
    Object.entries(facts).map(async ([heading, sql]): Promise<[string, string[]]> => {
      const lines = await world.query<{ line: string }>(sql);
      return [heading, counted(lines.map(({ line }) => line))];
    }),
  );
  const running = world.cluster.runningTasks().map(({ taskId }) => withoutTimes(taskId));
  return { ...Object.fromEntries(found), 'running on machines': counted(running), webhooks: await webhooks(world) };
}

/** Updates that were delivered at least once. */
async function webhooks(world: SchedulerWorld): Promise<string[]> {
  const found = await world.query<{ type: string; key: string }>(
    `SELECT w.webhook_type AS type, u.update_key AS key FROM webhook_update u JOIN webhook w ON w.id = u.webhook_id`,
  );
  return counted(found.map(({ type, key }) => `${type} ${withoutTimes(key)}`));
}

/** Keys begin with a task id, or end with a time. */
function withoutTimes(key: string): string {
  const [first = '', ...rest] = key.split(':');
  const task = parseTaskId(first);
  const subject = task ? `${task.requestId} ${task.deployId} ${task.instanceNo}` : first;
  return [subject, ...rest.filter((part) => !/^\d{13}$/.test(part))].join(' ');
}

function counted(lines: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1);
  return [...counts].map(([line, count]) => (count > 1 ? `${count} x ${line}` : line)).toSorted();
}
