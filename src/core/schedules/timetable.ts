import { type FieldError, errorBelow } from '../field-error.js';
import type { Request } from '../model/request-spec.js';
import { textHash } from '../text-hash.js';
import { nextRun, readSchedule, type ScheduleFields, type ScheduleSpec } from './schedule-spec.js';
import type { timetableMembers } from './timing-members.js';
import { readWindow, type Window, windowAt, zoned } from './windows.js';

/** Everything of a request that says at which times it runs. */
export type TimetableFields = ScheduleFields & Pick<Request, (typeof timetableMembers)[number]>;

/** Times at which a SCHEDULED request runs: all that ask for them ask this. */
export interface Timetable {
  /** A run at each time that one of them names. */
  schedules: readonly ScheduleSpec[];
  /** Zone in which times are shown: that of the first schedule. */
  timeZone: string;
  /** Added to each time that a schedule names. */
  offsetMillis: number;
  startAt: number;
  endAt: number;
  exclusions: readonly Window[];
}

/** A time that a schedule names, moved by the offset of the request. */
export interface PlannedTime {
  at: number;
  timeZone: string;
  /** Set: it lies in an exclusion. */
  exclusion?: { index: number; until: number };
}

/** More exclusions than this that follow each other are taken to leave no time: one a day does for more than two years. */
const mostExclusions = 1_000;

/** Reads the times of a SCHEDULED request, or says everything that is wrong with them. `since`: when it was saved first. */
export function readTimetable(fields: TimetableFields, since?: number): Timetable | { errors: FieldError[] } {
  const errors: FieldError[] = [];
  const collect = <T extends object>(read: T | { errors: FieldError[] }, path: string): T[] => {
    if (!('errors' in read)) return [read];
    errors.push(...read.errors.map((error) => errorBelow(path, error)));
    return [];
  };
  const schedules = entriesOf(fields).flatMap(({ path, entry }) =>
    collect(readSchedule({ ...entry, id: fields.id }, since), path),
  );
  const exclusions = (fields.exclusions ?? []).flatMap((exclusion, index) =>
    collect(readWindow(exclusion, fields, since), `exclusions.${index}.`),
  );
  const [first] = schedules;
  if (errors.length > 0 || !first) return { errors };
  const { scheduleJitterMillis: jitter = 0, startAt = 0, endAt = Number.POSITIVE_INFINITY } = fields;
  const offsetMillis = jitter > 0 ? textHash(fields.id ?? '') % jitter : 0;
  return { schedules, timeZone: first.timeZone, offsetMillis, startAt, endAt, exclusions };
}

function entriesOf(fields: TimetableFields): { path: string; entry: ScheduleFields }[] {
  const { schedules, scheduleTimeZone } = fields;
  if (schedules === undefined) return [{ path: '', entry: fields }];
  return schedules.map((entry, index) => ({ path: `schedules.${index}.`, entry: zoned(entry, scheduleTimeZone) }));
}

/** The first time after `after` that a schedule names; one in an exclusion counts as well. */
function nextNamed(timetable: Timetable, after: number): { at: number; timeZone: string } | undefined {
  const { offsetMillis, startAt, endAt } = timetable;
  const from = Math.max(after, startAt - 1) - offsetMillis;
  let found: { at: number; timeZone: string } | undefined;
  for (const schedule of timetable.schedules) {
    const at = nextRun(schedule, from);
    if (at !== undefined && (found === undefined || at + offsetMillis < found.at)) {
      found = { at: at + offsetMillis, timeZone: schedule.timeZone };
    }
  }
  return found !== undefined && found.at <= endAt ? found : undefined;
}

/** The exclusion in which a time lies. `until`: nothing starts before it; exclusions that touch or overlap end together. */
export function exclusionAt(timetable: Timetable, at: number): PlannedTime['exclusion'] {
  const found = windowAt(timetable.exclusions, at);
  if (found === undefined) return undefined;
  let { until } = found;
  for (let more = windowAt(timetable.exclusions, until), passed = 0; more && passed < mostExclusions; passed++) {
    until = more.until;
    more = windowAt(timetable.exclusions, until);
  }
  return { index: found.index, until };
}

/** The first time after `after` at which a run is planned; undefined: there is none. */
export function nextTime(timetable: Timetable, after: number): number | undefined {
  return nextPlanned(timetable, after)?.at;
}

export function nextPlanned(timetable: Timetable, after: number): { at: number; timeZone: string } | undefined {
  let from = after;
  for (let passed = 0; passed < mostExclusions; passed++) {
    const next = nextNamed(timetable, from);
    if (next === undefined || timetable.exclusions.length === 0) return next;
    const exclusion = windowAt(timetable.exclusions, next.at);
    if (exclusion === undefined) return next;
    from = exclusion.until - 1;
  }
  return undefined;
}

/** Each time after `after` that a schedule names, those in exclusions among them, without end where the schedules have none. */
export function* plannedTimes(timetable: Timetable, after: number): Generator<PlannedTime, void, undefined> {
  for (let next = nextNamed(timetable, after); next !== undefined; next = nextNamed(timetable, next.at)) {
    yield { ...next, exclusion: exclusionAt(timetable, next.at) };
  }
}
