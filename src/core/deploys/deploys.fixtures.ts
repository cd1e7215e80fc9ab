import { healthSettings } from '../health/health.fixtures.js';
import type { DeployProgress } from '../model/deploy.js';
import type { LoadBalancerState } from '../model/enums.js';
import type { LoadBalancerUpdate } from '../model/load-balancer.js';
import type { TaskId } from '../model/task.js';
import { makeTaskId } from '../task-id.js';
import type { DeployBalance, DeploySettings, DeployTask, DeployView } from './index.js';

/** Epoch milliseconds at which the deploys of these tests begin. */
export const begunAt = 1_000_000;

export const deploySettings: DeploySettings = {
  ...healthSettings,
  defaultDeployStepWaitTimeMs: 0,
  defaultDeployMaxTaskRetries: 0,
  allowDeployOfPausedRequests: false,
};

export const deployTask = (deployId: string, instanceNo: number, changes: Partial<DeployTask> = {}): DeployTask => ({
  taskId: makeTaskId({ requestId: 'web', deployId, startedAt: begunAt, instanceNo, host: 'h', rackId: 'r' }),
  state: 'TASK_RUNNING',
  runningAt: begunAt,
  launchedWithSkip: false,
  skippedByRequest: false,
  checksCounted: 0,
  killed: false,
  ...changes,
});

/** Instances 1 to `count` of a deploy. */
export const deployTasks = (deployId: string, count: number, changes?: Partial<DeployTask>): DeployTask[] =>
  Array.from({ length: count }, (_, index) => deployTask(deployId, index + 1, changes));

export const progress = (changes: Partial<DeployProgress> = {}): DeployProgress => ({
  targetActiveInstances: 3,
  currentActiveInstances: 0,
  deployInstanceCountPerStep: 3,
  deployStepWaitTimeMs: 0,
  stepComplete: false,
  autoAdvanceDeploySteps: true,
  failedDeployTasks: [],
  timestamp: begunAt,
  ...changes,
});

/** Deploy v2 of a service of three instances, in the place of v1. Its tasks need no health check. */
export const deployView = (changes: Partial<DeployView> = {}): DeployView => ({
  request: { id: 'web', requestType: 'SERVICE', instances: 3 },
  requestState: 'ACTIVE',
  marker: { requestId: 'web', deployId: 'v2', timestamp: begunAt, user: 'ann@example.org', message: 'new colours' },
  deploy: { requestId: 'web', id: 'v2', command: 'serve' },
  state: 'WAITING',
  progress: progress(),
  hasLoadBalancer: false,
  acceptanceChecks: [],
  activeDeployId: 'v1',
  tasks: deployTasks('v1', 3),
  queuedTasks: 0,
  settings: deploySettings,
  ...changes,
});

/** Service 'web' of three instances behind a load balancer. */
export const balancedView = (changes: Partial<DeployView> = {}): DeployView =>
  deployView({
    request: { id: 'web', requestType: 'SERVICE', instances: 3, loadBalanced: true },
    hasLoadBalancer: true,
    ...changes,
  });

/** A change of the load balancer for the step that aims at three tasks, as it was answered `askedAt`. */
export const balance = (
  loadBalancerState: LoadBalancerState,
  changes: Partial<Omit<DeployBalance, 'update'>> & Partial<LoadBalancerUpdate> & { id?: string } = {},
): DeployBalance => {
  const { id = 'web-v2-3', method = 'ENQUEUE', timestamp = begunAt + 5_000, message, ...rest } = changes;
  return {
    update: {
      loadBalancerState,
      loadBalancerRequestId: { id, requestType: 'DEPLOY', attemptNumber: 1 },
      timestamp,
      method,
      ...(message === undefined ? {} : { message }),
    },
    added: deployTasks('v2', 3).map(({ taskId }) => taskId),
    removed: deployTasks('v1', 3).map(({ taskId }) => taskId),
    removedBefore: [],
    targetActiveInstances: 3,
    isRevert: false,
    usedIds: [],
    ...rest,
  };
};

/** "v1/2" for instance 2 of deploy v1. */
export const short = (taskIds: readonly TaskId[]): string[] =>
  taskIds.map(({ deployId, instanceNo }) => `${deployId}/${instanceNo}`);
