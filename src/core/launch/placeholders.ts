import type { TaskId } from '../model/task.js';

/** The machine a task goes to. */
export interface LaunchPlace {
  slaveId: string;
  incarnation: string;
  /** Hostname as it is, not sanitized. */
  hostname: string;
  rackId: string;
}

/** Fills `${TASK_ID}` and the like in values of a deploy. Others are left for the shell. */
export function placeholders(taskId: TaskId, place: LaunchPlace): (text: string) => string {
  const values = new Map(
    Object.entries({
      TASK_REQUEST_ID: taskId.requestId,
      TASK_DEPLOY_ID: taskId.deployId,
      TASK_STARTED_AT: String(taskId.startedAt),
      TASK_INSTANCE_NO: String(taskId.instanceNo),
      TASK_HOST: place.hostname,
      TASK_RACK_ID: place.rackId,
      TASK_ID: taskId.id,
    }),
  );
  return (text) => text.replace(/\$\{(\w+)\}/g, (whole, name: string) => values.get(name) ?? whole);
}
