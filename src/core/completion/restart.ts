import type { EndedTask, RequestOfTask } from './ended-task.js';
import { failureType } from './statistics.js';
import type { TaskFailureType } from '../model/enums.js';

/** Failures that are none of the task's own: it starts elsewhere at once. */
const ofOthers: ReadonlySet<TaskFailureType> = new Set<TaskFailureType>(['LOST_SLAVE', 'MESOS_ERROR']);

/** True for the end of a task of the active deploy that delays the next start of its instance. */
export function countsForRestart(task: EndedTask, { request, activeDeployId }: RequestOfTask): boolean {
  const type = failureType(task, request.requestType);
  return task.taskId.deployId === activeDeployId && type !== undefined && !ofOthers.has(type);
}
