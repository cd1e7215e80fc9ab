import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { deriveQuartz, exclusionAt, nextTime, plannedTimes, readTimetable, type TimetableFields } from './index.js';

const read = (fields: TimetableFields) => {
  const timetable = readTimetable(fields);
  if ('errors' in timetable) throw new Error(timetable.errors[0]!.message);
  return timetable;
};
const times = (fields: TimetableFields, after: string, count: number): string[] => {
  const found: string[] = [];
  const timetable = read(fields);
  for (let at = nextTime(timetable, Date.parse(after)); at !== undefined && found.length < count;) {
    found.push(new Date(at).toISOString().replace('.000Z', 'Z'));
    at = nextTime(timetable, at);
  }
  return found;
};
const problems = (fields: TimetableFields): string[] => {
  const timetable = readTimetable(fields);
  return 'errors' in timetable ? timetable.errors.map(({ field, rule }) => `${field} ${rule}`) : [];
};

describe('several schedules', () => {
  test('give a run at each time that one of them names, and one where two do', () =>
    expect(
      times({ schedules: [{ schedule: '0 */6 * * *' }, { schedule: '0 12,13 * * *' }] }, '2026-01-05T05:00:00Z', 5),
    ).toEqual([
      '2026-01-05T06:00:00Z',
      '2026-01-05T12:00:00Z',
      '2026-01-05T13:00:00Z',
      '2026-01-05T18:00:00Z',
      '2026-01-06T00:00:00Z',
    ]));

  test('have the zone of the request unless they name one', () =>
    expect(
      times(
        {
          scheduleTimeZone: 'Europe/Paris',
          schedules: [{ schedule: '0 12 * * *' }, { schedule: '0 12 * * *', scheduleTimeZone: 'UTC' }],
        },
        '2026-01-05T05:00:00Z',
        2,
      ),
    ).toEqual(['2026-01-05T11:00:00Z', '2026-01-05T12:00:00Z']));

  test('of another language stand beside a crontab', () =>
    expect(
      times(
        {
          schedules: [
            { schedule: '0 12 * * *' },
            { schedule: 'DTSTART=20260105T130000 RRULE:FREQ=DAILY;COUNT=1', scheduleType: 'RFC5545' },
          ],
        },
        '2026-01-05T05:00:00Z',
        3,
      ),
    ).toEqual(['2026-01-05T12:00:00Z', '2026-01-05T13:00:00Z', '2026-01-06T12:00:00Z']));

  test('are each told by their place where they cannot be read', () =>
    expect(problems({ schedules: [{ schedule: '0 12 * * *' }, { schedule: '61 * * * *' }] })).toEqual([
      'schedules.1.schedule cron',
    ]));
});

describe('bounds', () => {
  test('leave out what is before startAt and after endAt, and take both', () =>
    expect(
      times(
        {
          schedule: '0 * * * *',
          startAt: Date.parse('2026-01-05T08:00:00Z'),
          endAt: Date.parse('2026-01-05T09:00:00Z'),
        },
        '2026-01-05T05:00:00Z',
        5,
      ),
    ).toEqual(['2026-01-05T08:00:00Z', '2026-01-05T09:00:00Z']));
});

