import type { ClockTime } from './clock-times.js';

export const frequencies = ['YEARLY', 'MONTHLY', 'WEEKLY', 'DAILY', 'HOURLY', 'MINUTELY', 'SECONDLY'] as const;
export type Frequency = (typeof frequencies)[number];

/** Seconds of the units below a day. */
export const unitSeconds: Partial<Record<Frequency, number>> = { HOURLY: 3_600, MINUTELY: 60, SECONDLY: 1 };

/** An RFC 5545 recurrence rule with its start and its exceptions. Lists are in ascending order. */
export interface Recurrence {
  frequency: Frequency;
  interval: number;
  count?: number;
  /** The last reading of the clocks at which it may fire. */
  untilClock?: ClockTime;
  /** The last instant, epoch milliseconds, at which it may fire. */
  untilInstant?: number;
  /** undefined: it starts whenever somebody asks. */
  start?: ClockTime;
  /** The zone that DTSTART names. */
  timeZone?: string;
  /** 0 is Sunday. */
  weekStart: number;
  bySecond?: number[];
  byMinute?: number[];
  byHour?: number[];
  byDay?: WeekdayPart[];
  byMonthDay?: number[];
  byYearDay?: number[];
  byWeekNo?: number[];
  byMonth?: number[];
  bySetPos?: number[];
  extraDates: readonly GivenDate[];
  exceptDates: readonly GivenDate[];
}

export interface WeekdayPart {
  /** 0 is Sunday. */
  weekday: number;
  /** The n-th of the month or year, counted from its end when negative. */
  nth?: number;
}

/** A date as it was written: in the schedule's zone unless it says that it is UTC. */
export interface GivenDate {
  clock: ClockTime;
  isUtc: boolean;
  /** Without a time of day. */
  isWholeDay: boolean;
}
