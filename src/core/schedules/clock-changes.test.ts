import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { nextRun, readSchedule, type ScheduleFields, type ScheduleSpec } from './index.js';
import { clockAt } from './time-zones.js';

const minute = 60_000;
const day = 86_400_000;

/** One schedule, in each notation that can say it. */
interface Notations {
  name: string;
  /** Follows the hours that pass: every reading counts, as often as the clocks show it. */
  everyHour: boolean;
  fires: (clock: Date) => boolean;
  notations: ScheduleFields[];
}

const rfc = (rule: string): ScheduleFields => ({
  schedule: `DTSTART=20100101T000000 RRULE:${rule}`,
  scheduleType: 'RFC5545',
});
const at = (clock: Date): number => clock.getUTCHours() * 60 + clock.getUTCMinutes();

const fixed = (hour: number, minutes: number): Notations => ({
  name: `at ${hour}:${minutes}`,
  everyHour: false,
  fires: (clock) => at(clock) === hour * 60 + minutes,
  notations: [
    { schedule: `${minutes} ${hour} * * *` },
    { quartzSchedule: `0 ${minutes} ${hour} * * ?` },
    rfc(`FREQ=DAILY;BYHOUR=${hour};BYMINUTE=${minutes}`),
  ],
});
const schedules: Notations[] = [
  fixed(0, 0),
  fixed(0, 30),
  fixed(1, 30),
  fixed(2, 0),
  fixed(2, 30),
  fixed(3, 0),
  fixed(23, 45),
  {
    name: 'every 15 minutes from 0 to 3',
    everyHour: false,
    fires: (clock) => at(clock) < 240 && at(clock) % 15 === 0,
    notations: [
      { schedule: '*/15 0-3 * * *' },
      { quartzSchedule: '0 0/15 0-3 * * ?' },
      rfc('FREQ=MINUTELY;INTERVAL=15;BYHOUR=0,1,2,3'),
    ],
  },
  {
    name: 'every second hour',
    everyHour: false,
    fires: (clock) => at(clock) % 120 === 0,
    notations: [{ schedule: '0 */2 * * *' }, { quartzSchedule: '0 0 0/2 * * ?' }, rfc('FREQ=HOURLY;INTERVAL=2')],
  },
  {
    name: 'every 15 minutes',
    everyHour: true,
    fires: (clock) => at(clock) % 15 === 0,
    notations: [{ schedule: '*/15 * * * *' }, { quartzSchedule: '0 0/15 * * * ?' }, rfc('FREQ=MINUTELY;INTERVAL=15')],
  },
  {
    name: 'every hour at 20 past',
    everyHour: true,
    fires: (clock) => at(clock) % 60 === 20,
    notations: [{ schedule: '20 0-23 * * *' }, { quartzSchedule: '0 20 * * * ?' }, rfc('FREQ=HOURLY;BYMINUTE=20')],
  },
];

/** Zones and days on which their clocks are changed, or not. */
const changes: [zone: string, date: string, what: string][] = [
  ['America/New_York', '2026-03-08', '2:00 becomes 3:00'],
  ['America/New_York', '2026-11-01', '2:00 becomes 1:00'],
  ['Europe/Paris', '2026-03-29', '2:00 becomes 3:00'],
  ['Europe/Paris', '2026-10-25', '3:00 becomes 2:00'],
  ['Australia/Lord_Howe', '2026-10-04', '2:00 becomes 2:30'],
  ['Australia/Lord_Howe', '2026-04-05', '2:00 becomes 1:30'],
  ['Australia/Sydney', '2026-10-04', '2:00 becomes 3:00, in the south'],
  ['Australia/Sydney', '2026-04-05', '3:00 becomes 2:00, in the south'],
  ['America/Santiago', '2026-09-06', 'midnight becomes 1:00'],
  ['America/Santiago', '2026-04-05', 'midnight becomes 23:00 of the day before'],
  ['Africa/Casablanca', '2026-02-15', '3:00 becomes 2:00 for one month'],
  ['Africa/Casablanca', '2026-03-22', '2:00 becomes 3:00'],
  ['Pacific/Apia', '2011-12-30', 'a whole day is left out'],
  ['Antarctica/Troll', '2026-03-29', '1:00 becomes 3:00'],
  ['Antarctica/Troll', '2026-10-25', '3:00 becomes 1:00'],
  ['Pacific/Chatham', '2026-09-27', '2:45 becomes 3:45'],
  ['Pacific/Chatham', '2026-04-05', '3:45 becomes 2:45'],
  ['Africa/Cairo', '2026-04-24', 'midnight becomes 1:00'],
  ['Africa/Cairo', '2026-10-29', 'midnight becomes 23:00'],
  ['Asia/Kolkata', '2026-03-29', 'nothing'],
  ['UTC', '2026-03-29', 'nothing'],
];

function read(fields: ScheduleFields, scheduleTimeZone: string): ScheduleSpec {
  const spec = readSchedule({ ...fields, scheduleTimeZone });
  if ('errors' in spec) throw new Error(spec.errors[0]!.message);
  return spec;
}

/** Readings of the clocks of a zone, minute by minute. */
const readings = (zone: string, from: number, to: number): { instant: number; reading: number }[] =>
  Array.from({ length: (to - from) / minute + 1 }, (_, index) => from + index * minute).map((instant) => ({
    instant,
    reading: clockAt(zone, instant),
  }));

