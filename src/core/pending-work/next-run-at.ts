import { isLongRunning, type RequestState } from '../model/enums.js';
import type { Request } from '../model/request.js';
import type { PendingRequest, PendingTaskId } from '../model/task.js';
import { nextRun, readSchedule } from '../schedules/index.js';

export interface RequestToRun {
  request: Request;
  state: RequestState;
  /** Time at which its schedule was saved as it is. */
  scheduleSince?: number;
}

/**
 * Start time of a task planned for `entry`; undefined when the schedule has no further run. A task without anything to
 * wait for is due since it was requested, and so immediately, whatever the clock says later (`isDueAtOnce`).
 */
export function nextRunAt(
  { request, state, scheduleSince }: RequestToRun,
  entry: Pick<PendingRequest, 'pendingType' | 'timestamp' | 'runAt'>,
  cooldownMinScheduleMillis: number,
  now: number,
): number | undefined {
  let at = now;
  if (followsSchedule(request, entry)) {
    // A time of the schedule that was found before is that one, also when it has passed until now.
    const hit = entry.runAt ?? nextHit(request, scheduleSince, now);
    if (hit === undefined) return undefined;
    at = hit;
  } else if (!isLongRunning(request.requestType) && entry.runAt !== undefined) at = Math.max(at, entry.runAt);
  const rest = request.waitAtLeastMillisAfterTaskFinishesForReschedule ?? 0;
  if (entry.pendingType === 'TASK_DONE' && rest > 0) at = Math.max(at, now + rest);
  if (state === 'SYSTEM_COOLDOWN' && entry.pendingType !== 'NEW_DEPLOY') {
    at = Math.max(at, now + cooldownMinScheduleMillis);
  }
  return at > now ? at : Math.min(now, entry.timestamp);
}

/** The run of a schedule was planned by a clock that was ahead: planned now, it would come sooner. */
export function isPlannedTooFar(
  { pendingType, nextRunAt: plannedAt, createdAt }: PendingTaskId,
  planned: RequestToRun,
  cooldownMinScheduleMillis: number,
  now: number,
): boolean {
  if (!followsSchedule(planned.request, { pendingType })) return false;
  const entry = { pendingType, timestamp: createdAt };
  return plannedAt > (nextRunAt(planned, entry, cooldownMinScheduleMillis, now) ?? plannedAt);
}

const followsSchedule = ({ requestType }: Request, { pendingType }: Pick<PendingRequest, 'pendingType'>): boolean =>
  requestType === 'SCHEDULED' && pendingType !== 'IMMEDIATE' && pendingType !== 'RETRY' && pendingType !== 'BACKFILL';

function nextHit(request: Request, since: number | undefined, now: number): number | undefined {
  const schedule = readSchedule(request, since);
  if ('errors' in schedule) {
    throw new Error(`Request '${request.id}' has no usable schedule: ${schedule.errors[0]?.message}`);
  }
  return nextRun(schedule, now);
}
