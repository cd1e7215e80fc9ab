import type { Request } from '../model/request.js';
import { isBesideSchedule } from '../pending-work/index.js';
import { nextRun, readSchedule } from '../schedules/index.js';
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
  if (request.requestType !== 'SCHEDULED' || isBesideSchedule(task.pendingTask.pendingTaskId)) return 0;
  return hits(request, scheduleSince, Math.max(task.pendingTask.pendingTaskId.nextRunAt, changedAt), now);
}

function hits(request: Request, since: number | undefined, from: number, to: number): number {
  const schedule = readSchedule(request, since);
  if ('errors' in schedule) return 0;
  let count = 0;
  for (
    let at = nextRun(schedule, from);
    at !== undefined && at <= to && count < mostAtOnce;
    at = nextRun(schedule, at)
  ) {
    count += 1;
  }
  return count;
}
