import { isFailingFast } from '../cooldown/index.js';
import { groupBy } from '../group-by.js';
import type { TaskFailureEvent } from '../model/deploy.js';
import { isLongRunning, type CrashLoopType, type RequestType } from '../model/enums.js';
import { spreadOverBuckets } from './buckets.js';
import type { CrashLoopRules } from './rules.js';
import { startupFailureLoop, type InstanceCleanup } from './startup-failures.js';

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

/** When the loop began; undefined: there is none. */
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
  const recent = failures.filter(({ type, timestamp }) => type === 'OOM' && now - timestamp < oom.windowMillis);
  return recent.length >= oom.failureThreshold ? earliest(recent) : undefined;
}

/** Of several instances that are in such a loop, the one with the lowest number stands for all. */
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
    ({ type, timestamp }) => type === 'UNEXPECTED_EXIT' && now - timestamp < unexpectedExitsMillis,
  );
  return recent.length > unexpectedExitsAllowed ? earliest(recent) : undefined;
}

/** An end that the task brought about by itself. */
const isCrash = ({ type }: TaskFailureEvent): boolean =>
  type === 'OOM' || type === 'BAD_EXIT_CODE' || type === 'OUT_OF_DISK_SPACE';

const earliest = (failures: readonly TaskFailureEvent[]): number | undefined =>
  failures.length === 0 ? undefined : Math.min(...failures.map(({ timestamp }) => timestamp));
