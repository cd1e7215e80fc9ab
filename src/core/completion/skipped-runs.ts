import type { Request } from '../model/request.js';
import { isBesideSchedule } from '../pending-work/index.js';
import { nextTime, plansAhead, readTimetable } from '../schedules/index.js';
import type { EndedTask, RequestOfTask } from './ended-task.js';

/** More are not counted one by one. */
const mostAtOnce = 1_000;

/**
 * Count of the scheduled times that came due between that of this run and its end, each without a run: the next one is
 * planned from now on, even when a short run reports its end late. Times before the request changed last are not
 * counted.
 */
export function skippedRuns(task: EndedTask, ofTask: RequestOfTask, now: number): number {
  const { request, scheduleSince, changedAt = 0 } = ofTask;
  // Those that are planned ahead are counted when they are skipped.
  if (request.requestType !== 'SCHEDULED' || plansAhead(request) || isBesideSchedule(task.pendingTask.pendingTaskId))
    return 0;
  return hits(request, scheduleSince, Math.max(task.pendingTask.pendingTaskId.nextRunAt, changedAt), now);
}

function hits(request: Request, since: number | undefined, from: number, to: number): number {
  const timetable = readTimetable(request, since);
  if ('errors' in timetable) return 0;
  let count = 0;
  for (
    let at = nextTime(timetable, from);
    at !== undefined && at <= to && count < mostAtOnce;
    at = nextTime(timetable, at)
  ) {
    count += 1;
  }
  return count;
}
