import { calendarDay, dayNumber, dayOfYear, daysInYear, type CalendarDay } from './calendar.js';
import { modulo } from './clock-times.js';
import type { Recurrence, WeekdayPart } from './recurrence.js';

type DayTest = (day: CalendarDay) => boolean;

/**
 * Which days a rule names, whatever its interval. RFC 5545 tells for each frequency which parts expand and which limit;
 * seen day by day both come to the same: a day must agree with every part.
 */
export function dayTest({
  frequency,
  weekStart,
  byMonth,
  byMonthDay,
  byYearDay,
  byWeekNo,
  byDay,
}: Recurrence): DayTest {
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
export function withPartsOfStart(rule: Recurrence, start: CalendarDay): Recurrence {
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
