import type { TaskId } from '../model/task.js';
import {
  balancerState,
  callAgainAt,
  isOutstanding,
  mayHaveHappened,
  newBalance,
  takenOut,
  type DeployBalance,
  type DeployEnding,
  type LoadBalancerCall,
} from './balance.js';
import { type DeploySnapshot, effectiveRequest, mayDeploy, newActive, oldTasksStaying } from './view.js';
import { type DeployOutcome, without } from './outcome.js';
import { isIncremental } from './progress.js';
import { type DeployStep, finish, stepTimeLimitMillis } from './step-types.js';
import { instancesOf } from '../model/request.js';

/** Changes of the load balancer to undo before a deploy may end. */
interface BalanceUndo {
  view: DeploySnapshot;
  balance: DeployBalance;
  /** Old tasks that go on serving and may be out of the load balancer. */
  old: TaskId[];
  ending: DeployEnding;
  now: number;
}

/**
 * The deploy ends without success. What the load balancer was asked for is cancelled first, and old tasks that it may
 * have removed are put back: they go on serving, and the new ones are about to be killed.
 */
export function endDeploy(view: DeploySnapshot, outcome: DeployOutcome, now: number, closeChecks = false): DeployStep {
  const { balance } = view;
  const ending = view.ending ?? { outcome, since: now, closeChecks };
  if (!balance || !view.hasLoadBalancer) return finish(ending.outcome, ending.closeChecks);
  // A pause or a deletion takes the old tasks as well.
  const old = mayDeploy(view) ? oldTasksStaying(view, balance.isRevert ? balance.added : takenOut(balance)) : [];
  return undo({ view, balance, old, ending, now });
}

function undo(undoing: BalanceUndo): DeployStep {
  const { view, balance, old, ending } = undoing;
  const isBack = balance.isRevert && balancerState(balance) === 'SUCCESS';
  if (old.length === 0 || isBack) {
    if (mustCancel(balance)) return call('CANCEL', balance, ending);
    const untouched = mayHaveHappened(balance) || balance.isRevert ? [] : oldTasksStaying(view, balance.removed);
    return { ...finish(ending.outcome, ending.closeChecks), stillBalanced: without(untouched, old) };
  }
  if (isLate(undoing)) return finish(notPutBack(ending.outcome), ending.closeChecks);
  if (balance.isRevert) return awaitRevert(undoing);
  return isOutstanding(balance) ? withdraw(undoing) : putBack(undoing);
}

/** Nothing depends on the answer, so it is tried once. */
const mustCancel = (balance: DeployBalance): boolean =>
  !balance.isRevert && isOutstanding(balance) && balance.update.method !== 'CANCEL';

const isLate = ({ view: { deploy, settings }, ending, now }: BalanceUndo): boolean =>
  !deploy || now - ending.since > stepTimeLimitMillis(deploy, settings);

/** The swap is under way: the load balancer is told to stop, until it says what became of it. */
function withdraw(undoing: BalanceUndo): DeployStep {
  const { balance, ending, now } = undoing;
  if (balance.update.method !== 'CANCEL' && balancerState(balance) !== 'CANCELING') {
    return call('CANCEL', balance, ending);
  }
  if (now < callAgainAt(balance)) return wait(balance);
  // It does not know the request, or says nothing: what it should be is said anew.
  return balancerState(balance) === 'UNKNOWN' ? putBack(undoing) : call('STATE', balance, ending);
}

function awaitRevert(undoing: BalanceUndo): DeployStep {
  const { balance, ending, now } = undoing;
  if (now < callAgainAt(balance)) return wait(balance);
  if (balance.update.method === 'PRE_ENQUEUE') return call('ENQUEUE', balance, ending);
  const state = balancerState(balance);
  return state === 'WAITING' || state === 'CANCELING' ? call('STATE', balance, ending) : putBack(undoing);
}

function putBack({ view, balance: former, old, ending, now }: BalanceUndo): DeployStep {
  const { marker, activeDeployId } = view;
  if (!activeDeployId) {
    const message = 'There is no active deploy whose tasks the load balancer could take back';
    return finish({ ...ending.outcome, deployState: 'FAILED_INTERNAL_STATE', message }, ending.closeChecks);
  }
  // In more than one step new tasks have taken the place of old ones for good: these leave when others are back.
  const staysForNow = isIncremental(view.progress, instancesOf(effectiveRequest(view)));
  const wish = {
    id: `${marker.requestId}-${activeDeployId}-ADD-FOR-REVERT-${now}`,
    added: old,
    removed: staysForNow ? [] : newActive(view).map((task) => task.taskId),
    targetActiveInstances: former.targetActiveInstances,
    isRevert: true,
  };
  return call('ENQUEUE', newBalance(wish, former, now), ending, old);
}

const call = (
  kind: LoadBalancerCall['call'],
  balance: DeployBalance,
  ending: DeployEnding,
  old: TaskId[] = [],
): DeployStep => ({ kind: 'balance', call: kind, balance, putBack: old, state: 'CANCELING', ending });

const wait = (balance: DeployBalance): DeployStep => ({
  kind: 'wait',
  checkAgainAt: callAgainAt(balance),
  scheduleMissing: false,
  state: 'CANCELING',
});

/** The state of the load balancer is unknown. The old tasks are added one by one when it answers again. */
function notPutBack({ deployState, message, deployFailures }: DeployOutcome): DeployOutcome {
  const because = message ?? `Deploy is ${deployState}`;
  return {
    deployState: deployState === 'FAILED' ? 'FAILED_INTERNAL_STATE' : deployState,
    message: `${because}; the load balancer did not take the old tasks back in time`,
    deployFailures,
  };
}
