import type { CrashLoopInfo } from '../model/crash-loop.js';
import { isRunnable, type RequestState } from '../model/enums.js';
import type { FoundCrashLoop } from './find-crash-loops.js';

/** Ended loops that are remembered of a deploy. */
const endedLoopsKept = 10;

export interface CrashLoopReview {
  /** New, or over since now: to be written and told of. */
  changed: CrashLoopInfo[];
  /** To be forgotten. Some of these may have changed a moment before. */
  forgotten: CrashLoopInfo[];
}

/** Whether a request is looked at for loops. While it cools down its starts are delayed, which proves nothing either way. */
export const isObserved = (state: RequestState): boolean => isRunnable(state) && state !== 'SYSTEM_COOLDOWN';

/** The bookkeeping of loops: what begins, what is over, what is forgotten. */
export function reviewCrashLoops(
  /** All that are stored of the request. */
  stored: readonly CrashLoopInfo[],
  request: { id: string; activeDeployId?: string },
  /** undefined: nobody looked, and open loops stay open. */
  found: readonly FoundCrashLoop[] | undefined,
  now: number,
): CrashLoopReview {
  const { id: requestId, activeDeployId: deployId } = request;
  const ofOtherDeploys = stored.filter((loop) => loop.deployId !== deployId);
  if (deployId === undefined) return { changed: [], forgotten: ofOtherDeploys };
  const own = stored.filter((loop) => loop.deployId === deployId);
  const open = own.filter(({ end }) => end === undefined);
  const begun = (found ?? [])
    .filter(({ type }) => !open.some((loop) => loop.type === type))
    .map(({ type, start }): CrashLoopInfo => ({ requestId, deployId, type, start }));
  const over = open
    .filter(({ type }) => found !== undefined && !found.some((loop) => loop.type === type))
    .map((loop): CrashLoopInfo => ({ ...loop, end: now }));
  const ended = [...own.filter(({ end }) => end !== undefined), ...over]
    // The same failures may be found again after a while: then the old loop goes on.
    .filter((loop) => !begun.some(({ type, start }) => type === loop.type && start === loop.start))
    .toSorted((a, b) => b.start - a.start || (a.type < b.type ? -1 : 1));
  return { changed: [...begun, ...over], forgotten: [...ofOtherDeploys, ...ended.slice(endedLoopsKept)] };
}
