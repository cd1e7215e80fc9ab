import {
  calendarDay,
  type CalendarDay,
  type ClockTime,
  type ClockTimes,
  dayMillis,
  dayNumber,
  daySeconds,
  lastYear,
  maxSteps,
  nextMonth,
  secondMillis,
  TimeGrid,
} from './calendar.js';

/** Rule for the days of a month. Weekdays are 0 (Sunday) to 6. */
type DayRule =
  | { kind: 'dates'; dates: number[] }
  /** L, or L-3: days before the last one of the month. */
  | { kind: 'lastDate'; daysBefore: number }
  /** LW: the last Monday-to-Friday of the month. */
  | { kind: 'lastWorkday' }
  /** 15W: the Monday-to-Friday nearest to that date, within the month. */
  | { kind: 'nearestWorkday'; date: number }
  | { kind: 'weekdays'; weekdays: number[] }
  | { kind: 'nthWeekday'; weekday: number; nth: number }
  | { kind: 'lastOfWeekday'; weekday: number };

/** A Quartz expression, every field spelled out. */
export interface QuartzSchedule {
  seconds: number[];
  minutes: number[];
  hours: number[];
  months: number[];
  /** undefined: every year. */
  years?: number[];
  day: DayRule;
}

interface FieldKind {
  name: string;
  min: number;
  max: number;
  names?: readonly string[];
  /** Ranges such as 22-2 or FRI-MON run over the end. */
  wraps: boolean;
}

export const weekdayNames = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'] as const;
const monthNames = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'] as const;

const seconds: FieldKind = { name: 'seconds', min: 0, max: 59, wraps: true };
const minutes: FieldKind = { name: 'minutes', min: 0, max: 59, wraps: true };
const hours: FieldKind = { name: 'hours', min: 0, max: 23, wraps: true };
const dates: FieldKind = { name: 'day of month', min: 1, max: 31, wraps: true };
const months: FieldKind = { name: 'month', min: 1, max: 12, names: monthNames, wraps: true };
const weekdays: FieldKind = { name: 'day of week', min: 1, max: 7, names: weekdayNames, wraps: true };
const years: FieldKind = { name: 'year', min: 1970, max: 2099, wraps: false };

type Fields = [string, string, string, string, string, string, string?];

class UnreadableField extends Error {}

/** Returns a sentence that names the field and the rule for a wrong expression. */
export function parseQuartz(expression: string): QuartzSchedule | { error: string } {
  const fields = expression.trim().toUpperCase().split(/\s+/);
  if (fields.length < 6 || fields.length > 7) {
    return {
      error: `a Quartz expression has 6 or 7 fields, '${expression}' has ${expression.trim() ? fields.length : 0}`,
    };
  }
  const [second, minute, hour, date, month, weekday, year] = fields as Fields;
  if ((date === '?') === (weekday === '?')) {
    return { error: `exactly one of day of month and day of week must be '?' in '${expression}'` };
  }
  try {
    return {
      seconds: readList(second, seconds),
      minutes: readList(minute, minutes),
      hours: readList(hour, hours),
      months: readList(month, months),
      years: year === undefined || year === '*' ? undefined : readList(year, years),
      day: weekday === '?' ? readDates(date) : readWeekdays(weekday),
    };
  } catch (cause) {
    if (cause instanceof UnreadableField) return { error: `${cause.message} in '${expression}'` };
    throw cause;
  }
}

function readDates(field: string): DayRule {
  if (field === 'LW') return { kind: 'lastWorkday' };
  const last = /^L(?:-(\d{1,2}))?$/.exec(field);
  if (last) {
    const daysBefore = Number(last[1] ?? 0);
    if (daysBefore > 30) throw new UnreadableField(`day of month: 'L-${daysBefore}' is before the month`);
    return { kind: 'lastDate', daysBefore };
  }
  const workday = /^(\d{1,2})W$/.exec(field);
  if (workday) return { kind: 'nearestWorkday', date: readNumber(workday[1]!, dates) };
  if (/[LW]/.test(field)) throw new UnreadableField(`day of month: 'L' and 'W' must stand alone`);
  return { kind: 'dates', dates: readList(field, dates) };
}

function readWeekdays(field: string): DayRule {
  if (field === 'L') return { kind: 'weekdays', weekdays: [6] };
  const last = /^([A-Z]{3}|\d)L$/.exec(field);
  if (last) return { kind: 'lastOfWeekday', weekday: readNumber(last[1]!, weekdays) - 1 };
  const nth = /^([A-Z]{3}|\d+)#(\d+)$/.exec(field);
  if (nth) {
    const count = Number(nth[2]);
    if (count < 1 || count > 5) throw new UnreadableField(`day of week: '#' must be followed by 1 to 5`);
    return { kind: 'nthWeekday', weekday: readNumber(nth[1]!, weekdays) - 1, nth: count };
  }
  if (field.includes('#')) throw new UnreadableField(`day of week: '#' must stand alone`);
  return { kind: 'weekdays', weekdays: readList(field, weekdays).map((day) => day - 1) };
}

/** A comma list of values, ranges and steps, as sorted numbers. */
function readList(field: string, kind: FieldKind): number[] {
  const values = new Set(field.split(',').flatMap((item) => readItem(item, kind)));
  return [...values].toSorted((a, b) => a - b);
}

function readItem(item: string, kind: FieldKind): number[] {
  const match = /^(\*|[A-Z0-9]+(?:-[A-Z0-9]+)?)?(?:\/(\d+))?$/.exec(item);
  if (!match || item === '') throw new UnreadableField(`${kind.name}: cannot read '${item}'`);
  const [, base = '*', stepText] = match;
  const step = stepText === undefined ? 1 : Number(stepText);
  if (step < 1 || step > kind.max) throw new UnreadableField(`${kind.name}: step ${step} must be 1 to ${kind.max}`);
  const [first, last] = readBounds(base, stepText !== undefined, kind);
  const size = kind.max - kind.min + 1;
  // A range that ends before it starts runs over the end: 22-2 is 22, 23, 0, 1, 2.
  const end = last >= first ? last : last + size;
  const values: number[] = [];
  for (let value = first; value <= end; value += step) values.push(kind.min + ((value - kind.min) % size));
  return values;
}

function readBounds(base: string, stepped: boolean, kind: FieldKind): [number, number] {
  if (base === '*') return [kind.min, kind.max];
  const [from, to] = base.split('-') as [string, string | undefined];
  const first = readNumber(from, kind);
  // 5/10 counts from 5 to the end of the field.
  const last = to !== undefined ? readNumber(to, kind) : stepped ? kind.max : first;
  if (last < first && !kind.wraps) throw new UnreadableField(`${kind.name}: range '${base}' ends before it starts`);
  return [first, last];
}

function readNumber(text: string, kind: FieldKind): number {
  const named = kind.names?.indexOf(text) ?? -1;
  const value = named >= 0 ? kind.min + named : /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= kind.min && value <= kind.max)) {
    throw new UnreadableField(`${kind.name}: '${text}' must be ${kind.min} to ${kind.max}`);
  }
  return value;
}

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
    for (let look = 0, next = day; look < maxSteps; look++) {
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
