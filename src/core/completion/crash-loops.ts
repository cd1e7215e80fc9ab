import { hasPassed } from '../elapsed.js';
import { type CooldownRules, isFailingFast } from './cooldown.js';
import { groupBy } from '../group-by.js';
import type { CrashLoopInfo } from '../model/crash-loop.js';
import type { TaskFailureEvent } from '../model/deploy.js';
import { type CrashLoopType, isLongRunning, isRunnable, type RequestState, type RequestType } from '../model/enums.js';

interface FailureLimit {
  failureThreshold: number;
  windowMillis: number;
}

/** Settings for crash loops. */
export interface CrashLoopRules {
  cooldown: CooldownRules;
  /** More than this many. */
  startup: FailureLimit;
  /** At least this many; below 1 there is no such loop. */
  oom: FailureLimit;
  singleInstance: BucketRules;
  multiInstance: BucketRules;
  slow: BucketRules;
}

/** The active deploy of a request, as its failures tell of it. The order of the lists has no meaning. */
export interface ObservedDeploy {
  requestType: RequestType;
  failures: readonly TaskFailureEvent[];
  /** Tasks of the request that have to go. */
  cleanups: readonly InstanceCleanup[];
}

export interface FoundCrashLoop {
  type: CrashLoopType;
  /** Epoch milliseconds. */
  start: number;
}

/** Start time of the loop; undefined: there is none. */
type Detector = (deploy: ObservedDeploy, rules: CrashLoopRules, now: number) => number | undefined;

const detectors: readonly (readonly [CrashLoopType, Detector])[] = [
  ['FAST_FAILURE_LOOP', fastFailures],
  ['STARTUP_FAILURE_LOOP', startupFailures],
  ['OOM', outOfMemory],
  ['SINGLE_INSTANCE_FAILURE_LOOP', oneInstance],
  ['MULTI_INSTANCE_FAILURE', severalInstances],
  ['SLOW_FAILURES', slowFailures],
  ['UNEXPECTED_EXITS', unexpectedExits],
];

/** All loops that the deploy is in right now, at most one of each type. */
export function findCrashLoops(deploy: ObservedDeploy, rules: CrashLoopRules, now: number): FoundCrashLoop[] {
  return detectors.flatMap(([type, detect]) => {
    const start = detect(deploy, rules, now);
    return start === undefined ? [] : { type, start };
  });
}

/** Its start is that of the latest failure: the loop is about what happens this minute. */
function fastFailures({ failures }: ObservedDeploy, { cooldown }: CrashLoopRules, now: number): number | undefined {
  const times = failures.map(({ timestamp }) => timestamp);
  return isFailingFast(times, cooldown, now) ? Math.max(...times) : undefined;
}

function startupFailures(deploy: ObservedDeploy, { startup }: CrashLoopRules, now: number): number | undefined {
  return earliest(startupFailureLoop(deploy.failures, deploy.cleanups, startup, now));
}

function outOfMemory({ failures }: ObservedDeploy, { oom }: CrashLoopRules, now: number): number | undefined {
  if (oom.failureThreshold < 1) return undefined;
  const recent = failures.filter(
    ({ type, timestamp }) => type === 'OOM' && !hasPassed(timestamp, oom.windowMillis, now),
  );
  return recent.length >= oom.failureThreshold ? earliest(recent) : undefined;
}

/** The loop of the instance with the lowest number, which represents all others. */
function oneInstance({ failures }: ObservedDeploy, rules: CrashLoopRules, now: number): number | undefined {
  const byInstance = groupBy(failures.filter(isCrash), ({ instance }) => instance);
  const inOrder = [...byInstance].toSorted(([a], [b]) => a - b);
  const loops = inOrder.map(([, crashes]) => spreadOverBuckets(crashes, rules.singleInstance, now));
  return earliest(loops.find((crashes) => crashes.length > 0) ?? []);
}

function severalInstances({ failures }: ObservedDeploy, rules: CrashLoopRules, now: number): number | undefined {
  const crashes = spreadOverBuckets(failures.filter(isCrash), rules.multiInstance, now);
  return new Set(crashes.map(({ instance }) => instance)).size > 1 ? earliest(crashes) : undefined;
}

function slowFailures(
  { requestType, failures }: ObservedDeploy,
  rules: CrashLoopRules,
  now: number,
): number | undefined {
  if (!isLongRunning(requestType)) return undefined;
  return earliest(spreadOverBuckets(failures.filter(isCrash), rules.slow, now));
}

const unexpectedExitsAllowed = 4;
const unexpectedExitsMillis = 30 * 60_000;

