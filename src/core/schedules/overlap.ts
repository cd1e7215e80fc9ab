import type { MissedRuns, Request } from '../model/request-spec.js';
import { instancesOf } from '../model/request.js';

/** The most runs of a request that wait for others. */
export const mostBuffered = 100;
/** A time counts as missed when its run could not start within this. */
export const missedAfterMillis = 60_000;

type RunRules = Pick<Request, 'requestType' | 'overlapPolicy' | 'missedRuns' | 'instances'>;

/**
 * True for a request whose next time is planned while a run goes on, and whose times that have passed are judged one by one.
 * Others plan their next run when the one before has ended.
 */
export const plansAhead = ({ requestType, overlapPolicy = 'SKIP', missedRuns }: RunRules): boolean =>
  requestType === 'SCHEDULED' && (overlapPolicy !== 'SKIP' || missedRuns !== undefined);

/** Runs of a SCHEDULED request that go on at once. */
export const runsAtOnce = (request: RunRules): number => (request.overlapPolicy === 'ALLOW' ? instancesOf(request) : 1);

/** A planned time that has come and has not started. */
export interface DueTime {
  at: number;
  /** It waits for a run, and keeps its place. */
  buffered: boolean;
  /** It lay in an exclusion, where nothing starts. */
  excluded: boolean;
  /** It passed without a look: no leader was there, or the request was paused. */
  unseen?: boolean;
}

export type SkipReason =
  /** A run went on, or as many waited as may. */
  | 'OVERLAP'
  /** It could not start in time, and is not made up for. */
  | 'MISSED'
  /** It lay in an exclusion, and is not made up for. */
  | 'EXCLUDED';

export interface DueDecision<T extends DueTime> {
  /** The earliest first; those that are `buffered` now wait for a run. */
  kept: { time: T; buffered: boolean }[];
  skipped: { time: T; why: SkipReason }[];
  /** Runs in progress are asked to end. */
  replaces: boolean;
}

/**
 * Decides which of the times that have come and not started still get a run. `occupied`: runs that go on or are to be tried again.
 */
export function decideDue<T extends DueTime>(
  times: readonly T[],
  request: RunRules,
  occupied: number,
  now: number,
): DueDecision<T> {
  const decision: DueDecision<T> = { kept: [], skipped: [], replaces: false };
  const free = Math.max(0, runsAtOnce(request) - occupied);
  const { overlapPolicy = 'SKIP' } = request;
  // Each counts where a run may start, or may wait.
  const countsEach = free > 0 || overlapPolicy === 'BUFFER_ALL';
  const inTime = makeUp(times, request.missedRuns, countsEach, now, decision);
  const waiting = inTime.filter(({ isFirst }) => isFirst);
  const fresh = inTime.filter(({ isFirst }) => !isFirst);
  if (overlapPolicy === 'REPLACE') {
    const newest = inTime.at(-1);
    for (const { time } of inTime.slice(0, -1)) decision.skipped.push({ time, why: 'OVERLAP' });
    if (newest) decision.kept.push({ time: newest.time, buffered: newest.buffered || free === 0 });
    decision.replaces = newest !== undefined && free === 0;
    return decision;
  }
  const room = { SKIP: free, ALLOW: free, BUFFER_ONE: free + 1, BUFFER_ALL: free + mostBuffered }[overlapPolicy];
  const more = Math.min(fresh.length, Math.max(0, room - waiting.length));
  // Of several that come at once the newest run, unless each counts.
  const first = request.missedRuns?.policy === 'ALL' ? 0 : fresh.length - more;
  const accepted = [...waiting.slice(0, free + mostBuffered), ...fresh.slice(first, first + more)];
  const isAccepted = new Set(accepted);
  for (const one of inTime) if (!isAccepted.has(one)) decision.skipped.push({ time: one.time, why: 'OVERLAP' });
  const inOrder = inTime.filter((one) => isAccepted.has(one));
  for (const [index, { time, buffered }] of inOrder.entries()) {
    decision.kept.push({ time, buffered: buffered || index >= free });
  }
  return decision;
}

interface WantedTime<T extends DueTime> {
  time: T;
  buffered: boolean;
  /** It comes before times that are on time: it waits already, or each one counts. */
  isFirst: boolean;
}

/** Those that are on time, and of the missed ones those that the policy makes up for; the earliest first. */
function makeUp<T extends DueTime>(
  times: readonly T[],
  missedRuns: MissedRuns | undefined,
  countsEach: boolean,
  now: number,
  { skipped }: DueDecision<T>,
): WantedTime<T>[] {
  const { policy = 'LAST' } = missedRuns ?? {};
  const withinMillis = latestStartAfter(missedRuns);
  const missedAfter = policy === 'SKIP' ? withinMillis : Math.min(withinMillis, missedAfterMillis);
  const ordered = times.toSorted((a, b) => a.at - b.at);
  // Where each counts, those that passed a moment ago have their turn with those before them.
  const areBehind = policy === 'ALL' && countsEach && times.some(({ unseen }) => unseen);
  const isMissed = (time: T): boolean => !time.buffered && (time.excluded || now - time.at > missedAfter || areBehind);
  const made = ordered.filter((time) => isMissed(time) && isMadeUp(time, missedRuns) && now - time.at <= withinMillis);
  // One that is on time may be newer than all that were missed.
  const newest = ordered.findLast((time) => !time.buffered && (!isMissed(time) || made.includes(time)));
  // Those that wait already keep their places.
  const room = mostBuffered - times.filter(({ buffered }) => buffered).length;
  const each = room > 0 ? made.slice(-room) : [];
  const wanted = new Set({ ALL: each, LAST: newest ? [newest] : [], SKIP: [] }[policy]);
  const result: WantedTime<T>[] = [];
  for (const time of ordered) {
    const { buffered } = time;
    if (!isMissed(time)) result.push({ time, buffered, isFirst: buffered });
    // One that waits for a machine, and for no other run, is missed as soon as it is too late for it.
    else if (wanted.has(time)) result.push({ time, buffered, isFirst: policy === 'ALL' });
    else skipped.push({ time, why: time.excluded && !isMadeUp(time, missedRuns) ? 'EXCLUDED' : 'MISSED' });
  }
  return result;
}

/** Times in exclusions are left out unless the request says what becomes of missed ones. */
const isMadeUp = ({ excluded }: DueTime, missedRuns: MissedRuns | undefined): boolean =>
  missedRuns === undefined ? !excluded : missedRuns.policy !== 'SKIP';

/** The most milliseconds after its planned time that a run may start. */
export const latestStartAfter = (missedRuns: MissedRuns | undefined): number =>
  missedRuns?.withinMillis ?? (missedRuns?.policy === 'SKIP' ? missedAfterMillis : Number.POSITIVE_INFINITY);
