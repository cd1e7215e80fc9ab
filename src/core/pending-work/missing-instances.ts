import type { DeployProgress } from '../model/deploy.js';
import type { PendingRequest } from '../model/task.js';
import type { WaitingRequest } from './pending-work.js';

/** How many tasks `entry` still asks for beside the matching ones; negative when there are too many. */
export function missingInstances(waiting: WaitingRequest, entry: PendingRequest, matching: number): number {
  const { requestType } = waiting.request;
  if (requestType === 'ON_DEMAND') return entry.pendingType === 'ONEOFF' || entry.pendingType === 'RETRY' ? 1 : 0;
  // Two deploys in a row mean two runs side by side.
  if (requestType === 'RUN_ONCE' && entry.pendingType === 'NEW_DEPLOY') return 1;
  if (isGivenUp(waiting, entry.deployId)) return 0;
  return expectedInstances(waiting, entry.deployId) - matching;
}

/** How many tasks of one of its deploys a request should have now. */
export function expectedInstances({ request, pendingDeploy }: WaitingRequest, deployId: string): number {
  const instances = request.instances ?? 1;
  const progress = pendingDeploy?.progress;
  if (!pendingDeploy || !progress) return instances;
  if (pendingDeploy.deployId === deployId) return progress.targetActiveInstances;
  const taken = takenOver(progress);
  if (taken === 0) return instances;
  // The deploy may carry another number of instances: the old tasks make up what it has not taken over of that.
  return Math.max(0, Math.min(instances, ((pendingDeploy.updatedRequest ?? request).instances ?? 1) - taken));
}

/** How many of the instances the deploy in progress runs in the place of the old one. */
function takenOver(progress: DeployProgress): number {
  // All at once, and then the old ones go together.
  if (progress.canary === false) return 0;
  // Until a step is complete the old deploy keeps what that step will take over, and gets back what it gives back.
  const { stepComplete, targetActiveInstances: target, currentActiveInstances: current } = progress;
  return stepComplete ? target : Math.min(current, target);
}

/** The deploy is about to end: its tasks may still be the only ones with traffic, so none begins and none is ended. */
const isGivenUp = ({ pendingDeploy }: WaitingRequest, deployId: string): boolean =>
  pendingDeploy?.deployId === deployId && (pendingDeploy.state === 'CANCELED' || pendingDeploy.state === 'CANCELING');
