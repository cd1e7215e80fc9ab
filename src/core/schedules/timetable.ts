import type { FieldError } from '../field-error.js';
import type { Exclusion, Request, ScheduleEntry } from '../model/request-spec.js';
import { textHash } from '../text-hash.js';
import { nextRun, readSchedule, type ScheduleFields, type ScheduleSpec } from './schedule-spec.js';
import type { timetableMembers } from './timing-members.js';

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
  exclusions: readonly ExcludedTimes[];
}

type ExcludedTimes = { from: number; to: number } | { schedule: ScheduleSpec; durationMillis: number };

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
    errors.push(...read.errors.map((error) => within(path, error)));
    return [];
  };
  const schedules = entriesOf(fields).flatMap(({ path, entry }) =>
    collect(readSchedule({ ...entry, id: fields.id }, since), path),
  );
  const exclusions = (fields.exclusions ?? []).flatMap((exclusion, index) =>
    collect(readExclusion(exclusion, fields, since), `exclusions.${index}.`),
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

const zoned = <T extends Partial<ScheduleEntry>>(entry: T, timeZone: string | undefined): T =>
  entry.scheduleTimeZone === undefined && timeZone !== undefined ? { ...entry, scheduleTimeZone: timeZone } : entry;

const within = (path: string, error: FieldError): FieldError =>
  path === '' ? error : { ...error, field: path + error.field, message: path + error.message };

function readExclusion(
  exclusion: Exclusion,
  { id, scheduleTimeZone }: TimetableFields,
  since: number | undefined,
): ExcludedTimes | { errors: FieldError[] } {
  const { schedule, durationMillis, from, to } = exclusion;
  const refuse = (field: string, rule: string, message: string) => ({ errors: [{ field, rule, message }] });
  if (schedule === undefined) {
    const stray = (['scheduleType', 'scheduleTimeZone', 'durationMillis'] as const).find(
      (field) => exclusion[field] !== undefined,
    );
    if (stray) return refuse(stray, 'consistent', `${stray} belongs to a schedule, which is not given`);
    if (from === undefined || to === undefined) {
      return refuse('schedule', 'required', 'schedule and durationMillis, or from and to, are required');
    }
    return to > from ? { from, to } : refuse('to', 'after', 'to must be after from');
  }
  const stray = (['from', 'to'] as const).find((field) => exclusion[field] !== undefined);
  if (stray) return refuse(stray, 'consistent', `${stray} is not allowed beside schedule`);
  if (durationMillis === undefined) return refuse('durationMillis', 'required', 'durationMillis is required');
  if (durationMillis < 1) return refuse('durationMillis', 'min', 'durationMillis must be at least 1');
  const { scheduleType } = exclusion;
  const entry = zoned({ schedule, scheduleType, scheduleTimeZone: exclusion.scheduleTimeZone }, scheduleTimeZone);
  const read = readSchedule({ ...entry, id }, since);
  return 'errors' in read ? read : { schedule: read, durationMillis };
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
  const found = windowAt(timetable, at);
  if (found === undefined) return undefined;
  let { until } = found;
  for (let more = windowAt(timetable, until), passed = 0; more && passed < mostExclusions; passed++) {
    until = more.until;
    more = windowAt(timetable, until);
  }
  return { index: found.index, until };
}

function windowAt({ exclusions }: Timetable, at: number): PlannedTime['exclusion'] {
  for (const [index, exclusion] of exclusions.entries()) {
    if ('from' in exclusion) {
      if (exclusion.from <= at && at < exclusion.to) return { index, until: exclusion.to };
      continue;
    }
    const began = nextRun(exclusion.schedule, at - exclusion.durationMillis);
    if (began !== undefined && began <= at) return { index, until: began + exclusion.durationMillis };
  }
  return undefined;
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
    const exclusion = windowAt(timetable, next.at);
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
