import { nextPlanned, readTimetable, type TimetableFields } from './timetable.js';

/** A run that a schedule asks for. */
export interface UpcomingRun {
  requestId: string;
  /** Epoch milliseconds. */
  at: number;
  /** The zone of the schedule. */
  timeZone: string;
}

export interface RunWindow {
  /** The first millisecond of it. */
  from: number;
  /** The first millisecond behind it. */
  to: number;
}

/** Bounds of one schedule within the window. */
export interface ScheduleLife {
  /** When a rule that names no start was saved. */
  since?: number;
  /** Since when the schedule is as it is: it asked for nothing before. */
  asItIsSince: number;
  /** The most runs that its request may still begin; absent: any number. */
  startsLeft?: number;
}

const inOrder = (a: UpcomingRun, b: UpcomingRun): number =>
  a.at - b.at || (a.requestId < b.requestId ? -1 : a.requestId > b.requestId ? 1 : 0);

/**
 * The earliest runs of many schedules within a window. Schedules are added one by one, so that a caller can let others have their
 * turn in between. As soon as there are more runs than are wanted, the window ends with the last of those that are kept: a thousand
 * schedules of every second cost little more than one.
 */
export class EarliestRuns {
  private runs: UpcomingRun[] = [];
  private to: number;

  constructor(
    private readonly window: RunWindow,
    private readonly most: number,
  ) {
    this.to = window.to;
  }

  /** Times that cannot be read ask for nothing. `startsLeft`: the most runs that the request may still begin. */
  add(
    requestId: string,
    fields: TimetableFields,
    { since, asItIsSince, startsLeft = Number.POSITIVE_INFINITY }: ScheduleLife,
  ): void {
    const timetable = readTimetable(fields, since);
    if ('errors' in timetable) return;
    let next = nextPlanned(timetable, Math.max(this.window.from, asItIsSince) - 1);
    // One more than is wanted tells that there are more.
    const most = Math.min(this.most + 1, startsLeft);
    for (let count = 0; next !== undefined && next.at < this.to && count < most; count++) {
      this.runs.push({ requestId, ...next });
      next = nextPlanned(timetable, next.at);
    }
    if (this.runs.length > 2 * (this.most + 1)) this.trim();
  }

  /** In the order of their times; `isComplete`: there are no further ones in the window. */
  result(): { runs: UpcomingRun[]; isComplete: boolean } {
    const runs = this.runs.toSorted(inOrder);
    return { runs: runs.slice(0, this.most), isComplete: runs.length <= this.most };
  }

  private trim(): void {
    this.runs = this.runs.sort(inOrder).slice(0, this.most + 1);
    this.to = this.runs.at(-1)!.at + 1;
  }
}
