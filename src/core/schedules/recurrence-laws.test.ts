import fc from 'fast-check';
import { RRuleTemporal } from 'rrule-temporal';
import { describe, expect, test } from 'vitest';
import { frequencies } from './recurrence.js';
import { parseRecurrence } from './recurrence-parser.js';
import { nextRun, readSchedule, type ScheduleSpec } from './index.js';

/* Rules are checked against rrule-temporal in UTC, where daylight saving has no say. */

const someOf = (min: number, max: number, most = 4): fc.Arbitrary<string> =>
  fc
    .uniqueArray(
      fc.integer({ min, max }).filter((value) => min >= 0 || value !== 0),
      { minLength: 1, maxLength: most },
    )
    .map((values) => values.join(','));
const maybe = (name: string, values: fc.Arbitrary<string>, share = 3): fc.Arbitrary<string> =>
  fc.option(values, { nil: '', freq: share }).map((value) => (value === '' ? '' : `;${name}=${value}`));
const weekdays = fc.uniqueArray(fc.constantFrom('MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU'), {
  minLength: 1,
  maxLength: 4,
});
const numberedWeekdays = fc
  .array(fc.tuple(fc.constantFrom('1', '2', '-1', '5'), fc.constantFrom('MO', 'FR', 'SU')), {
    minLength: 1,
    maxLength: 3,
  })
  .map((days) => [...new Set(days.map(([nth, day]) => `${nth}${day}`))].join(','));

const anyRule = fc
  .record({
    frequency: fc.constantFrom(...frequencies),
    interval: fc.constantFrom(1, 1, 1, 2, 3, 5, 7, 45, 90),
    month: maybe('BYMONTH', someOf(1, 12)),
    monthDay: maybe('BYMONTHDAY', someOf(-31, 31)),
    yearDay: maybe('BYYEARDAY', someOf(-366, 366, 8), 1),
    plainDays: maybe(
      'BYDAY',
      weekdays.map((days) => days.join(',')),
    ),
    numberedDays: maybe('BYDAY', numberedWeekdays),
    hour: maybe('BYHOUR', someOf(0, 23)),
    minute: maybe('BYMINUTE', someOf(0, 59)),
    second: maybe('BYSECOND', someOf(0, 59), 1),
    position: maybe('BYSETPOS', someOf(-3, 3, 2), 1),
    count: maybe('COUNT', fc.integer({ min: 1, max: 30 }).map(String), 1),
    weekStart: maybe('WKST', fc.constantFrom('SU', 'MO', 'WE'), 1),
  })
  .map((parts) => {
    const { frequency } = parts;
    // The library forgets BYMONTHDAY, BYYEARDAY and weekdays without a number beside numbered ones.
    const mayNumber = frequency === 'MONTHLY' || frequency === 'YEARLY';
    const isNumbered = mayNumber && parts.monthDay === '' && parts.yearDay === '';
    return [
      `FREQ=${frequency};INTERVAL=${parts.interval}`,
      parts.month,
      frequency === 'WEEKLY' ? '' : parts.monthDay,
      ['DAILY', 'WEEKLY', 'MONTHLY'].includes(frequency) ? '' : parts.yearDay,
      isNumbered ? parts.numberedDays : parts.plainDays,
      parts.hour,
      parts.minute,
      parts.second,
      parts.position,
      parts.count,
      parts.weekStart,
    ].join('');
  })
  .filter((rule) => !('error' in parseRecurrence(rule)));

const starts = fc
  .integer({ min: Date.UTC(2019, 0) / 1_000, max: Date.UTC(2025, 0) / 1_000 })
  .map((second) => new Date(second * 1_000).toISOString().replaceAll(/[-:]|\.\d+Z/g, ''));

function read(schedule: string, scheduleTimeZone = 'UTC'): ScheduleSpec {
  const spec = readSchedule({ schedule, scheduleType: 'RFC5545', scheduleTimeZone });
  if ('errors' in spec) throw new Error(spec.errors[0]!.message);
  return spec;
}

function ours(rule: string, start: string, after: number, count: number): string[] {
  const spec = read(`DTSTART=${start} RRULE:${rule}`);
  const found: string[] = [];
  for (let at: number | undefined = after; found.length < count;) {
    at = nextRun(spec, at);
    if (at === undefined || at > lastCompared) break;
    found.push(new Date(at).toISOString());
  }
  return found;
}

/** Rules that fire once in a century are no business of a scheduler, and the library does not look that far. */
const lastCompared = Date.UTC(2035, 0);

function theirs(rule: string, start: string, after: number, count: number): string[] | 'gave up' {
  const recurrence = new RRuleTemporal({
    rruleString: `DTSTART;TZID=UTC:${start}\nRRULE:${rule}`,
    maxIterations: 20_000,
  });
  const found: string[] = [];
  try {
    for (let at = after; found.length < count;) {
      const next = recurrence.next(new Date(at));
      if (!next) break;
      at = Number(next.epochMilliseconds);
      if (at > lastCompared) break;
      found.push(new Date(at).toISOString());
    }
  } catch {
    return 'gave up';
  }
  return found;
}

describe('a recurrence rule', () => {
  test('fires exactly when another implementation says so', { timeout: 60_000 }, () =>
    fc.assert(
      fc.property(anyRule, starts, fc.integer({ min: -1, max: 400 }), (rule, start, days) => {
        const after = Date.parse('2025-01-01T00:00:00Z') + days * 86_400_000;
        const expected = theirs(rule, start, after, 4);
        fc.pre(expected !== 'gave up');
        expect(ours(rule, start, after, 4)).toEqual(expected);
      }),
      { numRuns: 150 },
    ),
  );
});
