import type { RequestEventType } from '../model/enums.js';
import type { Span } from './date-steps.js';

/*
 * When whatever is asked for can have written logs. Times are epoch milliseconds. A caller may narrow the span, never widen
 * it: every day, month or year more is another place to look.
 */

const day = 24 * 3_600_000;

export interface Narrowing {
  start?: number;
  end?: number;
}

export interface TaskTimes {
  startedAt: number;
  /** false: nothing is known of the task but its id. */
  isKnown: boolean;
  /** The update that ended it. */
  endedAt?: number;
}

export function spanOfTask(
  { startedAt, isKnown, endedAt }: TaskTimes,
  missingTaskPeriodMillis: number,
  now: number,
): Span {
  return { start: startedAt, end: isKnown ? (endedAt ?? now) : startedAt + missingTaskPeriodMillis };
}

export interface DeployTimes {
  createdAt: number;
  /** It is the active one, or on its way to be. */
  isCurrent: boolean;
  /** When a task of it ended last. */
  lastFinishAt?: number;
}

export function spanOfDeploy({ createdAt, isCurrent, lastFinishAt }: DeployTimes, now: number): Span {
  const isOver = !isCurrent && lastFinishAt !== undefined;
  return { start: createdAt, end: isOver ? lastFinishAt + day : now };
}

export interface RequestTimes {
  firstAt: number;
  lastAt: number;
  lastEvent: RequestEventType;
}

/** undefined: of a request without any history it must be said from when on. */
export function spanOfRequest(times: RequestTimes | undefined, { start }: Narrowing, now: number): Span | undefined {
  if (!times) return start === undefined ? undefined : { start, end: now };
  const isOver = times.lastEvent === 'DELETED' || times.lastEvent === 'PAUSED';
  return { start: times.firstAt, end: isOver ? times.lastAt + day : now };
}

export const narrow = (span: Span, { start, end }: Narrowing): Span => ({
  start: Math.max(span.start, start ?? span.start),
  end: Math.min(span.end, end ?? span.end),
});
