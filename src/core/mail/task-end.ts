import { isLongRunning, type EmailType, type RequestType } from '../model/enums.js';
import type { EndedTask, RequestOfTask } from '../completion/ended-task.js';
import type { AfterTask } from './mail-types.js';

const finished = (requestType: RequestType): EmailType => {
  if (requestType === 'ON_DEMAND') return 'TASK_FINISHED_ON_DEMAND';
  if (requestType === 'RUN_ONCE') return 'TASK_FINISHED_RUN_ONCE';
  return isLongRunning(requestType) ? 'TASK_FINISHED_LONG_RUNNING' : 'TASK_FINISHED_SCHEDULED';
};

const unhealthy: ReadonlySet<string | undefined> = new Set([
  'UNHEALTHY_NEW_TASK',
  'UNHEALTHY_TASK',
  'OVERDUE_NEW_TASK',
]);

function typeOf({ state, cleanupType }: EndedTask, requestType: RequestType): EmailType | undefined {
  const leavesMachine = cleanupType === 'DECOMISSIONING';
  switch (state) {
    case 'TASK_FAILED':
      return leavesMachine ? 'TASK_FAILED_DECOMISSIONED' : 'TASK_FAILED';
    case 'TASK_FINISHED':
      return finished(requestType);
    case 'TASK_KILLED':
      if (leavesMachine) return 'TASK_KILLED_DECOMISSIONED';
      return unhealthy.has(cleanupType) ? 'TASK_KILLED_UNHEALTHY' : 'TASK_KILLED';
    case 'TASK_LOST':
      return 'TASK_LOST';
    default:
      return undefined;
  }
}

/**
 * Type of mail that reports the end of a task, if one does. `request` is as it was before this end: the end that starts
 * a cooldown is reported itself, those after it are not.
 */
export function taskEndMail(task: EndedTask, request: RequestOfTask, next: AfterTask): EmailType | undefined {
  const { state, activeDeployId, pendingDeployId } = request;
  if (state === 'PAUSED' || state === 'DELETING' || state === 'DELETED' || state === 'SYSTEM_COOLDOWN')
    return undefined;
  const { deployId } = task.taskId;
  if (deployId !== activeDeployId && deployId !== pendingDeployId && next !== 'retry') return undefined;
  return typeOf(task, request.request.requestType);
}
