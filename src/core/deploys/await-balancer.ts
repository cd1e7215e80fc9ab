import type { DeployState } from '../model/enums.js';
import { balancerState, callAgainAt, type DeployBalance } from './balance.js';
import { endDeploy } from './ending.js';
import { unsuccessful } from './outcomes.js';
import type { DeployStep, Rollout } from './step.js';
import { stepTimeLimitMillis } from './time-limit.js';
import type { DeployOutcome } from './view.js';

/** The load balancer has not done what the step needs, not yet or not at all. */
export function awaitLoadBalancer({ view, progress, context, now }: Rollout, balance: DeployBalance): DeployStep {
  const state = balancerState(balance);
  const limit = stepTimeLimitMillis(context.deploy, view.settings);
  const late = now - progress.timestamp;
  if (state === 'FAILED' || state === 'INVALID_REQUEST_NOOP')
    return endDeploy(view, refused('FAILED', balance), now, true);
  if (state === 'CANCELED') return endDeploy(view, refused('CANCELED', balance), now, true);
  // It had its time, and the same time again to let go of the change.
  if (late > 2 * limit) return endDeploy(view, refused('OVERDUE', balance), now, true);
  const again = callAgainAt(balance);
  const deployState: DeployState = state === 'CANCELING' ? 'CANCELING' : view.state;
  if (now < again) {
    return { kind: 'wait', lookAgainAt: again, scheduleMissing: false, state: deployState, keepsUpdate: true };
  }
  const about = { kind: 'balance' as const, balance, putBack: [] };
  if (late > limit && state !== 'CANCELING') return { ...about, call: 'CANCEL', state: 'CANCELING' };
  // What it may not have heard is said again; the id makes that safe.
  return { ...about, call: state === 'UNKNOWN' ? 'ENQUEUE' : 'STATE', state: deployState };
}

function refused(deployState: 'FAILED' | 'CANCELED' | 'OVERDUE', balance: DeployBalance): DeployOutcome {
  const said = balance.update.message ? `: ${balance.update.message}` : '';
  const message = `Load balancer update is ${balancerState(balance)}${said}`;
  return unsuccessful(deployState, message, [{ reason: 'LOAD_BALANCER_UPDATE_FAILED', message }]);
}
