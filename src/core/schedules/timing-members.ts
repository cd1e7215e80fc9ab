import type { Request } from '../model/request-spec.js';

/** Members that say at which times a SCHEDULED request runs. */
export const timetableMembers = [
  'schedule',
  'quartzSchedule',
  'scheduleType',
  'scheduleTimeZone',
  'schedules',
  'scheduleJitterMillis',
  'startAt',
  'endAt',
  'exclusions',
] as const satisfies readonly (keyof Request)[];

/** Members that say when a SCHEDULED request runs: its times, and what becomes of them. */
export const timingMembers = [
  ...timetableMembers,
  'overlapPolicy',
  'missedRuns',
  'maxRuns',
] as const satisfies readonly (keyof Request)[];
