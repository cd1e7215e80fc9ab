import {
  calendarDay,
  type CalendarDay,
  type ClockTime,
  dayMillis,
  dayNumber,
  dayOfYear,
  daySeconds,
  daysInYear,
  lastYear,
  modulo,
  nextMonth,
  secondMillis,
  TimeGrid,
} from './calendar.js';
import { type Recurrence, unitSeconds, type WeekdayPart } from './recurrence.js';

/** Readings of the clocks that belong together, in ascending order. They are not listed: there may be 31 million. */
export interface Unit {
  size: number;
  at(index: number): ClockTime;
}

/** Remaining steps of one search. */
export interface SearchBudget {
  left: number;
}

/** Goes through a recurrence from some reading on, skipping what cannot fire, until it is told to stop. */
export interface Units {
  from(time: ClockTime, budget: SearchBudget): Generator<Unit>;
}

/** Positions out of `size` that BYSETPOS names, as indices in ascending order. */
function places(positions: readonly number[], size: number): number[] {
  const indices = positions.map((position) => (position > 0 ? position - 1 : size + position));
  return [...new Set(indices)].filter((index) => index >= 0 && index < size).toSorted((a, b) => a - b);
}

function atPlaces(unit: Unit, positions: readonly number[] | undefined): Unit {
  if (!positions) return unit;
  const chosen = places(positions, unit.size);
  return { size: chosen.length, at: (index) => unit.at(chosen[index]!) };
}

const onDays = (days: readonly number[], times: TimeGrid): Unit => ({
  size: days.length * times.size,
  at: (index) => days[Math.floor(index / times.size)]! * dayMillis + times.at(index % times.size) * secondMillis,
});

interface Periods {
  indexOf(day: CalendarDay): number;
  firstDay(index: number): number;
}

function periodsOf({ frequency, weekStart }: Recurrence): Periods {
  if (frequency === 'YEARLY') return { indexOf: ({ year }) => year, firstDay: (year) => dayNumber(year, 1, 1) };
  if (frequency === 'MONTHLY') {
    return {
      indexOf: ({ year, month }) => year * 12 + month - 1,
      firstDay: (index) => dayNumber(Math.floor(index / 12), (index % 12) + 1, 1),
    };
  }
  if (frequency === 'DAILY') return { indexOf: ({ day }) => day, firstDay: (index) => index };
  // Day 0 was a Thursday, four days after Sunday.
  return {
    indexOf: ({ day }) => Math.floor((day + 4 - weekStart) / 7),
    firstDay: (index) => index * 7 - 4 + weekStart,
  };
}

/** Frequencies of a day and longer: a unit is a day, or with BYSETPOS a whole period. */
export class CalendarUnits implements Units {
  private readonly periods: Periods;
  private readonly firstPeriod: number;
  private readonly matches: (day: CalendarDay) => boolean;
  private readonly times: TimeGrid;
  private readonly months: ReadonlySet<number> | undefined;

  constructor(
    private readonly rule: Recurrence,
    start: ClockTime,
  ) {
    const startDay = calendarDay(Math.floor(start / dayMillis));
    this.periods = periodsOf(rule);
    this.firstPeriod = this.periods.indexOf(startDay);
    const complete = withPartsOfStart(rule, startDay);
    this.matches = dayTest(complete);
    this.months = complete.byMonth && new Set(complete.byMonth);
    const { hour, minute, second } = timeOfDay(start);
    this.times = new TimeGrid(rule.byHour ?? [hour], rule.byMinute ?? [minute], rule.bySecond ?? [second]);
  }

  *from(time: ClockTime, budget: SearchBudget): Generator<Unit> {
    for (let day = calendarDay(Math.floor(time / dayMillis)); day.year <= lastYear;) {
      if (budget.left-- <= 0) return;
      const period = this.periods.indexOf(day);
      const ahead = modulo(this.firstPeriod - period, this.rule.interval);
      if (ahead > 0) day = this.startOf(period + ahead);
      else if (this.rule.bySetPos) {
        yield atPlaces(onDays(this.daysOf(period, budget), this.times), this.rule.bySetPos);
        day = this.startOf(period + this.rule.interval);
      } else if (this.months && !this.months.has(day.month)) day = calendarDay(nextMonth(day));
      else {
        if (this.matches(day)) yield onDays([day.day], this.times);
        day = calendarDay(day.day + 1);
      }
    }
  }

