import { calendarDay, dayNumber, nextMonth, type CalendarDay } from './calendar.js';
import {
  dayMillis,
  daySeconds,
  lastYear,
  maxLooks,
  secondMillis,
  TimeGrid,
  type ClockTime,
  type ClockTimes,
} from './clock-times.js';
import type { DayRule, QuartzSchedule } from './quartz-parser.js';

/** The clock readings that a Quartz expression names. */
export class QuartzTimes implements ClockTimes {
  readonly everyHour: boolean;
  private readonly times: TimeGrid;
  private readonly months: ReadonlySet<number>;
  private readonly matchesDay: (day: CalendarDay) => boolean;

  constructor(private readonly schedule: QuartzSchedule) {
    this.everyHour = schedule.hours.length === 24;
    this.times = new TimeGrid(schedule.hours, schedule.minutes, schedule.seconds);
    this.months = new Set(schedule.months);
    this.matchesDay = dayRule(schedule.day);
  }

  after(time: ClockTime): ClockTime | undefined {
    const second = Math.floor(time / secondMillis) + 1;
    const today = Math.floor(time / dayMillis);
    const first = this.dayFrom(today);
    if (first === undefined) return undefined;
    const found = first === today ? this.times.firstFrom(second - today * daySeconds) : this.times.at(0);
    if (found !== undefined) return first * dayMillis + found * secondMillis;
    const next = this.dayFrom(today + 1);
    return next === undefined ? undefined : next * dayMillis + this.times.at(0) * secondMillis;
  }

  /** The first day at or after `day` on which the schedule fires. */
  private dayFrom(day: number): number | undefined {
    const { years } = this.schedule;
    for (let look = 0, next = day; look < maxLooks; look++) {
      const date = calendarDay(next);
      const year = years ? years.find((each) => each >= date.year) : date.year;
      if (year === undefined || year > lastYear) return undefined;
      if (year !== date.year) next = dayNumber(year, 1, 1);
      else if (!this.months.has(date.month)) next = nextMonth(date);
      else if (this.matchesDay(date)) return next;
      else next++;
    }
    return undefined;
  }
}

function dayRule(rule: DayRule): (day: CalendarDay) => boolean {
  switch (rule.kind) {
    case 'dates': {
      const dates = new Set(rule.dates);
      return ({ date }) => dates.has(date);
    }
    case 'lastDate':
      return ({ date, daysInMonth }) => date === daysInMonth - rule.daysBefore;
    case 'lastWorkday':
      return (day) => day.date === nearestWorkday(day, day.daysInMonth);
    case 'nearestWorkday':
      return (day) => rule.date <= day.daysInMonth && day.date === nearestWorkday(day, rule.date);
    case 'weekdays': {
      const weekdays = new Set(rule.weekdays);
      return ({ weekday }) => weekdays.has(weekday);
    }
    case 'nthWeekday':
      return ({ weekday, date }) => weekday === rule.weekday && Math.ceil(date / 7) === rule.nth;
    case 'lastOfWeekday':
      return ({ weekday, date, daysInMonth }) => weekday === rule.weekday && date + 7 > daysInMonth;
  }
}

/** The Monday-to-Friday nearest to a date of the month that `day` is in, without leaving that month. */
function nearestWorkday(day: CalendarDay, date: number): number {
  const { weekday } = calendarDay(day.day - day.date + date);
  if (weekday === 6) return date === 1 ? 3 : date - 1;
  if (weekday === 0) return date === day.daysInMonth ? date - 2 : date + 1;
  return date;
}
