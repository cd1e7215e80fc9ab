import type { Deploy } from '../../core/model/deploy.js';
import type { Request } from '../../core/model/request.js';
import type { PendingTask, Task } from '../../core/model/task.js';
import { taskRecord, type LaunchPlan } from '../../core/launch/index.js';
import { parseTaskId } from '../../core/task-id.js';

/** What is stored of a launch. The rest of its Task record follows from that, from its row and from its deploy. */
export interface LaunchDocument {
  /** As it was when the task was launched. */
  request: Request;
  pendingTask: PendingTask;
  launch: LaunchPlan;
}

export interface LaunchedTaskRow {
  task_id: string;
  slave_id: string;
  incarnation: string;
  host: string;
  rack_id: string;
  document: LaunchDocument;
  deploy: Deploy | null;
}

/** Columns of LaunchedTaskRow, out of launchedTaskTables. */
export const launchedTaskColumns = `t.task_id, t.slave_id, t.incarnation, t.host, t.rack_id, l.document, d.data->'deploy' AS deploy`;
export const launchedTaskTables = `task t JOIN task_launch l USING (task_id)
  LEFT JOIN deploy_history d ON d.request_id = t.request_id AND d.deploy_id = t.deploy_id`;

/** The Task record of a live task. */
export function launchedTask(row: LaunchedTaskRow): Task {
  const { request, pendingTask: pending, launch } = row.document;
  const taskId = parseTaskId(row.task_id)!; // made by this service, so it can be read
  const place = { slaveId: row.slave_id, incarnation: row.incarnation, hostname: row.host, rackId: row.rack_id };
  const deploy = row.deploy ?? { requestId: taskId.requestId, id: taskId.deployId };
  return taskRecord({ taskId, place, request, deploy, pending }, launch);
}
