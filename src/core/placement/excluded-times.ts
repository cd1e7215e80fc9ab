import { deployKeyText } from '../model/deploy.js';
import type { Request } from '../model/request.js';
import type { PendingTask } from '../model/task.js';
import { isBesideSchedule } from '../pending-work/index.js';
import { exclusionAt, readTimetable } from '../schedules/index.js';
import type { RequestView } from './snapshot.js';

/** Requests that exclude one time. Each is read once, however many of its runs are due. */
export class ExcludedTimes {
  private readonly known = new Map<string, boolean>();

  constructor(private readonly now: number) {}

  /** Whoever asks for a run gets it at any time. Those of the schedule wait, also to be tried again. */
  hold(
    { pendingTaskId, trigger = 'SCHEDULE' }: PendingTask,
    request: Request,
    { scheduleSince }: RequestView,
  ): boolean {
    if (!request.exclusions || (trigger !== 'SCHEDULE' && trigger !== 'RETRY')) return false;
    if (pendingTaskId.pendingType === 'IMMEDIATE' || isBesideSchedule(pendingTaskId)) return false;
    // A deploy may bring its own version of the request.
    const key = deployKeyText(pendingTaskId);
    const known = this.known.get(key) ?? this.isExcluded(request, scheduleSince);
    this.known.set(key, known);
    return known;
  }

  private isExcluded(request: Request, since: number | undefined): boolean {
    const timetable = readTimetable(request, since);
    return !('errors' in timetable) && exclusionAt(timetable, this.now) !== undefined;
  }
}
