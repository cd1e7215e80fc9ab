import { isLongRunning, type RequestType, type TaskFailureType } from '../model/enums.js';
import type { EndedTask } from './completion.js';

const reasons = (...names: string[]): ReadonlySet<string> => new Set(names.map((name) => `REASON_${name}`));

const clusterErrors = reasons(
  'COMMAND_EXECUTOR_FAILED',
  'CONTAINER_LAUNCH_FAILED',
  'CONTAINER_PREEMPTED',
  'CONTAINER_UPDATE_FAILED',
  'EXECUTOR_REGISTRATION_TIMEOUT',
  'EXECUTOR_REREGISTRATION_TIMEOUT',
  'EXECUTOR_TERMINATED',
  'EXECUTOR_UNREGISTERED',
  'FRAMEWORK_REMOVED',
  'GC_ERROR',
  'INVALID_FRAMEWORKID',
  'INVALID_OFFERS',
  'MASTER_DISCONNECTED',
  'RECONCILIATION',
  'RESOURCES_UNKNOWN',
  'TASK_GROUP_INVALID',
  'TASK_GROUP_UNAUTHORIZED',
  'TASK_INVALID',
  'TASK_UNAUTHORIZED',
  'TASK_UNKNOWN',
);
const lostSlave = reasons(
  'AGENT_REMOVED',
  'AGENT_RESTARTED',
  'AGENT_UNKNOWN',
  'AGENT_DISCONNECTED',
  'AGENT_REMOVED_BY_OPERATOR',
);
const startupFailures = ['OVERDUE_NEW_TASK', 'UNHEALTHY_NEW_TASK'];

/** The kind of failure that an end counts as, undefined when it counts as none. */
export function failureType(task: EndedTask, requestType: RequestType): TaskFailureType | undefined {
  const { state, message = '', reason = '', cleaningText } = task;
  if (state === 'TASK_FINISHED') return isLongRunning(requestType) ? 'UNEXPECTED_EXIT' : undefined;
  if (state === 'TASK_KILLED') {
    const why = [message, cleaningText ?? ''];
    return startupFailures.some((type) => why.some((text) => text.startsWith(type))) ? 'STARTUP_FAILURE' : undefined;
  }
  // Whatever happens to a task that has to go anyway says nothing about the deploy.
  if (cleaningText !== undefined) return undefined;
  if (state === 'TASK_FAILED') {
    if (message.includes('Memory limit exceeded') || reason === 'REASON_CONTAINER_LIMITATION_MEMORY') return 'OOM';
    return reason === 'REASON_CONTAINER_LIMITATION_DISK' ? 'OUT_OF_DISK_SPACE' : 'BAD_EXIT_CODE';
  }
  if (state !== 'TASK_LOST') return undefined;
  if (clusterErrors.has(reason)) return 'MESOS_ERROR';
  return lostSlave.has(reason) ? 'LOST_SLAVE' : undefined;
}