  private startOf(period: number): CalendarDay {
    return calendarDay(this.periods.firstDay(period));
  }

  private daysOf(period: number, budget: SearchBudget): number[] {
    const days: number[] = [];
    const end = this.periods.firstDay(period + 1);
    for (let day = this.periods.firstDay(period); day < end; day++) {
      budget.left--;
      if (this.matches(calendarDay(day))) days.push(day);
    }
    return days;
  }
}

/** Frequencies below a day: a unit is an hour, a minute or a second. */
export class ClockUnits implements Units {
  /** Seconds of a unit. */
  readonly length: number;
  readonly first: number;
  /** No part restricts which hours, minutes or seconds there are: every `interval`-th unit is like the others. */
  readonly isUniform: boolean;
  /** Seconds from the beginning of a unit, in ascending order. */
  private readonly offsets: readonly number[];
  private readonly matches: (day: CalendarDay) => boolean;

  constructor(
    private readonly rule: Recurrence,
    start: ClockTime,
  ) {
    const { frequency, bySetPos, byMonth, byMonthDay, byYearDay, byDay, byHour, byMinute, bySecond } = rule;
    this.length = unitSeconds[frequency]!;
    this.first = Math.floor(start / secondMillis / this.length);
    this.matches = dayTest(rule);
    const { minute, second } = timeOfDay(start);
    const seconds = frequency === 'SECONDLY' ? [0] : (bySecond ?? [second]);
    const minutes = frequency === 'HOURLY' ? (byMinute ?? [minute]) : [0];
    const offsets = minutes.flatMap((each) => seconds.map((ofMinute) => each * 60 + ofMinute));
    this.offsets = bySetPos ? places(bySetPos, offsets.length).map((place) => offsets[place]!) : offsets;
    const ofSmallerUnits = [frequency !== 'HOURLY' && byMinute, frequency === 'SECONDLY' && bySecond];
    this.isUniform = [byMonth, byMonthDay, byYearDay, byDay, byHour, ...ofSmallerUnits].every((part) => !part);
  }

  *from(time: ClockTime, budget: SearchBudget): Generator<Unit> {
    const { interval } = this.rule;
    let today: CalendarDay | undefined;
    let todayMatches = false;
    for (let index = Math.floor(time / secondMillis / this.length); budget.left-- > 0;) {
      index += modulo(this.first - index, interval);
      const second = index * this.length;
      const day = Math.floor(second / daySeconds);
      if (today?.day !== day) {
        today = calendarDay(day);
        todayMatches = this.matches(today);
        if (!(today.year <= lastYear)) return;
      }
      const next = todayMatches ? this.skipped(modulo(second, daySeconds)) : this.toNextDay(today, second);
      if (next > 0) index += Math.ceil(next / this.length);
      else {
        yield this.unit(second);
        index += interval;
      }
    }
  }

  private toNextDay(today: CalendarDay, second: number): number {
    const { byMonth } = this.rule;
    const next = byMonth && !byMonth.includes(today.month) ? nextMonth(today) : today.day + 1;
    return next * daySeconds - second;
  }

  /** Seconds to skip from a unit that begins at an hour, minute or second which the rule does not name. */
  private skipped(ofDay: number): number {
    const { byHour, byMinute, bySecond } = this.rule;
    const hour = Math.floor(ofDay / 3_600);
    if (byHour && !byHour.includes(hour)) return next(byHour, hour, 24) * 3_600 - ofDay;
    if (this.length === 3_600) return 0;
    const minute = Math.floor(ofDay / 60) % 60;
    if (byMinute && !byMinute.includes(minute)) return hour * 3_600 + next(byMinute, minute, 60) * 60 - ofDay;
    const second = ofDay % 60;
    return this.length === 1 && bySecond && !bySecond.includes(second) ? next(bySecond, second, 60) - second : 0;
  }

  private unit(second: number): Unit {
    return { size: this.offsets.length, at: (index) => (second + this.offsets[index]!) * secondMillis };
  }
}