describe('exclusions', () => {
  const night = { schedule: '0 22 * * *', durationMillis: 8 * 3_600_000 };

  test('that recur leave their times out, from their first millisecond to the last', () =>
    expect(times({ schedule: '0 */2 * * *', exclusions: [night] }, '2026-01-05T19:00:00Z', 3)).toEqual([
      '2026-01-05T20:00:00Z',
      '2026-01-06T06:00:00Z',
      '2026-01-06T08:00:00Z',
    ]));

  test('between two dates leave out what lies there', () => {
    const [from, to] = [Date.parse('2026-01-05T06:00:00Z'), Date.parse('2026-01-05T08:00:00Z')];
    expect(times({ schedule: '0 * * * *', exclusions: [{ from, to }] }, '2026-01-05T05:00:00Z', 2)).toEqual([
      '2026-01-05T08:00:00Z',
      '2026-01-05T09:00:00Z',
    ]);
  });

  test('that overlap count together, and those that leave no time end the search', () => {
    const [a, b] = [
      { schedule: '0 */4 * * *', durationMillis: 3 * 3_600_000 },
      { schedule: '0 2-22/4 * * *', durationMillis: 2 * 3_600_000 },
    ];
    expect(times({ schedule: '0 * * * *', exclusions: [a, b] }, '2026-01-05T05:00:00Z', 1)).toEqual([]);
    expect(times({ schedule: '0 * * * *', exclusions: [a] }, '2026-01-05T05:00:00Z', 2)).toEqual([
      '2026-01-05T07:00:00Z',
      '2026-01-05T11:00:00Z',
    ]);
  });

  test('are named with the times that lie in them', () => {
    const found = [];
    for (const time of plannedTimes(read({ schedule: '0 */2 * * *', exclusions: [night] }), Date.UTC(2026, 0, 5, 19))) {
      found.push([new Date(time.at).getUTCHours(), time.exclusion?.index]);
      if (found.length === 3) break;
    }
    expect(found).toEqual([
      [20, undefined],
      [22, 0],
      [0, 0],
    ]);
  });

  test.each([
    [{ schedule: '0 1 * * *' }, 'exclusions.0.durationMillis required'],
    [{ schedule: '0 1 * * *', durationMillis: 0 }, 'exclusions.0.durationMillis min'],
    [{ schedule: '0 1 * * *', durationMillis: 5, from: 3 }, 'exclusions.0.from consistent'],
    [{ from: 3 }, 'exclusions.0.schedule required'],
    [{ from: 3, to: 3 }, 'exclusions.0.to after'],
    [{ from: 3, to: 4, durationMillis: 5 }, 'exclusions.0.durationMillis consistent'],
    [{ schedule: '61 * * * *', durationMillis: 5 }, 'exclusions.0.schedule cron'],
  ])('refuse %j: %s', (exclusion, problem) =>
    expect(problems({ schedule: '0 * * * *', exclusions: [exclusion] })).toEqual([problem]),
  );

  test('that overlap or touch each other end together', () => {
    const day = { schedule: '0 12 * * MON', durationMillis: 2 * 3_600_000 };
    const from = Date.UTC(2026, 0, 5, 10);
    const dated = { from, to: Date.UTC(2026, 0, 5, 18) };
    const next = { schedule: '0 18 * * MON', durationMillis: 3_600_000 };
    const at = Date.UTC(2026, 0, 5, 13);
    const timetable = read({ schedule: '0 * * * *', exclusions: [day, dated, next] });
    expect(exclusionAt(timetable, at)).toEqual({ index: 0, until: Date.UTC(2026, 0, 5, 19) });
    expect(exclusionAt(timetable, from - 1)).toBeUndefined();
  });

  test('never hold a time that is planned, and each time that is not planned lies in one', () =>
    fc.assert(
      fc.property(
        fc.constantFrom('*/20 * * * *', '7 */3 * * *', '30 2 * * *'),
        fc.constantFrom('UTC', 'Europe/Paris', 'America/New_York'),
        fc.integer({ min: 0, max: 23 }),
        fc.integer({ min: 1, max: 600 }),
        fc.integer({ min: Date.UTC(2026, 2, 1), max: Date.UTC(2026, 10, 5) }),
        (schedule, scheduleTimeZone, hour, minutes, after) => {
          const fields = {
            schedule,
            scheduleTimeZone,
            exclusions: [{ schedule: `0 ${hour} * * *`, durationMillis: minutes * 60_000 }],
          };
          const timetable = read(fields);
          const named = [];
          for (const time of plannedTimes(timetable, after)) {
            named.push(time);
            if (named.length === 30) break;
          }
          const wanted = named.filter(({ exclusion }) => !exclusion).map(({ at }) => at);
          let at: number | undefined = after;
          for (const expected of wanted) {
            at = nextTime(timetable, at!);
            expect(at).toBe(expected);
            expect(exclusionAt(timetable, expected)).toBeUndefined();
          }
        },
      ),
    ));
});

