import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { nextTimes } from './next-times.js';
import type { ScheduleFields } from './schedule-spec.js';
import { EarliestRuns } from './upcoming-runs.js';

const minute = 60_000;
const hour = 60 * minute;
const start = Date.UTC(2026, 0, 15, 12);

interface Given {
  schedules: Record<string, ScheduleFields>;
  from?: number;
  to?: number;
  most?: number;
  asItIsSince?: number;
}

function earliest({ schedules, from = start, to = start + hour, most = 100, asItIsSince = 0 }: Given) {
  const found = new EarliestRuns({ from, to }, most);
  for (const [id, fields] of Object.entries(schedules)) found.add(id, fields, { asItIsSince });
  const { runs, isComplete } = found.result();
  return { runs: runs.map(({ requestId, at }) => `${requestId} ${(at - start) / minute}`), isComplete };
}

const cron = (schedule: string, scheduleTimeZone?: string): ScheduleFields => ({ schedule, scheduleTimeZone });

describe('the earliest runs', () => {
  test.each<[string, Given, string[], boolean]>([
    ['begin with the first millisecond', { schedules: { a: cron('*/30 * * * *') } }, ['a 0', 'a 30'], true],
    ['end before the last', { schedules: { a: cron('0 * * * *') }, from: start + 1, to: start + hour }, [], true],
    [
      'of several requests are in the order of times, then of ids',
      { schedules: { b: cron('*/30 * * * *'), a: cron('0,45 * * * *') } },
      ['a 0', 'b 0', 'b 30', 'a 45'],
      true,
    ],
    ['say that there are more', { schedules: { a: cron('*/15 * * * *') }, most: 3 }, ['a 0', 'a 15', 'a 30'], false],
    [
      'say that there are no more',
      { schedules: { a: cron('*/15 * * * *') }, most: 4 },
      ['a 0', 'a 15', 'a 30', 'a 45'],
      true,
    ],
    ['go by the zone of the schedule', { schedules: { a: cron('30 13 * * *', 'Europe/Paris') } }, ['a 30'], true],
    [
      'leave out what lies before the schedule was as it is',
      { schedules: { a: cron('*/15 * * * *') }, asItIsSince: start + 20 * minute },
      ['a 30', 'a 45'],
      true,
    ],
    [
      'leave out a schedule that cannot be read',
      { schedules: { a: cron('soon'), b: cron('5 * * * *') } },
      ['b 5'],
      true,
    ],
  ])('%s', (_name, given, runs, isComplete) => expect(earliest(given)).toEqual({ runs, isComplete }));

  test('are those of all schedules together, however many are wanted and in whichever order schedules come', () =>
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.tuple(fc.integer({ min: 0, max: 9 }), fc.integer({ min: 1, max: 59 })), {
          maxLength: 10,
          selector: ([name]) => name,
        }),
        fc.integer({ min: 1, max: 30 }),
        fc.integer({ min: 1, max: 180 }),
        (given, most, minutes) => {
          const schedules = Object.fromEntries(given.map(([name, every]) => [`r${name}`, cron(`*/${every} * * * *`)]));
          const to = start + minutes * minute;
          const all = Object.entries(schedules)
            .flatMap(([id, fields]) => nextTimes(fields, undefined, start - 1, 200).map(({ at }) => ({ id, at })))
            .filter(({ at }) => at < to)
            .sort((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1))
            .map(({ id, at }) => `${id} ${(at - start) / minute}`);
          expect(earliest({ schedules, to, most })).toEqual({
            runs: all.slice(0, most),
            isComplete: all.length <= most,
          });
        },
      ),
    ));
});
