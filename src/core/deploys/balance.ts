import { preEnqueued, requestIdText } from '../load-balancer/index.js';
import type { DeployProgress } from '../model/deploy.js';
import type { DeployState, LoadBalancerState } from '../model/enums.js';
import type { LoadBalancerUpdate } from '../model/load-balancer.js';
import type { TaskId } from '../model/task.js';
import { type DeployOutcome, without } from './outcome.js';
import { isCanaryEngine } from './progress.js';

/** One change that the load balancer was asked for, and its last answer. */
export interface DeployBalance {
  update: LoadBalancerUpdate;
  added: TaskId[];
  removed: TaskId[];
  /** Taken out by earlier changes of this deploy, and not put back by them. */
  removedBefore: TaskId[];
  /** Number of instances at which its step aims. */
  targetActiveInstances: number;
  /** Puts the old tasks back and takes the new ones out: the deploy ends without success. */
  isRevert: boolean;
  /** Texts of the ids that this deploy used before: a change of other tasks needs another one. */
  usedIds: string[];
}

/** A deploy that ends as `outcome` as soon as the load balancer has taken the old tasks back. */
export interface DeployEnding {
  outcome: DeployOutcome;
  /** Epoch milliseconds; it is waited for no longer than a step may take. */
  since: number;
  closeChecks: boolean;
}

/** A call of the load balancer. What it is about is stored before it is made, so that it can be repeated after a crash. */
export interface LoadBalancerCall {
  call: 'ENQUEUE' | 'STATE' | 'CANCEL';
  balance: DeployBalance;
  /** Old tasks added again: what is stored about their way in and out is forgotten first. */
  putBack: TaskId[];
  /** From now on; the same objects as before when nothing changes. */
  state: DeployState;
  progress?: DeployProgress;
  ending?: DeployEnding;
}

/** Shortest time between two calls about the same change. */
const millisBetweenCalls = 1_000;

export const balancerState = ({ update }: DeployBalance): LoadBalancerState => update.loadBalancerState;

/** The load balancer may still do it. */
export const isOutstanding = (balance: DeployBalance): boolean => outstanding.has(balancerState(balance));
const outstanding: ReadonlySet<LoadBalancerState> = new Set<LoadBalancerState>(['UNKNOWN', 'WAITING', 'CANCELING']);

/** It may have been done, or be done yet: the tasks in `removed` may be out of the load balancer. */
export const mayHaveHappened = (balance: DeployBalance): boolean =>
  isOutstanding(balance) || balancerState(balance) === 'SUCCESS';

/** Old tasks that may be out of the load balancer because of this change and those before it. */
export const takenOut = (balance: DeployBalance): TaskId[] =>
  mayHaveHappened(balance) ? [...balance.removedBefore, ...balance.removed] : balance.removedBefore;

/** Time of the next call about it; a change that was stored and never sent, because of a crash, is due immediately. */
export const callAgainAt = ({ update }: DeployBalance): number =>
  update.method === 'PRE_ENQUEUE' ? 0 : update.timestamp + millisBetweenCalls;

/** Text of the id of a load balancer request, as the load balancer knows it. */
export const balanceIdText = ({ update }: DeployBalance): string => requestIdText(update.loadBalancerRequestId);

interface BalanceRequest {
  id: string;
  added: TaskId[];
  removed: TaskId[];
  targetActiveInstances: number;
  isRevert: boolean;
}

/** A change not asked for yet, under an id that this deploy has not used. */
export function newBalance(request: BalanceRequest, former: DeployBalance | undefined, now: number): DeployBalance {
  const { id, ...rest } = request;
  const usedIds = former ? [...former.usedIds, balanceIdText(former)] : [];
  const attempt = (attemptNumber: number) => ({ id, requestType: 'DEPLOY' as const, attemptNumber });
  let attemptNumber = 1;
  while (usedIds.includes(requestIdText(attempt(attemptNumber)))) attemptNumber += 1;
  const update = preEnqueued(attempt(attemptNumber), now);
  const removedBefore = former && !former.isRevert ? without(takenOut(former), rest.added) : [];
  return { ...rest, update, usedIds, removedBefore };
}

/** The progress of a canary deploy shows what the load balancer was asked for and said. */
export function withBalance(progress: DeployProgress | undefined, balance: DeployBalance): DeployProgress | undefined {
  if (!progress || !isCanaryEngine(progress)) return progress;
  const { update: loadBalancerUpdate, added, removed } = balance;
  const { pendingLbUpdate: _former, ...rest } = progress;
  const idText = balanceIdText(balance);
  const lbUpdates = { ...progress.lbUpdates, [idText]: { loadBalancerUpdate, added, removed } };
  const settled = balancerState(balance) === 'SUCCESS';
  return { ...rest, lbUpdates, ...(settled ? {} : { pendingLbUpdate: loadBalancerUpdate }) };
}