function unexpectedExits(
  { requestType, failures }: ObservedDeploy,
  _: CrashLoopRules,
  now: number,
): number | undefined {
  if (!isLongRunning(requestType)) return undefined;
  const recent = failures.filter(
    ({ type, timestamp }) => type === 'UNEXPECTED_EXIT' && !hasPassed(timestamp, unexpectedExitsMillis, now),
  );
  return recent.length > unexpectedExitsAllowed ? earliest(recent) : undefined;
}

/** An end that the task brought about by itself. */
const isCrash = ({ type }: TaskFailureEvent): boolean =>
  type === 'OOM' || type === 'BAD_EXIT_CODE' || type === 'OUT_OF_DISK_SPACE';

const earliest = (failures: readonly TaskFailureEvent[]): number | undefined =>
  failures.length === 0 ? undefined : Math.min(...failures.map(({ timestamp }) => timestamp));

/** A task that has to go, by its instance number. */
export interface InstanceCleanup {
  instanceNo: number;
  /** Epoch milliseconds. */
  createdAt: number;
}

/** Failed starts of one instance since its task was told to go, beyond which its replacement is in a loop. */
const failedReplacements = 2;

/**
 * The failed starts that keep a task from being replaced. Once an instance is stuck like that, and failed starts of such
 * instances are many lately, those from before the cleanup belong to the loop as well: it began with them.
 */
function startupFailureLoop(
  failures: readonly TaskFailureEvent[],
  cleanups: readonly InstanceCleanup[],
  limit: FailureLimit,
  now: number,
): TaskFailureEvent[] {
  const cleanedAt = newestByInstance(cleanups);
  const starts = failures.filter(({ type, instance }) => type === 'STARTUP_FAILURE' && cleanedAt.has(instance));
  const stuck = [...cleanedAt].flatMap(([instanceNo, at]) => {
    const since = starts.filter(({ instance, timestamp }) => instance === instanceNo && timestamp > at);
    return since.length > failedReplacements ? since : [];
  });
  if (stuck.length === 0) return [];
  const recent = starts.filter(({ timestamp }) => !hasPassed(timestamp, limit.windowMillis, now));
  const many = recent.length > limit.failureThreshold ? recent : [];
  return [...stuck, ...many];
}

function newestByInstance(cleanups: readonly InstanceCleanup[]): Map<number, number> {
  const newest = new Map<number, number>();
  for (const { instanceNo, createdAt } of cleanups) {
    newest.set(instanceNo, Math.max(createdAt, newest.get(instanceNo) ?? createdAt));
  }
  return newest;
}

/** Failures are sorted into stretches of time; a loop fails in many of them, and still does in a late one. */
interface BucketRules {
  sizeMillis: number;
  /** The span looked at is this number of sizes; the newest two form one bucket, so that there is one bucket less. */
  buckets: number;
  /** Share of `buckets` that must be exceeded by those with a failure. */
  threshold: number;
  /** Percentage of `buckets` that must be exceeded by the number, from 0, of the newest one with a failure. */
  minBucketIndexPercent: number;
}

/** The failures within the span, when they spread as the rules say; otherwise none. */
export function spreadOverBuckets<Failure extends { timestamp: number }>(
  failures: readonly Failure[],
  rules: BucketRules,
  now: number,
): Failure[] {
  const firstEdge = now - rules.buckets * rules.sizeMillis;
  const recent = failures.filter(({ timestamp }) => timestamp >= firstEdge);
  // The newest bucket has no upper edge: a machine whose clock is ahead counts as failing now.
  const indexes = new Set(
    recent.map(({ timestamp }) => Math.min(Math.floor((timestamp - firstEdge) / rules.sizeMillis), rules.buckets - 2)),
  );
  const isOften = indexes.size / rules.buckets > rules.threshold;
  const isRecent = Math.floor((100 * Math.max(...indexes)) / rules.buckets) > rules.minBucketIndexPercent;
  return isOften && isRecent ? recent : [];
}

/** Ended loops that are remembered of a deploy. */
const endedLoopsKept = 10;

export interface CrashLoopReview {
  /** New, or over since now: to be written and told of. */
  changed: CrashLoopInfo[];
  /** Crash loops to forget. Some of these may have changed a moment before. */
  forgotten: CrashLoopInfo[];
}

/**
 * True when a request is checked for loops. While it cools down its starts are delayed, which proves nothing either
 * way.
 */
export const isObserved = (state: RequestState): boolean => isRunnable(state) && state !== 'SYSTEM_COOLDOWN';

/** The bookkeeping of loops: what begins, what is over, what is forgotten. */
export function reviewCrashLoops(
  /** All that are stored of the request. */
  stored: readonly CrashLoopInfo[],
  request: { id: string; activeDeployId?: string },
  /** undefined: it was not looked at, and open loops stay open. */
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
