import type { FieldError } from '../field-error.js';
import type { Request } from '../model/request.js';
import type { ScheduleType } from '../model/enums.js';
import { nextQuartzHit } from './quartz-evaluation.js';
import { parseQuartz } from './quartz-parser.js';
import { resolveTimeZone } from './time-zones.js';
import { deriveQuartz } from './unix-cron.js';

/** When a SCHEDULED request runs: an expression that was checked, and a zone that exists. */
export interface ScheduleSpec {
  type: 'QUARTZ';
  quartz: string;
  timeZone: string;
}

export type ScheduleFields = Pick<Request, 'schedule' | 'quartzSchedule' | 'scheduleType' | 'scheduleTimeZone'>;

/** The service runs in UTC; a request may say otherwise. */
const defaultTimeZone = 'UTC';

/** QUARTZ when only a Quartz expression is given, CRON when the type is left open otherwise. */
const effectiveScheduleType = (fields: ScheduleFields): ScheduleType =>
  fields.scheduleType ?? (fields.quartzSchedule !== undefined && fields.schedule === undefined ? 'QUARTZ' : 'CRON');

/** Reads the schedule of a SCHEDULED request, or says everything that is wrong with it. */
export function readSchedule(fields: ScheduleFields): ScheduleSpec | { errors: FieldError[] } {
  const expression = readExpression(fields);
  const timeZone = resolveTimeZone(fields.scheduleTimeZone ?? defaultTimeZone);
  const errors = 'quartz' in expression ? [] : [expression];
  if (timeZone === undefined) {
    const message = `scheduleTimeZone '${fields.scheduleTimeZone}' is not a known time zone`;
    errors.push({ field: 'scheduleTimeZone', rule: 'timeZone', message });
  }
  if (!('quartz' in expression) || timeZone === undefined) return { errors };
  return { type: 'QUARTZ', quartz: expression.quartz, timeZone };
}

/** When both expressions are given the Quartz one counts: answers carry both, so clients send both back. */
function readExpression(fields: ScheduleFields): { quartz: string } | FieldError {
  const { schedule, quartzSchedule } = fields;
  const type = effectiveScheduleType(fields);
  if (schedule === undefined && quartzSchedule === undefined) {
    return { field: 'schedule', rule: 'required', message: 'a SCHEDULED request needs schedule or quartzSchedule' };
  }
  if (type === 'RFC5545') {
    const message = 'scheduleType RFC5545 is not supported; use CRON or QUARTZ';
    return { field: 'scheduleType', rule: 'supported', message };
  }
  if (quartzSchedule !== undefined) {
    if (schedule === undefined && type !== 'QUARTZ') {
      const message = `scheduleType must be QUARTZ when only quartzSchedule is given, not ${type}`;
      return { field: 'scheduleType', rule: 'consistent', message };
    }
    return readQuartz('quartzSchedule', quartzSchedule);
  }
  if (type === 'QUARTZ') return readQuartz('schedule', schedule!);
  const derived = deriveQuartz(schedule!);
  return 'quartz' in derived ? derived : { field: 'schedule', rule: 'cron', message: `schedule: ${derived.error}` };
}

function readQuartz(field: string, expression: string): { quartz: string } | FieldError {
  const parsed = parseQuartz(expression);
  return 'error' in parsed ? { field, rule: 'quartz', message: `${field}: ${parsed.error}` } : { quartz: expression };
}

/** The first hit strictly after `after` (epoch milliseconds); undefined when there is none left. */
export function nextRun(schedule: ScheduleSpec, after: number): number | undefined {
  const parsed = parseQuartz(schedule.quartz);
  if ('error' in parsed) throw new Error(`A stored schedule cannot be read: ${parsed.error}`);
  return nextQuartzHit(parsed, schedule.timeZone, after);
}
