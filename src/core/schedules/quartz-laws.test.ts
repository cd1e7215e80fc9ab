import { Cron } from 'croner';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { nextRun, readSchedule } from './index.js';

/* Expressions are checked against croner in UTC, where daylight saving has no say. */

const listOf = (min: number, max: number): fc.Arbitrary<string> =>
  fc.oneof(
    fc.constant('*'),
    fc.uniqueArray(fc.integer({ min, max }), { minLength: 1, maxLength: 4 }).map((values) => values.join(',')),
    fc.tuple(fc.integer({ min, max }), fc.integer({ min, max })).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`),
    fc.integer({ min: 2, max: 9 }).map((step) => `*/${step}`),
  );
const weekdayNames = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];
const weekdays = fc.constantFrom(...weekdayNames);

/** Day of month and day of week, as Quartz and as croner write them. */
const anyDays: fc.Arbitrary<[quartz: [string, string], croner: [string, string]]> = fc.oneof(
  listOf(1, 31).map((dates): [[string, string], [string, string]] => [
    [dates, '?'],
    [dates, '*'],
  ]),
  fc.constantFrom<[[string, string], [string, string]]>(
    [
      ['L', '?'],
      ['L', '*'],
    ],
    [
      ['LW', '?'],
      ['LW', '*'],
    ],
  ),
  fc.integer({ min: 1, max: 28 }).map((date): [[string, string], [string, string]] => [
    [`${date}W`, '?'],
    [`${date}W`, '*'],
  ]),
  fc
    .oneof(
      fc.uniqueArray(weekdays, { minLength: 1, maxLength: 4 }).map((days) => days.join(',')),
      fc.tuple(weekdays, fc.integer({ min: 1, max: 5 })).map(([day, nth]) => `${day}#${nth}`),
      weekdays.map((day) => `${day}L`),
    )
    .map((days): [[string, string], [string, string]] => [
      ['?', days],
      ['*', days],
    ]),
);

test('a Quartz expression fires exactly when another implementation says so', () =>
  fc.assert(
    fc.property(
      fc.tuple(listOf(0, 59), listOf(0, 59), listOf(0, 23), listOf(1, 12)),
      anyDays,
      fc.integer({ min: Date.UTC(2024, 0), max: Date.UTC(2030, 0) }),
      ([second, minute, hour, month], [ours, theirs], after) => {
        const quartzSchedule = `${second} ${minute} ${hour} ${ours[0]} ${month} ${ours[1]}`;
        const spec = readSchedule({ quartzSchedule });
        if ('errors' in spec) throw new Error(spec.errors[0]!.message);
        const cron = new Cron(`${second} ${minute} ${hour} ${theirs[0]} ${month} ${theirs[1]} *`, {
          timezone: 'UTC',
          paused: true,
          mode: '7-part',
        });
        let expected: number | undefined = after;
        let found: number | undefined = after;
        for (let run = 0; run < 4 && expected !== undefined; run++) {
          expected = cron.nextRun(new Date(expected))?.getTime();
          found = nextRun(spec, found!);
          expect(found).toBe(expected);
        }
      },
    ),
    { numRuns: 300 },
  ));
