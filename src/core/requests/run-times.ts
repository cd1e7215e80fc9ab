import { isLongRunning } from '../model/enums.js';
import type { Request } from '../model/request.js';
import { nextRun, readSchedule } from '../schedules/index.js';

export interface ActiveRun {
  /** Epoch milliseconds. */
  startedAt: number;
  /** Of the ended tasks of its deploy. */
  averageRuntimeMillis?: number;
}

export interface RunTimeRules {
  /** For requests that have no limit of their own. */
  taskExecutionTimeLimitMillis?: number;
  warnIfScheduledJobIsRunningForAtLeastMillis: number;
  warnIfScheduledJobIsRunningPastNextRunPct: number;
}

/** What is done about a run that takes its time. */
export type RunTimeDecision =
  | { kind: 'fine' }
  /** It has to end. */
  | { kind: 'end'; runMillis: number; limitMillis: number }
  /** It may go on, but somebody should know. */
  | { kind: 'overdue'; runMillis: number; expectedMillis: number };

export function judgeRunTime(request: Request, run: ActiveRun, rules: RunTimeRules, now: number): RunTimeDecision {
  if (isLongRunning(request.requestType)) return { kind: 'fine' };
  const runMillis = now - run.startedAt;
  const limitMillis = request.taskExecutionTimeLimitMillis ?? rules.taskExecutionTimeLimitMillis;
  if (limitMillis !== undefined && runMillis >= limitMillis) return { kind: 'end', runMillis, limitMillis };
  if (request.requestType !== 'SCHEDULED') return { kind: 'fine' };
  if (runMillis < rules.warnIfScheduledJobIsRunningForAtLeastMillis) return { kind: 'fine' };
  const expectedMillis = expectedRuntime(request, run);
  if (expectedMillis === undefined) return { kind: 'fine' };
  const percent = Math.floor((100 * runMillis) / expectedMillis);
  if (percent <= rules.warnIfScheduledJobIsRunningPastNextRunPct) return { kind: 'fine' };
  return { kind: 'overdue', runMillis, expectedMillis };
}

/** What the request says, else what its runs took, else the time until the next one was to begin. 0 says nothing. */
function expectedRuntime(request: Request, { startedAt, averageRuntimeMillis }: ActiveRun): number | undefined {
  const known = request.scheduledExpectedRuntimeMillis || averageRuntimeMillis;
  if (known) return known;
  const schedule = readSchedule(request);
  const next = 'errors' in schedule ? undefined : nextRun(schedule, startedAt);
  return next === undefined ? undefined : next - startedAt;
}
