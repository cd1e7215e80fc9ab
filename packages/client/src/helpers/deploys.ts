import type { Muster } from '../generated/operations.js';
import type { DeployProgress, DeployResult, DeployState, PendingTaskId, TaskId } from '../generated/records.js';
import { Waiting, type WaitOptions } from './waiting.js';

/** Progress of a deploy. */
export interface DeployView {
  /** WAITING or CANCELING while it goes on. */
  readonly state: DeployState;
  /** Progress of a deploy in steps. */
  readonly progress?: DeployProgress | undefined;
  /** Its tasks that run and are healthy. */
  readonly healthy: readonly TaskId[];
  /** Its tasks that were launched and are not known to be healthy yet. */
  readonly notYetHealthy: readonly TaskId[];
  /** Its tasks that wait for a machine. */
  readonly pending: readonly PendingTaskId[];
  /** Once it has ended: how, and why it failed. */
  readonly result?: DeployResult | undefined;
}

/** A deploy that has ended. */
export interface EndedDeploy extends DeployView {
  readonly result: DeployResult;
  readonly succeeded: boolean;
}

export interface WhichDeploy {
  readonly requestId: string;
  readonly deployId: string;
}

/** Tells how far a deploy has come, now and each time that changes; last of all, how it ended. */
export async function* watchDeploy(
  muster: Muster,
  { requestId, deployId }: WhichDeploy,
  options: WaitOptions = {},
): AsyncGenerator<DeployView, void, undefined> {
  const waiting = new Waiting(`Deploy ${deployId} of ${requestId}`, options, 200, 1_000);
  let last = '';
  for (;;) {
    const view = await waiting.ask((call) => viewOf(muster, requestId, deployId, call));
    const text = JSON.stringify(view);
    if (view && text !== last) {
      last = text;
      waiting.quicken();
      yield view;
    }
    if (view?.result) return;
    await waiting.pause();
  }
}

type Call = Waiting['call'];

async function viewOf(muster: Muster, requestId: string, deployId: string, call: Call): Promise<DeployView> {
  // The end first: a deploy that ends in between is then shown once more as it was, and not as one without a trace.
  const { deployResult: result } = await muster.history.deploy({ requestId, deployId }, call);
  const request = await muster.requests.get({ requestId }, call);
  const pending =
    request.pendingDeployState?.deployMarker.deployId === deployId ? request.pendingDeployState : undefined;
  const ofDeploy = <T extends { deployId: string }>(tasks: readonly T[] = []) =>
    tasks.filter((task) => task.deployId === deployId);
  return {
    state: result?.deployState ?? pending?.currentDeployState ?? 'WAITING',
    progress: pending?.deployProgress,
    healthy: ofDeploy(request.taskIds?.healthy),
    notYetHealthy: ofDeploy(request.taskIds?.notYetHealthy),
    pending: ofDeploy(request.taskIds?.pending),
    result,
  };
}

export interface WaitForDeployOptions extends WaitOptions {
  /** Called with the progress of the deploy, each time that changes. */
  readonly onProgress?: ((view: DeployView) => void) | undefined;
}

/** Waits until a deploy has ended, well or not: `succeeded` tells. */
export async function waitForDeploy(
  muster: Muster,
  which: WhichDeploy,
  { onProgress, ...options }: WaitForDeployOptions = {},
): Promise<EndedDeploy> {
  let last: DeployView | undefined;
  for await (last of watchDeploy(muster, which, options)) onProgress?.(last);
  const { result, ...view } = last as EndedDeploy;
  return { ...view, result, succeeded: result.deployState === 'SUCCEEDED' };
}
