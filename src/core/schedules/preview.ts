import type { TimeInZone } from '../model/request.js';
import { timeIn } from './next-times.js';
import { plannedTimes, type Timetable } from './timetable.js';

/** A time that a schedule names. */
export interface PreviewedTime extends TimeInZone {
  /** Reason why no run starts at it; absent: one does. */
  skipped?: 'EXCLUDED';
  /** The reason in words. */
  message?: string;
}

/** Reason why there are no times after the last one that is told: as many as were asked for, else an end of the schedule. */
export const previewEnds = ['COUNT', 'MAX_RUNS', 'END_AT', 'NO_FURTHER_TIME'] as const;
export type PreviewEnd = (typeof previewEnds)[number];

export interface SchedulePreview {
  times: PreviewedTime[];
  end: PreviewEnd;
}

/** The next times after `after`, those without a run among them. */
export function previewTimes(
  timetable: Timetable,
  { after, count, maxRuns = Number.POSITIVE_INFINITY }: { after: number; count: number; maxRuns?: number },
): SchedulePreview {
  const times: PreviewedTime[] = [];
  let runs = 0;
  for (const { at, timeZone, exclusion } of plannedTimes(timetable, after)) {
    if (runs >= maxRuns) return { times, end: 'MAX_RUNS' };
    if (times.length >= count) return { times, end: 'COUNT' };
    const time = timeIn(timeZone, at);
    if (exclusion) {
      const until = new Date(exclusion.until).toISOString();
      times.push({
        ...time,
        skipped: 'EXCLUDED',
        message: `exclusions.${exclusion.index} has nothing start before ${until}`,
      });
    } else {
      times.push(time);
      runs += 1;
    }
  }
  const last = times.at(-1)?.at ?? after;
  const unbounded = plannedTimes({ ...timetable, endAt: Number.POSITIVE_INFINITY }, last);
  return { times, end: unbounded.next().done ? 'NO_FURTHER_TIME' : 'END_AT' };
}
