import { clockAt } from './time-zones.js';
import { nextRun, readSchedule, type ScheduleFields } from './schedule-spec.js';
import type { TimeInZone } from '../model/request.js';

export function timeIn(timeZone: string, at: number): TimeInZone {
  const clock = clockAt(timeZone, at);
  const minutes = Math.round((clock - at) / 60_000);
  const two = (value: number): string => String(Math.floor(Math.abs(value))).padStart(2, '0');
  const offset = `${minutes < 0 ? '-' : '+'}${two(minutes / 60)}:${two(Math.abs(minutes) % 60)}`;
  const local = new Date(clock).toISOString().replace(/(\.000)?Z$/, offset);
  return { at, utc: new Date(at).toISOString(), local, timeZone };
}

/** The next times of a schedule after `after`, as many as there are up to `count`; none of one that cannot be read. */
export function nextTimes(
  fields: ScheduleFields,
  since: number | undefined,
  after: number,
  count: number,
): TimeInZone[] {
  const spec = readSchedule(fields, since);
  const times: TimeInZone[] = [];
  if ('errors' in spec) return times;
  for (let at = nextRun(spec, after); at !== undefined && times.length < count; at = nextRun(spec, at)) {
    times.push(timeIn(spec.timeZone, at));
  }
  return times;
}

/** The zone in which the times of a request are shown. */
export const zoneOf = (fields: ScheduleFields): string => {
  const spec = readSchedule(fields);
  return 'errors' in spec ? 'UTC' : spec.timeZone;
};
