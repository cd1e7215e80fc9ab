import { Cron } from 'croner';
import type { DayRule, QuartzSchedule } from './quartz-parser.js';

/** After this many candidates without a hit the schedule has none: L-30 falls on a 31-day month every other month. */
const maxCandidates = 1_000;

/**
 * The first hit strictly after `after`, or undefined when there is none left.
 * A fixed time that daylight saving skips runs right after the gap, one that occurs twice runs once; schedules that
 * repeat within an hour run through both.
 */
export function nextQuartzHit(schedule: QuartzSchedule, timeZone: string, after: number): number | undefined {
  const cron = new Cron(cronerPattern(schedule), { timezone: timeZone, paused: true, mode: '7-part' });
  let candidate = cron.nextRun(new Date(after));
  if (schedule.day.kind !== 'lastDate' || schedule.day.daysBefore === 0) return candidate?.getTime();
  for (let tried = 0; candidate && tried < maxCandidates; tried++) {
    if (isDaysBeforeLast(candidate, timeZone, schedule.day.daysBefore)) return candidate.getTime();
    candidate = cron.nextRun(candidate);
  }
  return undefined;
}

function cronerPattern(schedule: QuartzSchedule): string {
  const { dates, weekdays } = dayFields(schedule.day);
  return [
    list(schedule.seconds, 60),
    list(schedule.minutes, 60),
    list(schedule.hours, 24),
    dates,
    list(schedule.months, 12),
    weekdays,
    schedule.years ? schedule.years.join(',') : '*',
  ].join(' ');
}

/** '*' rather than all values: the library treats repeating and fixed times differently around daylight saving. */
const list = (values: number[], all: number): string => (values.length === all ? '*' : values.join(','));

function dayFields(day: DayRule): { dates: string; weekdays: string } {
  switch (day.kind) {
    case 'dates':
      return { dates: list(day.dates, 31), weekdays: '*' };
    case 'lastDate':
      // The library knows only L itself; for L-3 it gives all dates this can be and each is looked at.
      return { dates: day.daysBefore === 0 ? 'L' : datesBeforeLast(day.daysBefore), weekdays: '*' };
    case 'lastWorkday':
      return { dates: 'LW', weekdays: '*' };
    case 'nearestWorkday':
      return { dates: `${day.date}W`, weekdays: '*' };
    case 'weekdays':
      return { dates: '*', weekdays: list(day.weekdays, 7) };
    case 'nthWeekday':
      return { dates: '*', weekdays: `${day.weekday}#${day.nth}` };
    case 'lastOfWeekday':
      return { dates: '*', weekdays: `${day.weekday}L` };
  }
}

const datesBeforeLast = (daysBefore: number): string =>
  [28, 29, 30, 31]
    .map((length) => length - daysBefore)
    .filter((date) => date >= 1)
    .join(',');

function isDaysBeforeLast(time: Date, timeZone: string, daysBefore: number): boolean {
  const parts = new Intl.DateTimeFormat('en-u-ca-gregory-nu-latn', {
    timeZone,
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
  }).formatToParts(time);
  const part = (type: string): number => Number(parts.find((each) => each.type === type)?.value);
  const lastDate = new Date(Date.UTC(part('year'), part('month'), 0)).getUTCDate();
  return part('day') === lastDate - daysBefore;
}
