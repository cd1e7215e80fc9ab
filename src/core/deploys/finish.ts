import type { DeployResult } from '../model/deploy.js';
import { isLongRunning, type RequestState, type TaskCleanupType } from '../model/enums.js';
import type { Request, RequestHistory } from '../model/request.js';
import type { PendingRequest, TaskCleanup } from '../model/task.js';
import { pendingRequestsAtEnd } from './finish-queue.js';
import { mayDeploy } from './may-deploy.js';
import { isIncremental } from './progress.js';
import {
  effectiveRequest,
  instancesOf,
  newActive,
  otherActive,
  type DeployOutcome,
  type DeployTask,
  type DeployView,
} from './view.js';

export interface FinishSurroundings {
  /** Pending tasks of the request, of whatever deploy. */
  pendingTaskCount: number;
  /** For a run that starts with the deploy and names no run id. */
  newRunId: () => string;
}

/** Everything the end of a deploy changes, to be written in one transaction. */
export interface FinishPlan {
  result: DeployResult;
  /** What the request becomes; absent when it was removed meanwhile. */
  request?: { document: Request; state: RequestState; activeDeployId?: string; endBounce: boolean };
  /** Each overwrites a cleanup the task may have. */
  cleanups: TaskCleanup[];
  pendingRequests: PendingRequest[];
  history: RequestHistory[];
  /** Expiring actions that have lost their sense. */
  dropExpiring: ('BOUNCE' | 'PAUSE' | 'SCALE')[];
  /** Pending tasks of other deploys are deleted; runs that somebody asked for moved on when the deploy began. */
  dropOtherPendingTasks: boolean;
}

/** What follows from the end of a deploy. */
export function finishDeploy(
  view: DeployView,
  outcome: DeployOutcome,
  around: FinishSurroundings,
  now: number,
): FinishPlan {
  const lbUpdate = view.balance?.update;
  const result: DeployResult = { ...outcome, ...(lbUpdate ? { lbUpdate } : {}), timestamp: now };
  const stored = view.request;
  if (!stored || view.requestState === 'MISSING') {
    return { result, cleanups: [], pendingRequests: [], history: [], dropExpiring: [], dropOtherPendingTasks: false };
  }
  const success = outcome.deployState === 'SUCCEEDED';
  const rollsOut = isLongRunning(stored.requestType);
  const unpausing = view.requestState === 'DEPLOYING_TO_UNPAUSE';
  const document = success ? effectiveRequest(view)! : stored;
  const state = stateAfter(view.requestState, success);
  const endBounce = (success && rollsOut) || (unpausing && !success);
  const dropExpiring: FinishPlan['dropExpiring'] = endBounce ? ['BOUNCE'] : [];
  if (unpausing && success) dropExpiring.push('PAUSE');
  if (success && view.updatedRequest) dropExpiring.push('SCALE');
  return {
    result,
    request: {
      document,
      state,
      activeDeployId: success ? view.marker.deployId : view.activeDeployId,
      endBounce,
    },
    cleanups: cleanupsAtEnd(view, outcome, now),
    pendingRequests: pendingRequestsAtEnd(view, outcome, document, around, now),
    history: historyAtEnd(view, state, document, success, now),
    dropExpiring,
    dropOtherPendingTasks: success && stored.requestType !== 'RUN_ONCE',
  };
}

function stateAfter(state: RequestState, success: boolean): RequestState {
  if (state === 'DEPLOYING_TO_UNPAUSE') return success ? 'ACTIVE' : 'PAUSED';
  return success && state === 'FINISHED' ? 'ACTIVE' : state;
}

/** Success sends the old tasks home, anything else the new ones; single runs are left to end by themselves. */
function cleanupsAtEnd(view: DeployView, outcome: DeployOutcome, now: number): TaskCleanup[] {
  const type = view.request!.requestType;
  if (type === 'ON_DEMAND' || type === 'RUN_ONCE') return [];
  return tasksToClean(view, outcome).map(({ taskId }) => ({
    taskId,
    cleanupType: cleanupType(view, outcome),
    timestamp: now,
    user: view.marker.user,
    message: `Deploy ${view.marker.deployId} is ${outcome.deployState}`,
  }));
}

function tasksToClean(view: DeployView, { deployState }: DeployOutcome): DeployTask[] {
  if (deployState === 'SUCCEEDED') return otherActive(view);
  // A pause or a deletion ended the deploy, and takes the tasks by itself.
  return mayDeploy(view) ? newActive(view) : [];
}

function cleanupType(view: DeployView, { deployState }: DeployOutcome): TaskCleanupType {
  if (deployState === 'SUCCEEDED') return 'DEPLOY_STEP_FINISHED';
  const incremental = isIncremental(view.progress, instancesOf(effectiveRequest(view)));
  if (deployState === 'CANCELED') return incremental ? 'INCREMENTAL_DEPLOY_CANCELLED' : 'DEPLOY_CANCELED';
  // Old tasks may be gone already: then the new ones stay until old ones are back, however the deploy failed.
  return incremental ? 'INCREMENTAL_DEPLOY_FAILED' : 'DEPLOY_FAILED';
}

function historyAtEnd(
  view: DeployView,
  state: RequestState,
  document: Request,
  success: boolean,
  now: number,
): RequestHistory[] {
  const event = (eventType: RequestHistory['eventType'], message?: string): RequestHistory => ({
    createdAt: now,
    user: view.marker.user,
    eventType,
    request: document,
    message: message ?? view.marker.message,
  });
  const events: RequestHistory[] = [];
  if (view.requestState === 'FINISHED' && state === 'ACTIVE') events.push(event('UPDATED'));
  if (view.requestState === 'DEPLOYING_TO_UNPAUSE') events.push(event(success ? 'DEPLOYED_TO_UNPAUSE' : 'PAUSED'));
  const alreadyTold = events.some(({ eventType }) => eventType === 'UPDATED');
  if (success && view.updatedRequest && !alreadyTold) events.push(event('UPDATED'));
  return events;
}
