import { dayMillis, modulo } from './clock-times.js';

/** A date, with what schedules ask of it. */
export interface CalendarDay {
  /** Days since 1970-01-01. */
  day: number;
  year: number;
  /** 1 to 12. */
  month: number;
  /** Of the month, from 1. */
  date: number;
  /** 0 (Sunday) to 6. */
  weekday: number;
  daysInMonth: number;
}

/** Days since 1970-01-01. Months and dates may run over: month 13 is January of the next year. */
export const dayNumber = (year: number, month: number, date: number): number =>
  Date.UTC(year, month - 1, date) / dayMillis;

/** 1970-01-01 was a Thursday. */
export const weekdayOf = (day: number): number => modulo(day + 4, 7);

export function calendarDay(day: number): CalendarDay {
  const time = new Date(day * dayMillis);
  const year = time.getUTCFullYear();
  const month = time.getUTCMonth() + 1;
  return { day, year, month, date: time.getUTCDate(), weekday: weekdayOf(day), daysInMonth: daysInMonth(year, month) };
}

const isLeapYear = (year: number): boolean => (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;

export const daysInYear = (year: number): number => (isLeapYear(year) ? 366 : 365);

export function daysInMonth(year: number, month: number): number {
  if (month === 2) return isLeapYear(year) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

/** From 1. */
export const dayOfYear = ({ day, year }: CalendarDay): number => day - dayNumber(year, 1, 1) + 1;

/** The first day of the month after this one. */
export const nextMonth = ({ day, date, daysInMonth: length }: CalendarDay): number => day - date + length + 1;
