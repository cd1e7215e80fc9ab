import { backOffMillis } from '../back-off.js';
import { hasPassed } from '../elapsed.js';
import type { SickTaskWait } from '../model/enums.js';
import type { NextStart } from '../restarts/index.js';

/** A task that has failed its liveness checks as often as it may. */
export interface SickTask {
  id: string;
  sickSince: number;
  /** Beginning of its newest check, which it failed. */
  lastFailedAt: number;
  /** Time within which it is asked at least once, in milliseconds: the interval of its checks, and two of their time limits. */
  askedWithinMillis: number;
  restarts: boolean;
  /** See Reach. */
  isJudged: boolean;
  /** Next start of its instance by the policy of its request. Absent: it may start now. */
  nextStart?: NextStart;
  /** It belongs to the deploy that is being rolled out, which judges its tasks itself. */
  isOfPendingDeploy: boolean;
}

/** Waves of replacements of a request that came one after the other. */
export interface ReplacementWaves {
  count: number;
  /** Time at which the last one began, in epoch milliseconds. */
  lastAt: number;
}

export interface SickRequest {
  instances: number;
  /** Absent: a tenth of the instances, at least one. */
  maxReplacements?: number;
  /** Tasks whose replacement is under way: ordered to go for their health, or started and not healthy yet. */
  underWay: number;
  waves?: ReplacementWaves;
  /** That of the decision before; absent: there was none. */
  roomSince?: number;
  /** It cools down: nothing of it starts now. */
  isCoolingDown: boolean;
  sick: readonly SickTask[];
}

export interface WaitingSickTask {
  id: string;
  because: SickTaskWait;
  /** Time of the next look at the latest; absent: one follows when something else has changed. */
  until?: number;
}

export interface ReplacementDecision {
  replace: string[];
  waits: WaitingSickTask[];
  /** Time since which fewer are being replaced than may be; Infinity: as many are. Absent: as long as is known. */
  roomSince?: number;
  /** Set when something is replaced now. */
  waves?: ReplacementWaves;
}

const firstPauseMillis = 10_000;
const longestPauseMillis = 300_000;
/** A request whose tasks stayed well for so long, after its pause, begins anew. */
const forgottenAfterMillis = 600_000;

/** Pause after so many waves: it doubles with each. */
export const pauseAfterWaves = (count: number): number =>
  count < 1 ? 0 : backOffMillis(count, firstPauseMillis, longestPauseMillis);

export const replacementLimit = ({ instances, maxReplacements }: Pick<SickRequest, 'instances' | 'maxReplacements'>) =>
  maxReplacements ?? Math.max(1, Math.floor(instances / 10));

/**
 * Decides which sick tasks of one request are replaced now. The one that is sick for longest goes first; the order of rows says nothing.
 * When there is room again, or a pause is over, they are asked once more before: a dependency that is back lets replacements become
 * healthy, and so makes room, before all others have been asked. A wave is as large as it may be, and so waits for its last one.
 */
export function decideReplacements(request: SickRequest, now: number): ReplacementDecision {
  const free = replacementLimit(request) - request.underWay;
  const roomSince = roomSinceOf(request, free, now);
  const pauseEnd = pauseEndOf(request, now);
  const opensAt = Math.max(roomSince ?? 0, pauseEnd);
  const decision: ReplacementDecision = { replace: [], waits: [], roomSince };

  const bySickness = request.sick.toSorted((a, b) => a.sickSince - b.sickSince || (a.id < b.id ? -1 : 1));
  const others = bySickness.filter((task) => {
    const wait = waitOf(task, request);
    if (wait) decision.waits.push({ id: task.id, ...wait });
    return !wait;
  });
  const askedBy = ({ lastFailedAt, askedWithinMillis }: SickTask) =>
    lastFailedAt < opensAt ? opensAt + askedWithinMillis : 0;
  const ready = others.filter((task) => askedBy(task) <= now);
  const begins = opensAt <= now && (ready.length >= free || ready.length === others.length);
  const replaced = begins ? ready.slice(0, free) : [];
  decision.replace = replaced.map(({ id }) => id);
  const wait: Wait =
    replaced.length >= free
      ? { because: 'LIMIT' }
      : {
          because: pauseEnd === opensAt ? 'BACK_OFF' : 'LIMIT',
          until: now < opensAt ? opensAt : Math.min(...others.map(askedBy).filter((at) => at > now)),
        };
  for (const task of others) if (!replaced.includes(task)) decision.waits.push({ id: task.id, ...wait });
  if (replaced.length > 0) decision.waves = { count: countOf(request, now) + 1, lastAt: now };
  return decision;
}

function roomSinceOf({ roomSince }: SickRequest, free: number, now: number): number | undefined {
  if (free < 1) return Infinity;
  return roomSince === undefined ? undefined : Math.min(roomSince, now);
}

/** End of the pause after the last wave, which may be over; 0: there was none, or its time is that of a clock that has been set back since. */
function pauseEndOf({ waves }: SickRequest, now: number): number {
  if (!waves) return 0;
  const pause = pauseAfterWaves(waves.count);
  const end = waves.lastAt + pause;
  return hasPassed(waves.lastAt, pause, now) && end > now ? 0 : end;
}

function countOf({ waves }: SickRequest, now: number): number {
  if (!waves || hasPassed(waves.lastAt, pauseAfterWaves(waves.count) + forgottenAfterMillis, now)) return 0;
  return waves.count;
}

type Wait = Omit<WaitingSickTask, 'id'>;

/** The first reason that holds against replacing this one, whatever becomes of the others. */
function waitOf(
  { restarts, isJudged, isOfPendingDeploy, nextStart }: SickTask,
  { isCoolingDown }: SickRequest,
): Wait | undefined {
  if (!restarts) return { because: 'ACTION_NONE' };
  if (!isJudged) return { because: 'CANNOT_JUDGE' };
  if (isOfPendingDeploy) return { because: 'DEPLOY_IN_PROGRESS' };
  if (isCoolingDown) return { because: 'COOLDOWN' };
  if (!nextStart || nextStart.kind === 'now') return undefined;
  return { because: 'RESTART_DELAY', ...(nextStart.kind === 'at' && { until: nextStart.at }) };
}

/** The reason why a sick task is not replaced, for people. */
export const sickTaskText: Record<SickTaskWait, string> = {
  ACTION_NONE: 'its liveness asks for no action',
  CANNOT_JUDGE:
    'the scheduler has reached none of the tasks that it checks since then, so it cannot tell if the task or its own network is at fault',
  COOLDOWN: 'the request is cooling down, so a replacement would not start now',
  DEPLOY_IN_PROGRESS: 'its deploy is in progress, and decides about its tasks itself',
  LIMIT: 'as many tasks as maxUnhealthyReplacements allows are being replaced, or were at its last check',
  RESTART_DELAY: 'its instance failed before, and may not start again yet by the restart policy of its request',
  BACK_OFF:
    'tasks of the request were replaced shortly before, and the pause after that was not over at its last check',
};
