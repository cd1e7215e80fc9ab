import { nextRun, readSchedule, type ScheduleFields } from '../../../../src/core/schedules/index.js';

/** Message of the pause there, so that a later run of the program knows whose pause it was. */
export const handOverMessage = 'Handed over to Muster';

/** A job as the original describes it, paused there and without a running task. The times are of its clock. */
export interface RestingJob {
  /** The newest changes of the request. */
  events: readonly { createdAt: number; eventType: string; message?: string }[];
  /** The newest of its tasks, which have all ended. */
  tasks: readonly { startedAt: number; endedAt: number }[];
  deployedAt?: number;
}

/**
 * Up to when the original has seen to the times of a schedule, and from when the planning here goes on: there a rule that names no
 * start starts each time it plans, so here it starts then. What comes due in the pause of an operator is not wanted.
 */
export function plannedUpTo(job: RestingJob, now: number): number {
  const [pause, before] = job.events.toSorted((a, b) => b.createdAt - a.createdAt);
  // It plans anew after each change, from then on.
  const planned = [before?.createdAt ?? pause?.createdAt ?? now, job.deployedAt ?? 0];
  const seenTo = Math.max(...planned, ...job.tasks.flatMap(({ startedAt, endedAt }) => [startedAt, endedAt]));
  const isHandOver = pause?.eventType === 'PAUSED' && pause.message === handOverMessage;
  return isHandOver ? seenTo : Math.max(seenTo, now);
}

/**
 * The first time of a schedule that the original has not seen to, so that no time is run twice and none is lost between there
 * and here; it may have passed. What came due while a run was in progress the original leaves out, and so it is left out here.
 * Its own clock says until when that was: whether that of this side is ahead or behind does not matter.
 */
export function nextSlot(schedule: ScheduleFields, job: RestingJob, now: number): number | undefined {
  const from = plannedUpTo(job, now);
  const spec = readSchedule(schedule, from);
  return 'errors' in spec ? undefined : nextRun(spec, from);
}
