import { backOffMillis } from '../back-off.js';
import { hasPassed } from '../elapsed.js';
import type { RestartPolicy } from '../model/request.js';

/** Failures of one instance of a deploy in a row. */
export interface InstanceFailures {
  count: number;
  /** Time of the last one, in epoch milliseconds. */
  lastAt: number;
}

/** Next start of an instance that failed. */
export type NextStart =
  | { kind: 'now' }
  | { kind: 'at'; at: number }
  /** It failed more often in a row than it may be restarted: only a user starts it again. */
  | { kind: 'givenUp' };

const usual = { initialDelayMillis: 1_000, backoffFactor: 2, maxDelayMillis: 300_000, resetAfterMillis: 600_000 };

/** Gaps filled; a longest delay that is given bounds the first one that is not. */
function complete(policy: RestartPolicy): Required<Omit<RestartPolicy, 'maxRestarts'>> {
  const { backoffFactor = usual.backoffFactor, resetAfterMillis = usual.resetAfterMillis } = policy;
  const initialDelayMillis =
    policy.initialDelayMillis ?? Math.min(usual.initialDelayMillis, policy.maxDelayMillis ?? Infinity);
  const maxDelayMillis = policy.maxDelayMillis ?? Math.max(usual.maxDelayMillis, initialDelayMillis);
  return { initialDelayMillis, backoffFactor, maxDelayMillis, resetAfterMillis };
}

/** Delay after so many failures in a row. */
export function restartDelay(policy: RestartPolicy, failures: number): number {
  if (failures < 1) return 0;
  const { initialDelayMillis, backoffFactor, maxDelayMillis } = complete(policy);
  return Math.round(backOffMillis(failures, initialDelayMillis, maxDelayMillis, backoffFactor));
}

/** One that was up for long enough after its last start begins a new row. */
export function afterFailure(
  policy: RestartPolicy,
  former: InstanceFailures | undefined,
  at: number,
): InstanceFailures {
  const { resetAfterMillis } = complete(policy);
  const isInRow =
    former !== undefined && !hasPassed(former.lastAt, restartDelay(policy, former.count) + resetAfterMillis, at);
  return { count: isInRow ? former.count + 1 : 1, lastAt: at };
}

export function nextStart(policy: RestartPolicy, failures: InstanceFailures | undefined, now: number): NextStart {
  if (!failures) return { kind: 'now' };
  if (policy.maxRestarts !== undefined && failures.count > policy.maxRestarts) return { kind: 'givenUp' };
  const delay = restartDelay(policy, failures.count);
  return hasPassed(failures.lastAt, delay, now) ? { kind: 'now' } : { kind: 'at', at: failures.lastAt + delay };
}
