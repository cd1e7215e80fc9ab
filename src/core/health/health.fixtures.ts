import type { TaskHealthcheckResult } from '../model/task.js';
import { makeTaskId } from '../task-id.js';
import type { HealthContext, HealthSettings, ObservedTask } from './index.js';

/** Epoch milliseconds at which the tasks of these tests are launched. */
export const launchedAt = 1_000_000;

export const healthSettings: HealthSettings = {
  healthcheckIntervalSeconds: 5,
  healthcheckTimeoutSeconds: 5,
  startupTimeoutSeconds: 45,
  startupIntervalSeconds: 2,
  healthcheckFailureStatusCodes: [],
  considerTaskHealthyAfterRunningForSeconds: 5,
  deployHealthyBySeconds: 120,
};

export const observed = (
  changes: Partial<ObservedTask> & { deployId?: string; instanceNo?: number } = {},
): ObservedTask => {
  const { deployId = 'd1', instanceNo = 1, ...rest } = changes;
  return {
    taskId: makeTaskId({ requestId: 'web', deployId, startedAt: launchedAt, instanceNo, host: 'h', rackId: 'r' }),
    state: 'TASK_RUNNING',
    runningAt: launchedAt,
    launchedWithSkip: false,
    skippedByRequest: false,
    checksCounted: 0,
    ...rest,
  };
};

export const result = (changes: Partial<TaskHealthcheckResult> = {}): TaskHealthcheckResult => ({
  taskId: observed().taskId,
  timestamp: launchedAt + 2_000,
  startup: false,
  statusCode: 200,
  ...changes,
});

export const healthContext = (changes: Partial<HealthContext> = {}): HealthContext => ({
  deploy: { requestId: 'web', id: 'd1', healthcheck: { uri: '/' } },
  deployPending: false,
  requestSkips: false,
  settings: healthSettings,
  ...changes,
});
