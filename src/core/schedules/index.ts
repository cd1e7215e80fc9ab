export { longestExpression, nextRun, readSchedule, type ScheduleFields, type ScheduleSpec } from './schedule-spec.js';
export { nextTimes, timeIn, zoneOf } from './next-times.js';
export { type TimeInZone } from '../model/request.js';
export { EarliestRuns, type RunWindow, type UpcomingRun } from './upcoming-runs.js';
export { resolveTimeZone, unknownZone } from './time-zones.js';
export { deriveQuartz } from './unix-cron.js';
export {
  exclusionAt,
  nextTime,
  type PlannedTime,
  plannedTimes,
  readTimetable,
  type Timetable,
  type TimetableFields,
} from './timetable.js';
export {
  type ClosedWindows,
  closedWindows,
  closedWindowsText,
  type GroupWindows,
  isSameWindows,
  pastWindowsProblem,
  readDeployWindows,
} from './deploy-windows.js';
export { isOver, nextWindow, windowAt, zoned } from './windows.js';
export { timetableMembers, timingMembers } from './timing-members.js';
export {
  decideDue,
  type DueTime,
  latestStartAfter,
  missedAfterMillis,
  mostBuffered,
  plansAhead,
  runsAtOnce,
  type SkipReason,
} from './overlap.js';
export { type PreviewedTime, type PreviewEnd, previewEnds, previewTimes, type SchedulePreview } from './preview.js';
