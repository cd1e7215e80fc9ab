import type { FieldError } from '../field-error.js';
import type { Request, ScheduleEntry, TimeWindow } from '../model/request-spec.js';
import { nextRun, readSchedule, type ScheduleSpec } from './schedule-spec.js';

/** Times that begin by a schedule, or lie between two times. */
export type Window = { from: number; to: number } | { schedule: ScheduleSpec; durationMillis: number };

/** Reads one, or says everything that is wrong with it. `since`: when the request was saved first. */
export function readWindow(
  window: TimeWindow,
  { id, scheduleTimeZone }: Partial<Pick<Request, 'id' | 'scheduleTimeZone'>>,
  since: number | undefined,
): Window | { errors: FieldError[] } {
  const { schedule, durationMillis, from, to } = window;
  const refuse = (field: string, rule: string, message: string) => ({ errors: [{ field, rule, message }] });
  if (schedule === undefined) {
    const stray = (['scheduleType', 'scheduleTimeZone', 'durationMillis'] as const).find(
      (field) => window[field] !== undefined,
    );
    if (stray) return refuse(stray, 'consistent', `${stray} belongs to a schedule, which is not given`);
    if (from === undefined || to === undefined) {
      return refuse('schedule', 'required', 'schedule and durationMillis, or from and to, are required');
    }
    return to > from ? { from, to } : refuse('to', 'after', 'to must be after from');
  }
  const stray = (['from', 'to'] as const).find((field) => window[field] !== undefined);
  if (stray) return refuse(stray, 'consistent', `${stray} is not allowed beside schedule`);
  if (durationMillis === undefined) return refuse('durationMillis', 'required', 'durationMillis is required');
  if (durationMillis < 1) return refuse('durationMillis', 'min', 'durationMillis must be at least 1');
  const { scheduleType } = window;
  const entry = zoned({ schedule, scheduleType, scheduleTimeZone: window.scheduleTimeZone }, scheduleTimeZone);
  const read = readSchedule({ ...entry, id }, since);
  return 'errors' in read ? read : { schedule: read, durationMillis };
}

/** The window in which a time lies; `until` is the first time behind it. */
export function windowAt(windows: readonly Window[], at: number): { index: number; until: number } | undefined {
  for (const [index, window] of windows.entries()) {
    if ('from' in window) {
      if (window.from <= at && at < window.to) return { index, until: window.to };
      continue;
    }
    const began = nextRun(window.schedule, at - window.durationMillis);
    if (began !== undefined && began <= at) return { index, until: began + window.durationMillis };
  }
  return undefined;
}

/** True for one that has ended and does not recur. */
export const isOver = (window: Window, now: number): boolean =>
  'from' in window ? window.to <= now : nextRun(window.schedule, now - window.durationMillis) === undefined;

/** Begin of the first window after `after`; undefined: there is none. */
export function nextWindow(windows: readonly Window[], after: number): number | undefined {
  const begins = windows.flatMap((window) => {
    const begin = 'from' in window ? window.from : nextRun(window.schedule, after);
    return begin !== undefined && begin > after ? begin : [];
  });
  return begins.length > 0 ? Math.min(...begins) : undefined;
}

export const zoned = <T extends Partial<ScheduleEntry>>(entry: T, timeZone: string | undefined): T =>
  entry.scheduleTimeZone === undefined && timeZone !== undefined ? { ...entry, scheduleTimeZone: timeZone } : entry;