/** The rule, told reading by reading: is it new, and did the clocks skip something before it? */
function expectedHits({ everyHour, fires }: Notations, shown: ReturnType<typeof readings>): number[] {
  const hits: number[] = [];
  // Readings up to this one have had their turn.
  let highest = shown[0]!.reading - minute;
  for (const { instant, reading } of shown) {
    const isNew = reading > highest;
    let isHit = fires(new Date(reading)) && (everyHour || isNew);
    if (isNew) {
      for (let skipped = highest + minute; skipped < reading; skipped += minute) {
        isHit ||= !everyHour && fires(new Date(skipped));
      }
      highest = reading;
    }
    if (isHit) hits.push(instant);
  }
  return hits;
}

function hitsBetween(spec: ScheduleSpec, from: number, to: number): number[] {
  const hits: number[] = [];
  for (let next = nextRun(spec, from - 1); next !== undefined && next <= to; next = nextRun(spec, next))
    hits.push(next);
  return hits;
}

describe('where clocks are changed', () => {
  describe.each(changes)('%s on %s: %s', (zone, date) => {
    const from = Date.parse(`${date}T00:00:00Z`) - day;
    const to = from + 3 * day;
    const shown = readings(zone, from, to);
    test.each(schedules)('a job $name misses nothing and runs nothing twice, in every notation', (schedule) => {
      const expected = expectedHits(schedule, shown);
      for (const notation of schedule.notations) {
        expect(hitsBetween(read(notation, zone), from, to)).toEqual(expected);
      }
    });
  });

  const newYork = 'America/New_York';
  test.each([
    {
      what: 'a skipped time runs when the clocks are changed',
      cron: '30 2 * * *',
      after: '2026-03-08T06:00:00Z',
      at: '2026-03-08T07:00:00Z',
    },
    {
      what: 'and not again at its usual time',
      cron: '30 2 * * *',
      after: '2026-03-08T07:00:00Z',
      at: '2026-03-09T06:30:00Z',
    },
    {
      what: 'two skipped times run once',
      cron: '0,30 2 * * *',
      after: '2026-03-08T07:00:00Z',
      at: '2026-03-09T06:00:00Z',
    },
    {
      what: 'a repeated time runs the first time',
      cron: '30 1 * * *',
      after: '2026-11-01T04:00:00Z',
      at: '2026-11-01T05:30:00Z',
    },
    { what: 'and not the second time', cron: '30 1 * * *', after: '2026-11-01T05:30:00Z', at: '2026-11-02T06:30:00Z' },
    {
      what: 'asked within the repeated hour',
      cron: '45 1 * * *',
      after: '2026-11-01T06:10:00Z',
      at: '2026-11-02T06:45:00Z',
    },
    {
      what: 'every quarter of an hour goes on in the repeated one',
      cron: '*/15 * * * *',
      after: '2026-11-01T05:45:00Z',
      at: '2026-11-01T06:00:00Z',
    },
    {
      what: 'an hour that is skipped adds no run',
      cron: '10 * * * *',
      after: '2026-03-08T06:10:00Z',
      at: '2026-03-08T07:10:00Z',
    },
  ])('$what', ({ cron, after, at: expected }) => {
    const next = nextRun(read({ schedule: cron }, newYork), Date.parse(after));
    expect(new Date(next!).toISOString()).toBe(expected.replace('Z', '.000Z'));
  });

  test('a rule that ends after a number of runs does not run more often than that', () => {
    const start = 'DTSTART=20261101T010000 RRULE:FREQ=MINUTELY;INTERVAL=15;COUNT=6';
    const from = Date.parse('2026-11-01T04:00:00Z');
    const hits = hitsBetween(read({ schedule: start, scheduleType: 'RFC5545' }, newYork), from, from + day);
    expect(hits.map((hit) => new Date(hit).toISOString().slice(11, 16))).toEqual([
      '05:00',
      '05:15',
      '05:30',
      '05:45',
      '07:00',
      '07:15',
    ]);
  });
});

describe('in any zone, for any schedule, at any time', () => {
  const zones = [...new Set(changes.map(([zone]) => zone))];
  const anySpec = fc
    .tuple(fc.constantFrom(...schedules.flatMap(({ notations }) => notations)), fc.constantFrom(...zones))
    .map(([notation, zone]) => read(notation, zone));
  // Changes lie in these years; half of the times are close to one.
  const anyTime = fc.oneof(
    fc.integer({ min: Date.parse('2026-01-01'), max: Date.parse('2028-01-01') }),
    fc
      .tuple(fc.constantFrom(...changes), fc.integer({ min: -day, max: day }))
      .map(([[, date], shift]) => Date.parse(date) + shift),
  );

  test('the next run is strictly later, and nothing lies between it and the asked time', () =>
    fc.assert(
      fc.property(anySpec, anyTime, fc.double({ min: 0, max: 0.999, noNaN: true }), (spec, after, part) => {
        const next = nextRun(spec, after)!;
        expect(next).toBeGreaterThan(after);
        expect(nextRun(spec, after + Math.floor((next - after) * part))).toBe(next);
      }),
    ));

  test('who asks later gets no earlier run', () =>
    fc.assert(
      fc.property(anySpec, anyTime, fc.nat({ max: 2 * day }), (spec, after, wait) => {
        expect(nextRun(spec, after + wait)!).toBeGreaterThanOrEqual(nextRun(spec, after)!);
      }),
    ));
});
