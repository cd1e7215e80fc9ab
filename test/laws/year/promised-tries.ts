import type { Request } from '../../../src/core/model/request.js';
import { day, type TryEnd } from './year-case.js';

/** Values that Muster chooses, and tells. */
export interface Told {
  /** What `scheduleJitterMillis` adds to each time. */
  offsetMillis: number;
  /** Time for which a try after the first was planned. */
  retryAt: (at: number, attempt: number) => number | undefined;
}

/** A run from its first start to its last end. */
export interface Run {
  at: number;
  attempt: number;
  launch: number;
  /** It is to be started again then. */
  readyAt?: number;
  end: number;
  how: TryEnd | { kind: 'KILLED' };
  isReplaced: boolean;
  /** Someone paused the request while it went on. */
  sawPause: boolean;
}

/** When a run is started again: one that was lost at once, one that failed by its policy; undefined: it is over. */
export function triedAgainAt(run: Run, request: Request, told: Told, now: number): number | undefined {
  const { how } = run;
  if (how.kind === 'FINISHED') return undefined;
  if (how.kind === 'LOST' && request.retry?.onLost !== false && !run.isReplaced) {
    run.launch += 1;
    return now;
  }
  return retriedAt(run, request, told, now);
}

function retriedAt(run: Run, { retry, numRetriesOnFailure = 0 }: Request, told: Told, now: number): number | undefined {
  const { how, end } = run;
  const {
    attempts,
    onExitCodes,
    notOnExitCodes,
    onTimeLimit = true,
    onLost = true,
  } = retry ?? { attempts: numRetriesOnFailure };
  if (run.isReplaced || run.attempt > attempts) return undefined;
  if (how.kind === 'LOST' && !onLost) return undefined;
  if (how.kind === 'TIME_LIMIT' && !onTimeLimit) return undefined;
  if (how.kind === 'FAILED' && onExitCodes && !onExitCodes.includes(how.exitCode)) return undefined;
  if (how.kind === 'FAILED' && notOnExitCodes?.includes(how.exitCode)) return undefined;
  const { delayMillis = 0, backoffFactor = 1, maxDelayMillis = 30 * day, jitter = 0 } = retry ?? {};
  const delay = Math.min(delayMillis * backoffFactor ** (run.attempt - 1), maxDelayMillis);
  run.attempt += 1;
  run.launch = 0;
  if (delay === 0) return now;
  const at = told.retryAt(run.at, run.attempt);
  // One that is told and cannot be is not followed: the years differ from there on.
  const isPossible = at !== undefined && at >= end + delay * (1 - jitter) - 1 && at <= end + delay + 1;
  return Math.max(isPossible ? at : end + delay, now);
}
