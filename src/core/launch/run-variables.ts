import { parentRunsVariable } from '../flows/index.js';
import { isLongRunning } from '../model/enums.js';
import type { Request } from '../model/request.js';
import type { PendingTask, TaskId } from '../model/task.js';

interface LaunchedRun {
  taskId: TaskId;
  request: Pick<Request, 'requestType'>;
  pending: PendingTask;
}

/** Variables that tell a task which run it is, and why there is one. Tasks of services are no runs. */
export function runVariables({ taskId, request, pending }: LaunchedRun): Record<string, string> {
  if (isLongRunning(request.requestType)) return {};
  const { trigger, scheduledAt, attempt = 1, flowId, parentRuns } = pending;
  const runId = runIdOf(taskId, request, pending);
  return {
    ...(runId !== undefined && { TASK_RUN_ID: runId }),
    ...(scheduledAt !== undefined && { TASK_SCHEDULED_AT: new Date(scheduledAt).toISOString() }),
    TASK_ATTEMPT: String(attempt),
    ...(trigger !== undefined && { TASK_TRIGGER: trigger }),
    ...(flowId !== undefined && { TASK_FLOW_ID: flowId }),
    // Ids of tasks have no spaces, and a shell splits there.
    ...(parentRuns !== undefined && { [parentRunsVariable]: parentRuns.join(' ') }),
  };
}

/** A run that no caller named is known by what there is one run of: a time of its schedule, or a deploy that runs once. */
function runIdOf(
  { requestId, deployId }: TaskId,
  { requestType }: LaunchedRun['request'],
  { runId, scheduledAt }: PendingTask,
): string | undefined {
  if (runId !== undefined) return runId;
  if (requestType === 'RUN_ONCE') return `${requestId}-${deployId}`;
  return scheduledAt === undefined ? undefined : `${requestId}-${scheduledAt}`;
}
