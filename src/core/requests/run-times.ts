import { isLongRunning } from '../model/enums.js';
import type { Request } from '../model/request.js';
import { nextTime, readTimetable } from '../schedules/index.js';

export interface ActiveRun {
  /** Epoch milliseconds. */
  startedAt: number;
  /** Average run time of the ended tasks of its deploy. */
  averageRuntimeMillis?: number;
  /** Time at which the schedule of its request was saved as it is. */
  scheduleSince?: number;
}

export interface RunTimeRules {
  /** For requests that have no limit of their own. */
  taskExecutionTimeLimitMillis?: number;
  warnIfScheduledJobIsRunningForAtLeastMillis: number;
  warnIfScheduledJobIsRunningPastNextRunPct: number;
}

/** Decision about a run that takes its time. */
export type RunTimeDecision =
  | { kind: 'fine' }
  /** It has to end. */
  | { kind: 'end'; runMillis: number; limitMillis: number }
  /** It may go on, but its owners should know. */
  | { kind: 'overdue'; runMillis: number; expectedMillis: number };

/**
 * The first moment at which there may be something to say of a run of which only the start is known; undefined: never. What is
 * expected of it is looked up then (`nextCheckAt`).
 */
export function firstCheckAt(request: Request, startedAt: number, rules: RunTimeRules): number | undefined {
  if (isLongRunning(request.requestType)) return undefined;
  const limitMillis = limitOf(request, rules) ?? Number.POSITIVE_INFINITY;
  const warnMillis =
    request.requestType === 'SCHEDULED' ? rules.warnIfScheduledJobIsRunningForAtLeastMillis : Number.POSITIVE_INFINITY;
  const at = startedAt + Math.min(limitMillis, warnMillis);
  return Number.isFinite(at) ? at : undefined;
}

/** The first moment from which `judgeRunTime` says something else than `fine`; undefined: never. told: it was called overdue. */
export function nextCheckAt(request: Request, run: ActiveRun & { told: boolean }, rules: RunTimeRules) {
  if (isLongRunning(request.requestType)) return undefined;
  const checks = [limitOf(request, rules), run.told ? undefined : overdueAfter(request, run, rules)];
  const found = checks.filter((millis) => millis !== undefined);
  return found.length > 0 ? run.startedAt + Math.min(...found) : undefined;
}

const limitOf = (request: Request, rules: RunTimeRules): number | undefined =>
  request.taskExecutionTimeLimitMillis ?? rules.taskExecutionTimeLimitMillis;

/** Run time after which a run becomes overdue. */
function overdueAfter(request: Request, run: ActiveRun, rules: RunTimeRules): number | undefined {
  if (request.requestType !== 'SCHEDULED') return undefined;
  const expectedMillis = expectedRuntime(request, run);
  if (expectedMillis === undefined) return undefined;
  const beyond = Math.ceil((expectedMillis * (rules.warnIfScheduledJobIsRunningPastNextRunPct + 1)) / 100);
  return Math.max(beyond, rules.warnIfScheduledJobIsRunningForAtLeastMillis);
}

export function judgeRunTime(request: Request, run: ActiveRun, rules: RunTimeRules, now: number): RunTimeDecision {
  if (isLongRunning(request.requestType)) return { kind: 'fine' };
  const runMillis = now - run.startedAt;
  const limitMillis = limitOf(request, rules);
  if (limitMillis !== undefined && runMillis >= limitMillis) return { kind: 'end', runMillis, limitMillis };
  if (request.requestType !== 'SCHEDULED') return { kind: 'fine' };
  if (runMillis < rules.warnIfScheduledJobIsRunningForAtLeastMillis) return { kind: 'fine' };
  const expectedMillis = expectedRuntime(request, run);
  if (expectedMillis === undefined) return { kind: 'fine' };
  const percent = Math.floor((100 * runMillis) / expectedMillis);
  if (percent <= rules.warnIfScheduledJobIsRunningPastNextRunPct) return { kind: 'fine' };
  return { kind: 'overdue', runMillis, expectedMillis };
}

/**
 * Expected run time: that of the request, else the average of its runs, else the time until the next one was to begin.
 * 0 means unknown.
 */
function expectedRuntime(
  request: Request,
  { startedAt, averageRuntimeMillis, scheduleSince }: ActiveRun,
): number | undefined {
  const known = request.scheduledExpectedRuntimeMillis || averageRuntimeMillis;
  if (known) return known;
  const timetable = readTimetable(request, scheduleSince);
  const next = 'errors' in timetable ? undefined : nextTime(timetable, startedAt);
  return next === undefined ? undefined : next - startedAt;
}
