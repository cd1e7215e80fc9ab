import { isTerminal, isLongRunning, type PendingType } from '../model/enums.js';
import type { Request, RunNowRequest } from '../model/request.js';
import type { PendingRequest } from '../model/task.js';
import { runWishes } from '../requests/run-wishes.js';
import type { FinishSurroundings } from './finish.js';
import { instancesOf, isStaying, newActive, type DeployOutcome, type DeployView } from './view.js';

/** What the scheduler is asked to do when a deploy has ended. `document`: the request as it stands from now on. */
export function pendingRequestsAtEnd(
  view: DeployView,
  outcome: DeployOutcome,
  document: Request,
  around: FinishSurroundings,
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
    return firstRun(view, outcome, document, around, entry);
  }
  return isSuccess(outcome) ? afterRollout(view, document, entry) : bringBackOldTasks(view, outcome, entry);
}

type MakeEntry = (pendingType: PendingType, deployId?: string) => PendingRequest;

const isSuccess = ({ deployState }: DeployOutcome): boolean => deployState === 'SUCCEEDED';

/** A job is put into the queue when its deploy ends; an on-demand one only if the deploy says so. */
function firstRun(
  view: DeployView,
  { deployState }: DeployOutcome,
  { requestType, instances }: Request,
  around: FinishSurroundings,
  entry: MakeEntry,
): PendingRequest[] {
  const run = view.deploy?.runImmediately;
  if (!run)
    return requestType === 'ON_DEMAND' ? [] : [entry(deployState === 'CANCELED' ? 'DEPLOY_CANCELLED' : 'NEW_DEPLOY')];
  const activeTasks = view.tasks.filter((task) => !isTerminal(task.state)).length;
  const mayRunNow =
    requestType === 'SCHEDULED'
      ? activeTasks === 0
      : instances === undefined || activeTasks + around.pendingTaskCount < instances;
  const immediately: PendingType = requestType === 'SCHEDULED' ? 'IMMEDIATE' : 'ONEOFF';
  const pendingType = mayRunNow ? immediately : 'NEW_DEPLOY';
  return [{ ...entry(deployState === 'CANCELED' ? 'DEPLOY_CANCELLED' : pendingType), ...ofRun(run, around) }];
}

const ofRun = (run: RunNowRequest, { newRunId }: FinishSurroundings): Partial<PendingRequest> => ({
  ...runWishes(run),
  runId: run.runId ?? newRunId(),
  ...(run.message === undefined ? {} : { message: run.message }),
});

/** Success: tasks taken away during the rollout are replaced, and a scale that came meanwhile takes effect. */
function afterRollout(view: DeployView, document: Request, entry: MakeEntry): PendingRequest[] {
  if (newActive(view).some((task) => !isStaying(task))) return [entry('DEPLOY_FINISHED')];
  const isOffTarget = view.progress !== undefined && view.progress.targetActiveInstances !== instancesOf(document);
  return isOffTarget && view.requestState !== 'PAUSED' ? [entry('UPDATED_REQUEST')] : [];
}

/** No success: old tasks that were retired step by step come back. */
function bringBackOldTasks(view: DeployView, { deployState }: DeployOutcome, entry: MakeEntry): PendingRequest[] {
  const { activeDeployId, requestState } = view;
  const serves = requestState !== 'PAUSED' && requestState !== 'DEPLOYING_TO_UNPAUSE';
  if (!activeDeployId || !serves) return [];
  return [entry(deployState === 'CANCELED' ? 'DEPLOY_CANCELLED' : 'DEPLOY_FAILED', activeDeployId)];
}
