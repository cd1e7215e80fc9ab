import { isIncremental } from './progress.js';
import {
  type DeployTask,
  type DeploySnapshot,
  effectiveRequest,
  isStaying,
  mayDeploy,
  newActive,
  otherActive,
} from './view.js';
import { type DeployOutcome } from './outcome.js';
import type { DeployResult } from '../model/deploy.js';
import {
  isLongRunning,
  isTerminal,
  type PendingType,
  type RequestState,
  type TaskCleanupType,
} from '../model/enums.js';
import { instancesOf, type Request, type RequestHistory, type RunNowRequest } from '../model/request.js';
import { type PendingRequest, type PendingTask, type RunOrigin, type TaskCleanup, waitsUntil } from '../model/task.js';
import { runOptions } from '../requests/run-now.js';

export interface FinishContext {
  /** Pending tasks of the request, of whatever deploy. */
  pendingTaskCount: number;
  /** For a run that starts with the deploy and names no run id. */
  newRunId: () => string;
}

/** Everything the end of a deploy changes, to be written in one transaction. */
interface FinishPlan {
  result: DeployResult;
  /** The request from now on; absent when it was removed in the meantime. */
  request?: { document: Request; state: RequestState; activeDeployId?: string; endBounce: boolean };
  /** Each overwrites a cleanup the task may have. */
  cleanups: TaskCleanup[];
  pendingRequests: PendingRequest[];
  history: RequestHistory[];
  /** Expiring actions that have lost their sense. */
  dropExpiring: ('BOUNCE' | 'PAUSE' | 'SCALE')[];
  /** Pending tasks of other deploys are deleted; runs that a caller asked for moved on when the deploy began. */
  dropOtherPendingTasks: boolean;
}

/** Decides the consequences of the end of a deploy. */
export function finishDeploy(
  view: DeploySnapshot,
  outcome: DeployOutcome,
  context: FinishContext,
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
    pendingRequests: pendingRequestsAtEnd(view, outcome, document, context, now),
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
function cleanupsAtEnd(view: DeploySnapshot, outcome: DeployOutcome, now: number): TaskCleanup[] {
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

function tasksToClean(view: DeploySnapshot, { deployState }: DeployOutcome): DeployTask[] {
  if (deployState === 'SUCCEEDED') return otherActive(view);
  // A pause or a deletion ended the deploy, and takes the tasks by itself.
  return mayDeploy(view) ? newActive(view) : [];
}

function cleanupType(view: DeploySnapshot, { deployState }: DeployOutcome): TaskCleanupType {
  if (deployState === 'SUCCEEDED') return 'DEPLOY_STEP_FINISHED';
  const incremental = isIncremental(view.progress, instancesOf(effectiveRequest(view)));
  if (deployState === 'CANCELED') return incremental ? 'INCREMENTAL_DEPLOY_CANCELLED' : 'DEPLOY_CANCELED';
  // Old tasks may be gone already: then the new ones stay until old ones are back, however the deploy failed.
  return incremental ? 'INCREMENTAL_DEPLOY_FAILED' : 'DEPLOY_FAILED';
}

function historyAtEnd(
  view: DeploySnapshot,
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
  const alreadyReported = events.some(({ eventType }) => eventType === 'UPDATED');
  if (success && view.updatedRequest && !alreadyReported) events.push(event('UPDATED'));
  return events;
}

/**
 * Runs and checks that the scheduler is asked for when a deploy has ended. `document`: the request as it is from now
 * on.
 */
function pendingRequestsAtEnd(
  view: DeploySnapshot,
  outcome: DeployOutcome,
  document: Request,
  context: FinishContext,
  now: number,
): PendingRequest[] {
  const entry = (pendingType: PendingType, deployId = view.marker.deployId): PendingRequest => ({
    requestId: view.marker.requestId,
    deployId,
    timestamp: now,
    user: view.marker.user,
    pendingType,
    skipHealthchecks: deployId === view.marker.deployId ? view.deploy?.skipHealthchecksOnDeploy : undefined,
    message: view.marker.message,
  });
  if (!isLongRunning(document.requestType)) {
    return firstRun(view, outcome, document, context, entry);
  }
  return isSuccess(outcome) ? afterRollout(view, document, entry) : bringBackOldTasks(view, outcome, entry);
}

type MakeEntry = (pendingType: PendingType, deployId?: string) => PendingRequest;

const isSuccess = ({ deployState }: DeployOutcome): boolean => deployState === 'SUCCEEDED';

/** A job is put into the queue when its deploy ends; an on-demand one only if the deploy says so. */
function firstRun(
  view: DeploySnapshot,
  { deployState }: DeployOutcome,
  { requestType, instances }: Request,
  context: FinishContext,
  entry: MakeEntry,
): PendingRequest[] {
  const run = view.deploy?.runImmediately;
  if (!run)
    return requestType === 'ON_DEMAND' ? [] : [entry(deployState === 'CANCELED' ? 'DEPLOY_CANCELLED' : 'NEW_DEPLOY')];
  const activeTasks = view.tasks.filter((task) => !isTerminal(task.state)).length;
  const mayRunNow =
    requestType === 'SCHEDULED'
      ? activeTasks === 0
      : instances === undefined || activeTasks + context.pendingTaskCount < instances;
  const immediately: PendingType = requestType === 'SCHEDULED' ? 'IMMEDIATE' : 'ONEOFF';
  const pendingType = mayRunNow ? immediately : 'NEW_DEPLOY';
  const queued = entry(deployState === 'CANCELED' ? 'DEPLOY_CANCELLED' : pendingType);
  const origin: RunOrigin =
    queued.pendingType === immediately ? { trigger: 'RUN_NOW', scheduledAt: run.runAt ?? queued.timestamp } : {};
  return [{ ...queued, ...ofRun(run, context), ...origin }];
}

const ofRun = (run: RunNowRequest, { newRunId }: FinishContext): Partial<PendingRequest> => ({
  ...runOptions(run),
  runId: run.runId ?? newRunId(),
  ...(run.message === undefined ? {} : { message: run.message }),
});

/** Success: tasks taken away during the rollout are replaced, and a scale that came meanwhile takes effect. */
function afterRollout(view: DeploySnapshot, document: Request, entry: MakeEntry): PendingRequest[] {
  if (newActive(view).some((task) => !isStaying(task))) return [entry('DEPLOY_FINISHED')];
  const isOffTarget = view.progress !== undefined && view.progress.targetActiveInstances !== instancesOf(document);
  return isOffTarget && view.requestState !== 'PAUSED' ? [entry('UPDATED_REQUEST')] : [];
}

/** No success: old tasks that were retired step by step come back. */
function bringBackOldTasks(view: DeploySnapshot, { deployState }: DeployOutcome, entry: MakeEntry): PendingRequest[] {
  const { activeDeployId, requestState } = view;
  const serves = requestState !== 'PAUSED' && requestState !== 'DEPLOYING_TO_UNPAUSE';
  if (!activeDeployId || !serves) return [];
  return [entry(deployState === 'CANCELED' ? 'DEPLOY_CANCELLED' : 'DEPLOY_FAILED', activeDeployId)];
}

/** The run of a task that waits under an older deploy, queued again for `deployId` as it was asked for. */
export function runWith(deployId: string, { pendingTaskId, ...run }: PendingTask): PendingRequest {
  const { requestId, pendingType, createdAt } = pendingTaskId;
  return { ...run, requestId, deployId, pendingType, timestamp: createdAt, runAt: waitsUntil(pendingTaskId) };
}
