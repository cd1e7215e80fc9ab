import type { FieldError } from '../field-error.js';
import type { ScheduleType } from '../model/enums.js';
import type { Request } from '../model/request.js';
import { type ClockTimes, modulo } from './calendar.js';
import { parseQuartz, type QuartzSchedule, QuartzTimes } from './quartz.js';
import { parseRecurrence } from './recurrence-parser.js';
import { RecurrenceTimes } from './recurrence-times.js';
import type { Recurrence } from './recurrence.js';
import { clockAt, nextInstant, resolveTimeZone, unknownZone } from './time-zones.js';
import { deriveQuartz } from './unix-cron.js';

/** Schedule of a SCHEDULED request: an expression that was checked, and a zone that exists. */
export type ScheduleSpec = Expression & {
  timeZone: string;
  /**
   * Time at which it was saved, in epoch milliseconds: a rule that names no start starts then. undefined: it is not
   * saved yet.
   */
  since?: number;
};

type Expression =
  { type: 'QUARTZ'; quartz: string; schedule: QuartzSchedule } | { type: 'RFC5545'; recurrence: Recurrence };

export type ScheduleFields = Pick<Request, 'schedule' | 'quartzSchedule' | 'scheduleType' | 'scheduleTimeZone'> & {
  /** Id of the request: what `H` in a crontab stands for. */
  id?: string;
};

/** In characters. Longer ones would take their time each time they are read, and the longest in use have some hundred. */
export const longestExpression = 1_000;

/** The service runs in UTC; a request may say otherwise. */
const defaultTimeZone = 'UTC';

/** QUARTZ when only a Quartz expression is given, CRON when the type is left open otherwise. */
const effectiveScheduleType = (fields: ScheduleFields): ScheduleType =>
  fields.scheduleType ?? (fields.quartzSchedule !== undefined && fields.schedule === undefined ? 'QUARTZ' : 'CRON');

/** Reads the schedule of a SCHEDULED request, or says everything that is wrong with it. `since`: when it was saved first. */
export function readSchedule(fields: ScheduleFields, since?: number): ScheduleSpec | { errors: FieldError[] } {
  const expression = readExpression(fields);
  const ownZone = 'recurrence' in expression ? expression.recurrence.timeZone : undefined;
  const timeZone = readZone(fields.scheduleTimeZone, ownZone);
  const errors = [expression, timeZone].filter(
    (read): read is FieldError => typeof read === 'object' && 'rule' in read,
  );
  if ('rule' in expression || typeof timeZone !== 'string') return { errors };
  return { ...expression, timeZone, since };
}

/** The Quartz expression counts when both are given: answers carry both, so clients send both back. */
function readExpression(fields: ScheduleFields): Expression | FieldError {
  const { schedule, quartzSchedule } = fields;
  const type = effectiveScheduleType(fields);
  if (schedule === undefined && quartzSchedule === undefined) {
    const message = 'schedule or quartzSchedule is required for a SCHEDULED request, such as schedule: "0 3 * * *"';
    return { field: 'schedule', rule: 'required', message };
  }
  const zoned = zoneInside('schedule', schedule) ?? zoneInside('quartzSchedule', quartzSchedule);
  if (zoned) return zoned;
  const long = tooLong('schedule', schedule) ?? tooLong('quartzSchedule', quartzSchedule);
  if (long) return long;
  if (quartzSchedule !== undefined) {
    if (type === 'RFC5545') {
      const message = 'quartzSchedule is not allowed with scheduleType RFC5545, whose rule is in schedule';
      return { field: 'quartzSchedule', rule: 'consistent', message };
    }
    if (schedule === undefined && type !== 'QUARTZ') {
      const message = `scheduleType must be QUARTZ when only quartzSchedule is given, not ${type}`;
      return { field: 'scheduleType', rule: 'consistent', message };
    }
    return readQuartz('quartzSchedule', quartzSchedule);
  }
  if (type === 'RFC5545') return readRecurrence(schedule!);
  if (type === 'QUARTZ') return readQuartz('schedule', schedule!);
  const derived = deriveQuartz(schedule!, fields.id);
  return 'error' in derived
    ? { field: 'schedule', rule: 'cron', message: `schedule: ${derived.error}` }
    : readQuartz('schedule', derived.quartz);
}

const tooLong = (field: string, expression: string | undefined): FieldError | undefined =>
  expression === undefined || expression.length <= longestExpression
    ? undefined
    : { field, rule: 'length', message: `${field} must have at most ${longestExpression} characters` };

/** Some programs say the zone in front of the expression. */
function zoneInside(field: string, expression: string | undefined): FieldError | undefined {
  const [, given, zone] = /^\s*((?:CRON_)?TZ=(\S{0,60}))/i.exec(expression ?? '') ?? [];
  if (given === undefined) return undefined;
  return { field, rule: 'timeZone', message: `${field}: '${given}' is no part of it: say scheduleTimeZone ${zone}` };
}

function readQuartz(field: string, quartz: string): Expression | FieldError {
  const schedule = parseQuartz(quartz);
  if ('error' in schedule) return { field, rule: 'quartz', message: `${field}: ${schedule.error}` };
  return { type: 'QUARTZ', quartz, schedule };
}

function readRecurrence(text: string): Expression | FieldError {
  const recurrence = parseRecurrence(text);
  if ('error' in recurrence) return { field: 'schedule', rule: 'rfc5545', message: `schedule: ${recurrence.error}` };
  return { type: 'RFC5545', recurrence };
}

/** `own`: the zone that the expression itself names. */
function readZone(given: string | undefined, own: string | undefined): string | FieldError {
  const zone = resolveTimeZone(given ?? defaultTimeZone);
  if (zone === undefined) {
    const message = `scheduleTimeZone ${unknownZone(given ?? '')}`;
    return { field: 'scheduleTimeZone', rule: 'timeZone', message };
  }
  if (own === undefined) return zone;
  const ownZone = resolveTimeZone(own);
  if (ownZone === undefined) {
    return { field: 'schedule', rule: 'timeZone', message: `schedule: ${unknownZone(own)}` };
  }
  if (given !== undefined && zone !== ownZone) {
    const message = `scheduleTimeZone is ${given}, but the schedule is in ${own}`;
    return { field: 'scheduleTimeZone', rule: 'consistent', message };
  }
  return ownZone;
}

/** The first hit strictly after `after` (epoch milliseconds); undefined when there is none left. */
export function nextRun(spec: ScheduleSpec, after: number): number | undefined {
  const { timeZone } = spec;
  if (spec.type === 'QUARTZ') return nextInstant(new QuartzTimes(spec.schedule), timeZone, after);
  const { untilInstant = Number.POSITIVE_INFINITY } = spec.recurrence;
  const found = nextInstant(recurrenceTimes(spec.recurrence, timeZone, spec.since ?? after), timeZone, after);
  return found === undefined || found > untilInstant ? undefined : found;
}

function recurrenceTimes(recurrence: Recurrence, timeZone: string, since: number): ClockTimes {
  const clockOf = (instant: number): number => clockAt(timeZone, instant);
  const { start } = recurrence;
  if (start !== undefined) return new RecurrenceTimes(recurrence, { start, countsAfter: start - 1 }, clockOf);
  const savedAt = clockOf(since);
  return new RecurrenceTimes(recurrence, { start: minuteOf(savedAt), countsAfter: savedAt }, clockOf);
}

/** A rule that names no start begins with the minute in which it was saved. */
const minuteOf = (clock: number): number => clock - modulo(clock, 60_000);
