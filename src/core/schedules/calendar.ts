/** A date, with what schedules ask of it. */
export interface CalendarDay {
  /** Days since 1970-01-01. */
  day: number;
  year: number;
  /** 1 to 12. */
  month: number;
  /** Day of the month, from 1. */
  date: number;
  /** 0 (Sunday) to 6. */
  weekday: number;
  daysInMonth: number;
}

/** Days since 1970-01-01. Months and dates may run over: month 13 is January of the next year. */
export const dayNumber = (year: number, month: number, date: number): number =>
  Date.UTC(year, month - 1, date) / dayMillis;

/** 1970-01-01 was a Thursday. */
const weekdayOf = (day: number): number => modulo(day + 4, 7);

export function calendarDay(day: number): CalendarDay {
  const time = new Date(day * dayMillis);
  const year = time.getUTCFullYear();
  const month = time.getUTCMonth() + 1;
  return { day, year, month, date: time.getUTCDate(), weekday: weekdayOf(day), daysInMonth: daysInMonth(year, month) };
}

const isLeapYear = (year: number): boolean => (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;

export const daysInYear = (year: number): number => (isLeapYear(year) ? 366 : 365);

function daysInMonth(year: number, month: number): number {
  if (month === 2) return isLeapYear(year) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

/** From 1. */
export const dayOfYear = ({ day, year }: CalendarDay): number => day - dayNumber(year, 1, 1) + 1;

/** The first day of the month after this one. */
export const nextMonth = ({ day, date, daysInMonth: length }: CalendarDay): number => day - date + length + 1;

/**
 * Reading of a wall clock, as milliseconds since it showed 1970-01-01T00:00. Schedules are worked out on such readings,
 * which know no daylight saving; `time-zones.ts` alone maps them to instants.
 */
export type ClockTime = number;

/** The readings at which a schedule fires. */
export interface ClockTimes {
  /** It fires within every hour of its days, so it follows the hours that pass, not those that the clock shows. */
  readonly everyHour: boolean;
  /** The first one strictly after `time`; undefined when there is none. */
  after(time: ClockTime): ClockTime | undefined;
}

export const secondMillis = 1_000;
export const dayMillis = 86_400_000;
export const daySeconds = 86_400;

/** Remainder that is never negative. */
export const modulo = (value: number, divisor: number): number => ((value % divisor) + divisor) % divisor;

/**
 * Limit of the days or periods that one search may check. It covers every February of 700 years and every day of 54, in
 * a few milliseconds: expressions come from users, and one that never fires must not hold up the others.
 */
export const maxSteps = 20_000;
export const lastYear = 9_999;

/** The times of a day: every combination of these hours, minutes and seconds, each list in ascending order. */
export class TimeGrid {
  readonly size: number;

  constructor(
    private readonly hours: readonly number[],
    private readonly minutes: readonly number[],
    private readonly seconds: readonly number[],
  ) {
    this.size = hours.length * minutes.length * seconds.length;
  }

  /** The `index`-th time, in seconds of the day. */
  at(index: number): number {
    const perHour = this.minutes.length * this.seconds.length;
    const hour = this.hours[Math.floor(index / perHour)]!;
    const minute = this.minutes[Math.floor((index % perHour) / this.seconds.length)]!;
    return hour * 3_600 + minute * 60 + this.seconds[index % this.seconds.length]!;
  }

  /** The first time at or after a second of the day. */
  firstFrom(second: number): number | undefined {
    if (second >= daySeconds) return undefined;
    const index = firstIndex(this.size, (each) => this.at(each) >= second);
    return index < this.size ? this.at(index) : undefined;
  }
}

/** The first index below `size` for which an ascending condition holds, else `size`. */
export function firstIndex(size: number, holds: (index: number) => boolean): number {
  let low = 0;
  let high = size;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
