import type { ClockTime } from './calendar.js';

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
  /** undefined: it starts when it is saved. */
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

/** Thrown inside this directory only: the parser answers its message. */
export class UnreadableRule extends Error {}

/** "20260131T060000", with "Z" for UTC, or without a time of day. */
export function readDate(name: string, text: string): GivenDate {
  const match = /^(\d{4})(\d{2})(\d{2})(?:T(\d{2})(\d{2})(\d{2})(Z)?)?$/i.exec(text);
  const [year, month, date, hour = 0, minute = 0, second = 0] = (match ?? [])
    .slice(1, 7)
    .map((each) => Number(each ?? 0));
  const clock = match ? Date.UTC(year!, month! - 1, date, hour, minute, second) : Number.NaN;
  const isReal = match !== null && hour < 24 && minute < 60 && second < 60 && sameDate(clock, year!, month!, date!);
  if (!isReal) {
    throw new UnreadableRule(`${name}: '${text}' must be a date such as 20260131T060000`);
  }
  return { clock, isUtc: match[7] !== undefined, isWholeDay: match[4] === undefined };
}

function sameDate(clock: number, year: number, month: number, date: number): boolean {
  const read = new Date(clock);
  return read.getUTCFullYear() === year && read.getUTCMonth() + 1 === month && read.getUTCDate() === date;
}

/** A comma list of whole numbers, in ascending order. Where they may count from the end they may not be 0. */
export function readNumbers(name: string, text: string, min: number, max: number): number[] {
  const numbers = text.split(',').map((item) => {
    const number = /^[+-]?\d{1,4}$/.test(item) ? Number(item) : Number.NaN;
    if (!(number >= min && number <= max) || (min < 0 && number === 0)) {
      const range = min < 0 ? `1 to ${max} or ${min} to -1` : `${min} to ${max}`;
      throw new UnreadableRule(`${name}: '${item}' must be ${range}`);
    }
    return number;
  });
  return [...new Set(numbers)].toSorted((a, b) => a - b);
}
