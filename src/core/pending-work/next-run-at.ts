import { isLongRunning, type RequestState } from '../model/enums.js';
import type { Request } from '../model/request.js';
import type { PendingRequest, PendingTask, PendingTaskId } from '../model/task.js';
import { missedAfterMillis, nextTime, plansAhead, readTimetable, type Timetable } from '../schedules/index.js';

export interface RequestToRun {
  request: Request;
  state: RequestState;
  /** Time at which its schedule was saved as it is. */
  scheduleSince?: number;
  /** Runs that its schedule has begun; counted where `maxRuns` bounds them. */
  startedRuns?: number;
}

export interface PlannedStart {
  /** Epoch milliseconds. */
  at: number;
  /** The time of the schedule; it may start later. Absent: the schedule did not ask for it. */
  scheduledAt?: number;
}

/** Start time of a task planned for `entry`; undefined when the schedule has no further run. */
export const nextRunAt = (...given: Parameters<typeof plannedStart>): number | undefined => plannedStart(...given)?.at;

/**
 * Start of a task planned for `entry`; undefined when the schedule has no further run. A task without anything to
 * wait for is due since it was requested, and so immediately, whatever the clock says later (`isDueAtOnce`).
 */
export function plannedStart(
  planned: RequestToRun,
  entry: Pick<PendingRequest, 'pendingType' | 'timestamp' | 'runAt'>,
  cooldownMinScheduleMillis: number,
  now: number,
): PlannedStart | undefined {
  const { request, state } = planned;
  let at = now;
  let scheduledAt: number | undefined;
  if (followsSchedule(request, entry)) {
    // A time of the schedule that was found before is that one, also when it has passed until now.
    const hit = entry.runAt ?? nextHit(planned, now);
    if (hit === undefined) return undefined;
    at = scheduledAt = hit;
  } else if (!isLongRunning(request.requestType) && entry.runAt !== undefined) at = Math.max(at, entry.runAt);
  const rest = request.waitAtLeastMillisAfterTaskFinishesForReschedule ?? 0;
  if (entry.pendingType === 'TASK_DONE' && rest > 0) at = Math.max(at, now + rest);
  if (state === 'SYSTEM_COOLDOWN' && entry.pendingType !== 'NEW_DEPLOY') {
    at = Math.max(at, now + cooldownMinScheduleMillis);
  }
  return { at: at > now ? at : Math.min(now, entry.timestamp), scheduledAt };
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

/** A planned run as it starts: one that is late runs for the newest of the times that passed until then. */
export function startedRun(pending: PendingTask, planned: RequestToRun, now: number): PendingTask {
  const { trigger, scheduledAt, pendingTaskId } = pending;
  if (trigger !== 'SCHEDULE' || scheduledAt === undefined || now - scheduledAt <= missedAfterMillis) return pending;
  if (plansAhead(planned.request) || !followsSchedule(planned.request, pendingTaskId)) return pending;
  const timetable = timetableOf(planned);
  // Few of the times of a busy schedule are gone through: the newest one is near.
  for (let span = missedAfterMillis; ; span *= 2) {
    const start = Math.max(scheduledAt, now - span);
    let newest: number | undefined;
    for (let at = nextTime(timetable, start); at !== undefined && at <= now; at = nextTime(timetable, at)) newest = at;
    if (newest !== undefined) return { ...pending, scheduledAt: newest };
    if (start === scheduledAt) return pending;
  }
}

const followsSchedule = ({ requestType }: Request, { pendingType }: Pick<PendingRequest, 'pendingType'>): boolean =>
  requestType === 'SCHEDULED' && pendingType !== 'IMMEDIATE' && pendingType !== 'RETRY' && pendingType !== 'BACKFILL';

function nextHit(planned: RequestToRun, now: number): number | undefined {
  return startsLeft(planned) > 0 ? nextTime(timetableOf(planned), now) : undefined;
}

/** The most runs that the schedule of a request may still begin. */
export const startsLeft = ({ request, startedRuns = 0 }: Pick<RequestToRun, 'request' | 'startedRuns'>): number =>
  request.maxRuns === undefined ? Number.POSITIVE_INFINITY : Math.max(0, request.maxRuns - startedRuns);

/** A run of a schedule whose number of runs is bounded; one that is tried again was counted before. */
export const isCountedStart = (
  { maxRuns }: Pick<Request, 'maxRuns'>,
  { trigger, pendingTaskId }: Pick<PendingTask, 'trigger' | 'pendingTaskId'>,
): boolean => maxRuns !== undefined && trigger === 'SCHEDULE' && pendingTaskId.pendingType !== 'RETRY';

/** The times of a request that is stored: they were checked when it was saved. */
export function timetableOf({ request, scheduleSince }: RequestToRun): Timetable {
  const timetable = readTimetable(request, scheduleSince);
  if (!('errors' in timetable)) return timetable;
  throw new Error(`Request '${request.id}' has no usable schedule: ${timetable.errors[0]?.message}`);
}