/** The next value of an ascending list, or the end of the range: of the day, of the hour. */
const next = (values: readonly number[], after: number, end: number): number =>
  values.find((value) => value > after) ?? end;

function timeOfDay(time: ClockTime): { hour: number; minute: number; second: number } {
  const seconds = Math.floor(modulo(time, dayMillis) / secondMillis);
  return { hour: Math.floor(seconds / 3_600), minute: Math.floor(seconds / 60) % 60, second: seconds % 60 };
}

type DayTest = (day: CalendarDay) => boolean;

/**
 * Test for the days that a rule names, whatever its interval. RFC 5545 defines for each frequency which parts expand
 * and which limit; seen day by day both come to the same: a day must agree with every part.
 */
function dayTest({ frequency, weekStart, byMonth, byMonthDay, byYearDay, byWeekNo, byDay }: Recurrence): DayTest {
  const tests: DayTest[] = [];
  if (byMonth) {
    const months = new Set(byMonth);
    tests.push(({ month }) => months.has(month));
  }
  if (byMonthDay) {
    const dates = new Set(byMonthDay);
    tests.push(({ date, daysInMonth }) => dates.has(date) || dates.has(date - daysInMonth - 1));
  }
  if (byYearDay) {
    const days = new Set(byYearDay);
    tests.push((day) => days.has(dayOfYear(day)) || days.has(dayOfYear(day) - daysInYear(day.year) - 1));
  }
  if (byWeekNo) {
    const weeks = new Set(byWeekNo);
    tests.push((day) => {
      const { week, ofWeeks } = weekOf(day, weekStart);
      return weeks.has(week) || weeks.has(week - ofWeeks - 1);
    });
  }
  if (byDay) tests.push(weekdayTest(byDay, frequency === 'YEARLY' && byMonth === undefined));
  return (day) => tests.every((test) => test(day));
}

/** Parts that are left out although a rule of its frequency needs them are those of the start. */
function withPartsOfStart(rule: Recurrence, start: CalendarDay): Recurrence {
  const { frequency, byMonth, byMonthDay, byYearDay, byWeekNo, byDay } = rule;
  if (frequency === 'WEEKLY' && !byDay) return { ...rule, byDay: [{ weekday: start.weekday }] };
  if (frequency === 'MONTHLY' && !byMonthDay && !byDay) return { ...rule, byMonthDay: [start.date] };
  if (frequency !== 'YEARLY' || byMonthDay || byYearDay || byDay) return rule;
  if (byWeekNo) return { ...rule, byDay: [{ weekday: start.weekday }] };
  return { ...rule, byMonth: byMonth ?? [start.month], byMonthDay: [start.date] };
}

function weekdayTest(parts: readonly WeekdayPart[], inYear: boolean): DayTest {
  const every = new Set(parts.filter(({ nth }) => nth === undefined).map(({ weekday }) => weekday));
  const numbered = parts.filter(({ nth }) => nth !== undefined);
  if (numbered.length === 0) return ({ weekday }) => every.has(weekday);
  return (day) => {
    const position = inYear ? dayOfYear(day) : day.date;
    const length = inYear ? daysInYear(day.year) : day.daysInMonth;
    const fromStart = Math.ceil(position / 7);
    const fromEnd = -Math.ceil((length - position + 1) / 7);
    return (
      every.has(day.weekday) ||
      numbered.some(({ weekday, nth }) => weekday === day.weekday && (nth === fromStart || nth === fromEnd))
    );
  };
}

/** Weeks belong to the year that has at least four of their days, and so does their number. */
function weekOf({ day, weekday }: CalendarDay, weekStart: number): { week: number; ofWeeks: number } {
  const fourthDay = day - modulo(weekday - weekStart, 7) + 3;
  const middle = calendarDay(fourthDay);
  const weekNumber = (of: CalendarDay): number => Math.ceil(dayOfYear(of) / 7);
  // 28 December is always in the last week of its year.
  const last = calendarDay(dayNumber(middle.year, 12, 28));
  const fourthOfLast = calendarDay(last.day - modulo(last.weekday - weekStart, 7) + 3);
  return { week: weekNumber(middle), ofWeeks: weekNumber(fourthOfLast) };
}
