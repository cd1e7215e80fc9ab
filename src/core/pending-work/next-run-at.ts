import { isLongRunning, type RequestState } from '../model/enums.js';
import type { Request } from '../model/request.js';
import type { PendingRequest } from '../model/task.js';
import { nextRun, readSchedule } from '../schedules/index.js';

/** When a task planned for `entry` may start; undefined when the schedule has no further run. */
export function nextRunAt(
  request: Request,
  state: RequestState,
  entry: PendingRequest,
  cooldownMinScheduleMillis: number,
  now: number,
): number | undefined {
  let at = now;
  if (request.requestType === 'SCHEDULED' && entry.pendingType !== 'IMMEDIATE' && entry.pendingType !== 'RETRY') {
    const hit = nextHit(request, now);
    if (hit === undefined) return undefined;
    at = hit;
  }
  if (!isLongRunning(request.requestType) && entry.runAt !== undefined) at = Math.max(at, entry.runAt);
  const rest = request.waitAtLeastMillisAfterTaskFinishesForReschedule ?? 0;
  if (entry.pendingType === 'TASK_DONE' && rest > 0) at = Math.max(at, now + rest);
  if (state === 'SYSTEM_COOLDOWN' && entry.pendingType !== 'NEW_DEPLOY') {
    at = Math.max(at, now + cooldownMinScheduleMillis);
  }
  return at;
}

function nextHit(request: Request, now: number): number | undefined {
  const schedule = readSchedule(request);
  if ('errors' in schedule) {
    throw new Error(`Request '${request.id}' has no usable schedule: ${schedule.errors[0]?.message}`);
  }
  return nextRun(schedule, now);
}
