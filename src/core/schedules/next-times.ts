import { clockAt } from './time-zones.js';
import { nextPlanned, readTimetable, type TimetableFields } from './timetable.js';
import type { TimeInZone } from '../model/request.js';

export function timeIn(timeZone: string, at: number): TimeInZone {
  const clock = clockAt(timeZone, at);
  const minutes = Math.round((clock - at) / 60_000);
  const two = (value: number): string => String(Math.floor(Math.abs(value))).padStart(2, '0');
  const offset = `${minutes < 0 ? '-' : '+'}${two(minutes / 60)}:${two(Math.abs(minutes) % 60)}`;
  const local = new Date(clock).toISOString().replace(/(\.000)?Z$/, offset);
  return { at, utc: new Date(at).toISOString(), local, timeZone };
}

/** The next times of a request after `after`, as many as there are up to `count`; none of one that cannot be read. */
export function nextTimes(
  fields: TimetableFields,
  since: number | undefined,
  after: number,
  count: number,
): TimeInZone[] {
  const timetable = readTimetable(fields, since);
  const times: TimeInZone[] = [];
  if ('errors' in timetable) return times;
  for (
    let next = nextPlanned(timetable, after);
    next !== undefined && times.length < count;
    next = nextPlanned(timetable, next.at)
  ) {
    times.push(timeIn(next.timeZone, next.at));
  }
  return times;
}

/** The zone in which the times of a request are shown. */
export const zoneOf = (fields: TimetableFields): string => {
  const timetable = readTimetable(fields);
  return 'errors' in timetable ? 'UTC' : timetable.timeZone;
};
