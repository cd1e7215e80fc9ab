import type { PendingRequest } from '../model/task.js';
import type { WaitingRequest } from './pending-work.js';

/** How many tasks `entry` still asks for beside the matching ones; negative when there are too many. */
export function missingInstances(waiting: WaitingRequest, entry: PendingRequest, matching: number): number {
  const { requestType } = waiting.request;
  if (requestType === 'ON_DEMAND') return entry.pendingType === 'ONEOFF' || entry.pendingType === 'RETRY' ? 1 : 0;
  // Two deploys in a row mean two runs side by side.
  if (requestType === 'RUN_ONCE' && entry.pendingType === 'NEW_DEPLOY') return 1;
  return expectedInstances(waiting, entry.deployId) - matching;
}

/** How many tasks of one of its deploys a request should have now. */
export function expectedInstances({ request, pendingDeploy }: WaitingRequest, deployId: string): number {
  const instances = request.instances ?? 1;
  const progress = pendingDeploy?.progress;
  if (!pendingDeploy || !progress) return instances;
  if (pendingDeploy.deployId === deployId) {
    const givenUp = pendingDeploy.state === 'CANCELED' || pendingDeploy.state === 'CANCELING';
    return givenUp ? 0 : progress.targetActiveInstances;
  }
  if (progress.deployInstanceCountPerStep === instances) return instances;
  // Until a step is complete the old deploy keeps what that step will take over.
  const takenOver = progress.stepComplete
    ? progress.targetActiveInstances
    : Math.max(progress.targetActiveInstances - progress.deployInstanceCountPerStep, 0);
  return instances - takenOver;
}