describe('jitter', () => {
  test('moves all times of a request by one offset within it, the same each time', () => {
    const fields = { schedule: '0 0 * * *', scheduleJitterMillis: 3_600_000 };
    const offsets = ['a', 'b', 'c', 'd'].map((id) => {
      const midnight = Date.parse('2026-01-06T00:00:00Z');
      return nextTime(read({ ...fields, id }), Date.parse('2026-01-05T12:00:00Z'))! - midnight;
    });
    expect(new Set(offsets).size).toBe(4);
    for (const offset of offsets) expect(offset >= 0 && offset < 3_600_000).toBe(true);
    expect(nextTime(read({ ...fields, id: 'a' }), Date.parse('2026-01-06T12:00:00Z'))! - offsets[0]!).toBe(
      Date.parse('2026-01-07T00:00:00Z'),
    );
  });

  test('loses no time and makes none, also of a moment between a time and its start', () =>
    fc.assert(
      fc.property(
        fc.string({ minLength: 1, maxLength: 20 }),
        fc.integer({ min: 1, max: 86_400_000 }),
        fc.integer({ min: 0, max: 86_400_000 }),
        (id, scheduleJitterMillis, later) => {
          const timetable = read({ id, schedule: '0 * * * *', scheduleJitterMillis });
          const at = nextTime(timetable, Date.UTC(2026, 0, 5) + later)!;
          expect((at - timetable.offsetMillis) % 3_600_000).toBe(0);
          expect(nextTime(timetable, at)! - at).toBe(3_600_000);
          expect(nextTime(timetable, at - 1)).toBe(at);
        },
      ),
    ));

  test('spreads many requests evenly', () => {
    const tenths = Array.from({ length: 10 }, () => 0);
    for (let index = 0; index < 10_000; index++) {
      const { offsetMillis } = read({ id: `job-${index}`, schedule: '0 0 * * *', scheduleJitterMillis: 1_000 });
      tenths[Math.floor(offsetMillis / 100)]! += 1;
    }
    for (const count of tenths) expect(Math.abs(count - 1_000)).toBeLessThan(150);
  });
});

describe('H in a crontab', () => {
  test.each([
    ['H H * * *', /^0 ([0-9]|[1-5][0-9]) ([0-9]|1[0-9]|2[0-3]) \* \* \?$/],
    ['H(10-12) 3 * * *', /^0 1[0-2] 3 \* \* \?$/],
    ['H/15 * * * *', /^0 ([0-9]|1[0-4])-59\/15 \* \* \* \?$/],
    ['H(30-59)/10 4 H * *', /^0 3[0-9]-59\/10 4 ([1-9]|1[0-9]|2[0-8]) \* \?$/],
    ['5,H 4 * * *', /^0 5,\d+ 4 \* \* \?$/],
    ['0 4 * * H', /^0 0 4 \? \* (MON|TUE|WED|THU|FRI|SAT|SUN)$/],
    ['0 4 * * THU', /^0 0 4 \? \* THU$/],
  ])('%s stands for values of the field', (cron, expected) => {
    const ids = Array.from({ length: 50 }, (_, index) => `job-${index}`);
    const derived = ids.map((id) => deriveQuartz(cron, id));
    for (const one of derived) expect('quartz' in one ? one.quartz : one.error).toMatch(expected);
    expect(derived[0]).toEqual(deriveQuartz(cron, ids[0]));
    if (cron !== '0 4 * * THU') expect(new Set(derived.map((one) => JSON.stringify(one))).size).toBeGreaterThan(2);
  });

  test.each([
    ['H(50-70) * * * *', 'job', "minutes: cannot read 'H(50-70)'"],
    ['H(9-3) * * * *', 'job', "minutes: cannot read 'H(9-3)'"],
    ['H/0 * * * *', 'job', "minutes: cannot read 'H/0'"],
    ['* H-5 * * *', 'job', "hours: cannot read 'H-5'"],
    ['H * * * *', undefined, 'say its id'],
  ])('%s of %s is refused', (cron, id, message) => {
    const derived = deriveQuartz(cron, id);
    expect('error' in derived && derived.error).toContain(message);
  });
});
