export { longestExpression, nextRun, readSchedule, type ScheduleFields, type ScheduleSpec } from './schedule-spec.js';
export { nextTimes, timeIn, type TimeInZone, zoneOf } from './next-times.js';
export { resolveTimeZone, unknownZone } from './time-zones.js';
export { deriveQuartz } from './unix-cron.js';
