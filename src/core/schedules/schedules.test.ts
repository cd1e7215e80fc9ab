import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cpuMillisOf } from '../../../test/support/cpu-time.js';
import { deriveQuartz, nextRun, readSchedule, resolveTimeZone, type ScheduleSpec } from './index.js';
import { parseQuartz } from './quartz.js';

const quartz = (expression: string, scheduleTimeZone = 'UTC'): ScheduleSpec => {
  const spec = readSchedule({ quartzSchedule: expression, scheduleTimeZone });
  if ('errors' in spec) throw new Error(spec.errors[0]!.message);
  return spec;
};
const hits = (expression: string, after: string, count: number, timeZone?: string): string[] => {
  const found: string[] = [];
  for (let at = Date.parse(after); found.length < count;) {
    const next = nextRun(quartz(expression, timeZone), at);
    if (next === undefined) break;
    found.push(new Date(next).toISOString().replace('.000Z', 'Z'));
    at = next;
  }
  return found;
};

describe('deriveQuartz', () => {
  test.each([
    ['*/5 * * * *', '0 */5 * * * ?'],
    ['30 2 1 * *', '0 30 2 1 * ?'],
    ['30 2 ? * ?', '0 30 2 * * ?'],
    ['0 8 * * 1-5', '0 0 8 ? * MON-FRI'],
    ['0 8 * * 1', '0 0 8 ? * MON'],
    ['0 8 * * 0', '0 0 8 ? * SUN'],
    ['0 8 * * 7', '0 0 8 ? * SUN'],
    ['0 8 * * 1,3', '0 0 8 ? * MON,WED'],
    ['0 8 * * 1-5/2', '0 0 8 ? * MON,WED,FRI'],
    ['0 8 * * 1,3-5', '0 0 8 ? * MON,WED-FRI'],
    ['0 8 * * 5-7', '0 0 8 ? * FRI-SUN'],
    ['0 8 * * 6-1', '0 0 8 ? * SAT-MON'],
    ['0 8 * * */2', '0 0 8 ? * SUN,TUE,THU,SAT'],
    ['0 8 * * 0-7', '0 0 8 ? * SUN-SAT'],
    ['0 8 * * mon-fri', '0 0 8 ? * MON-FRI'],
    ['0 8 * * 5L', '0 0 8 ? * FRIL'],
    ['0 8 * * 5#2', '0 0 8 ? * FRI#2'],
    ['15 0 8 * * 1', '15 0 8 ? * MON'],
    ['  0  8 * * *', '0 0 8 * * ?'],
    ['@yearly', '0 0 0 1 1 ?'],
    ['@annually', '0 0 0 1 1 ?'],
    ['@monthly', '0 0 0 1 * ?'],
    ['@weekly', '0 0 0 ? * SUN'],
    [' @Daily ', '0 0 0 * * ?'],
    ['@midnight', '0 0 0 * * ?'],
    ['@hourly', '0 0 * * * ?'],
  ])('%s becomes %s', (cron, expected) => expect(deriveQuartz(cron)).toEqual({ quartz: expected }));

  test.each([
    ['', '5 fields'],
    ['* * * *', '5 fields'],
    ['0 * * * * * 2030', '5 fields'],
    ['@reboot', '@daily'],
    ['@nightly', ': did you mean @midnight?'],
    ['@dayly', ': did you mean @daily?'],
    ['every day at noon', "has 4; one looks like '0 12 * * *', every day at noon"],
    ['@constructor', '@daily'],
    ['0 8 1 * 1', 'both day of month and day of week'],
    ['0 8 * * 8', 'day of week'],
    ['0 8 * * 1-9', 'day of week'],
    ['0 24 * * *', 'hours'],
    ['60 * * * *', 'minutes'],
    ['0 8 32 * *', 'day of month'],
    ['0 8 * 13 *', 'month'],
    ['x 8 * * *', 'minutes'],
  ])('refuses %j and names %s', (cron, part) =>
    expect(deriveQuartz(cron)).toEqual({ error: expect.stringContaining(part) as string }),
  );

  test('every unix weekday list runs on exactly the days unix means', () =>
    fc.assert(
      fc.property(fc.uniqueArray(fc.integer({ min: 0, max: 7 }), { minLength: 1 }), (days) => {
        const derived = deriveQuartz(`0 0 * * ${days.join(',')}`);
        if (!('quartz' in derived)) throw new Error(derived.error);
        const parsed = parseQuartz(derived.quartz);
        const expected = [...new Set(days.map((day) => day % 7))].toSorted();
        expect(parsed).toMatchObject({ day: { kind: 'weekdays', weekdays: expected } });
      }),
    ));
});

describe('a Quartz expression', () => {
  test.each([
    ['0 0 12 * *', '6 or 7 fields'],
    ['0 0 12 * * * 2030 1', '6 or 7 fields'],
    ['0 0 12 * * *', "exactly one of day of month and day of week must be '?'"],
    ['0 0 12 ? * ?', "exactly one of day of month and day of week must be '?'"],
    ['60 0 12 * * ?', 'seconds'],
    ['0 0 12 ? * 0', 'day of week'],
    ['0 0 12 ? * 8', 'day of week'],
    ['0 0 12 ? * 2#6', '1 to 5'],
    ['0 0 12 ? * 2#1,3#1', 'stand alone'],
    ['0 0 12 1,L * ?', 'stand alone'],
    ['0 0 12 L-31 * ?', 'before the month'],
    ['0 0/0 12 * * ?', 'step'],
    ['0 0 12 * * ? 1969', 'year'],
    ['0 0 12 * * ? 2030-2028', 'ends before it starts'],
    ['0 0 12 * JANUARY ?', 'month'],
  ])('%s is refused, naming %s', (expression, part) =>
    expect(parseQuartz(expression)).toEqual({ error: expect.stringContaining(part) as string }),
  );

  test.each([
    { at: '0 0 12 ? * 2', from: '2026-11-01T00:00:00Z', to: ['2026-11-02T12:00:00Z', '2026-11-09T12:00:00Z'] },
    { at: '0 0 12 ? * 6L', from: '2026-11-01T00:00:00Z', to: ['2026-11-27T12:00:00Z', '2026-12-25T12:00:00Z'] },
    { at: '0 0 12 ? * L', from: '2026-11-01T00:00:00Z', to: ['2026-11-07T12:00:00Z', '2026-11-14T12:00:00Z'] },
    { at: '0 0 12 ? * FRI#5', from: '2026-11-01T00:00:00Z', to: ['2027-01-29T12:00:00Z', '2027-04-30T12:00:00Z'] },
    { at: '0 0 0 L * ?', from: '2028-02-01T00:00:00Z', to: ['2028-02-29T00:00:00Z', '2028-03-31T00:00:00Z'] },
    { at: '0 0 0 L-3 * ?', from: '2027-02-01T00:00:00Z', to: ['2027-02-25T00:00:00Z', '2027-03-28T00:00:00Z'] },
    { at: '0 0 0 L-30 * ?', from: '2027-02-01T00:00:00Z', to: ['2027-03-01T00:00:00Z', '2027-05-01T00:00:00Z'] },
    { at: '0 0 0 LW * ?', from: '2027-01-01T00:00:00Z', to: ['2027-01-29T00:00:00Z', '2027-02-26T00:00:00Z'] },
    { at: '0 0 0 15W * ?', from: '2026-11-01T00:00:00Z', to: ['2026-11-16T00:00:00Z', '2026-12-15T00:00:00Z'] },
    { at: '0 0 22-2 * * ?', from: '2026-11-01T21:30:00Z', to: ['2026-11-01T22:00:00Z', '2026-11-01T23:00:00Z'] },
    { at: '0 50/4 * * * ?', from: '2026-11-01T00:51:00Z', to: ['2026-11-01T00:54:00Z', '2026-11-01T00:58:00Z'] },
    { at: '0 0 0 29 2 ?', from: '2026-01-01T00:00:00Z', to: ['2028-02-29T00:00:00Z', '2032-02-29T00:00:00Z'] },
    { at: '0 0 0 1 1 ? 2028/70', from: '2026-01-01T00:00:00Z', to: ['2028-01-01T00:00:00Z', '2098-01-01T00:00:00Z'] },
  ])('$at fires at $to', ({ at, from, to }) => expect(hits(at, from, to.length)).toEqual(to));

  test('ends when no year is left', () => expect(hits('0 0 0 1 1 ? 2027', '2026-01-01T00:00:00Z', 3)).toHaveLength(1));
  test('never fires on 30 February', () => expect(nextRun(quartz('0 0 0 30 2 ?'), 0)).toBeUndefined());
  test('is strictly after the given time, to the millisecond', () => {
    const noon = Date.parse('2026-11-01T12:00:00Z');
    expect(nextRun(quartz('0 0 12 * * ?'), noon - 1)).toBe(noon);
    expect(nextRun(quartz('0 0 12 * * ?'), noon)).toBe(noon + 86_400_000);
    expect(nextRun(quartz('* * * * * ?'), noon + 500)).toBe(noon + 1_000);
  });
});

describe('time zones', () => {
  test.each([
    {
      name: 'a plain day',
      zone: 'Europe/Paris',
      at: '0 0 9 * * ?',
      from: '2026-07-01T00:00:00Z',
      to: '2026-07-01T07:00:00Z',
    },
    {
      name: 'a fixed time in the gap runs right after it',
      zone: 'America/New_York',
      at: '0 30 2 * * ?',
      from: '2026-03-07T12:00:00Z',
      to: '2026-03-08T07:00:00Z',
    },
    {
      name: 'a fixed time that occurs twice runs once',
      zone: 'America/New_York',
      at: '0 30 1 * * ?',
      from: '2026-11-01T05:30:00Z',
      to: '2026-11-02T06:30:00Z',
    },
    {
      name: 'a repeating one runs through both',
      zone: 'America/New_York',
      at: '0 0/30 * * * ?',
      from: '2026-11-01T05:30:00Z',
      to: '2026-11-01T06:00:00Z',
    },
  ])('$name', ({ zone, at, from, to }) => expect(hits(at, from, 1, zone)).toEqual([to]));

  test.each([
    ['EST', 'Etc/GMT+5'],
    ['PST', 'America/Los_Angeles'],
    ['BST', 'Asia/Dhaka'],
    ['GMT+2', 'Etc/GMT-2'],
    ['UTC+5', 'Etc/GMT-5'],
    ['+05:00', 'Etc/GMT-5'],
    ['UTC+5:45', undefined],
    ['+05:30', undefined],
    ['+09:00', 'Etc/GMT-9'],
    ['UTC', 'UTC'],
    ['Nowhere/Land', undefined],
  ])('%s is %s', (id, zone) => expect(resolveTimeZone(id)).toBe(zone));

  test('EST never observes daylight saving', () =>
    expect(hits('0 0 12 * * ?', '2026-07-01T00:00:00Z', 1, resolveTimeZone('EST'))).toEqual(['2026-07-01T17:00:00Z']));
});

describe('readSchedule', () => {
  test.each(['schedule', 'quartzSchedule'])('a %s that is too long is not even read', async (field) => {
    const message = `${field} must have at most 1000 characters`;
    const fields = { [field]: `${'1-59/1,'.repeat(250_000)}1 * * * *`, scheduleType: 'QUARTZ' as const };
    const read = () => expect(readSchedule(fields)).toEqual({ errors: [{ field, rule: 'length', message }] });
    expect(await cpuMillisOf(read)).toBeLessThan(100);
  });

  test.each([
    { name: 'a cron schedule', fields: { schedule: '*/5 * * * *' }, quartz: '0 */5 * * * ?' },
    {
      name: 'a Quartz schedule by type',
      fields: { schedule: '0 0 1 * * ?', scheduleType: 'QUARTZ' as const },
      quartz: '0 0 1 * * ?',
    },
    { name: 'quartzSchedule alone', fields: { quartzSchedule: '0 0 1 * * ?' }, quartz: '0 0 1 * * ?' },
    {
      name: 'both, where the Quartz one counts',
      fields: { schedule: '0 2 * * *', quartzSchedule: '0 0 1 * * ?', scheduleType: 'CRON' as const },
      quartz: '0 0 1 * * ?',
    },
  ])('takes $name', ({ fields, quartz: expected }) =>
    expect(readSchedule(fields)).toMatchObject({ type: 'QUARTZ', quartz: expected, timeZone: 'UTC' }),
  );

  test.each([
    { name: 'nothing given', fields: {}, on: ['schedule'] },
    {
      name: 'a bad expression and a bad zone at once',
      fields: { schedule: 'x', scheduleTimeZone: 'Mars' },
      on: ['schedule', 'scheduleTimeZone'],
    },
    {
      name: 'quartzSchedule alone as CRON',
      fields: { quartzSchedule: '0 0 1 * * ?', scheduleType: 'CRON' as const },
      on: ['scheduleType'],
    },
    { name: 'a bad Quartz expression', fields: { quartzSchedule: '0 0 1 * *' }, on: ['quartzSchedule'] },
    {
      name: 'an RFC 5545 rule with a Quartz expression beside it',
      fields: { schedule: 'FREQ=DAILY', quartzSchedule: '0 0 1 * * ?', scheduleType: 'RFC5545' as const },
      on: ['quartzSchedule'],
    },
    {
      name: 'a Quartz expression called an RFC 5545 rule',
      fields: { quartzSchedule: '0 0 1 * * ?', scheduleType: 'RFC5545' as const },
      on: ['quartzSchedule'],
    },
    {
      name: 'an RFC 5545 rule in a zone of its own beside another',
      fields: {
        schedule: 'DTSTART;TZID=Europe/Paris:20260101T000000 RRULE:FREQ=DAILY',
        scheduleType: 'RFC5545' as const,
        scheduleTimeZone: 'Europe/Berlin',
      },
      on: ['scheduleTimeZone'],
    },
  ])('refuses $name', ({ fields, on }) => {
    const read = readSchedule(fields);
    expect('errors' in read && read.errors.map((error) => error.field)).toEqual(on);
  });
});

test.each([
  [{ schedule: '61 * * * *' }, "schedule: minutes: '61' must be 0 to 59 in '61 * * * *'"],
  [
    { schedule: '* * * * *', scheduleTimeZone: 'Paris' },
    "scheduleTimeZone 'Paris' is not a known time zone: did you mean Europe/Paris?",
  ],
  [
    { schedule: '* * * * *', scheduleTimeZone: 'new york' },
    "scheduleTimeZone 'new york' is not a known time zone: did you mean America/New_York?",
  ],
  [
    { schedule: '* * * * *', scheduleTimeZone: 'Mars' },
    "scheduleTimeZone 'Mars' is not a known time zone; one looks like Europe/Paris",
  ],
  [
    { schedule: '* * * * *', scheduleTimeZone: 'CEST' },
    "scheduleTimeZone 'CEST' is not a known time zone; an abbreviation is not enough, name the region: one looks like Europe/Paris",
  ],
])('%j is told in its own words', (fields, message) => {
  const read = readSchedule(fields);
  expect('errors' in read && read.errors.map((error) => error.message)).toEqual([message]);
});

test('the next hit is always later, and nothing lies between it and the asked time', () =>
  fc.assert(
    fc.property(
      fc.record({
        second: fc.integer({ min: 0, max: 59 }),
        minutes: fc.uniqueArray(fc.integer({ min: 0, max: 59 }), { minLength: 1, maxLength: 3 }),
        after: fc.integer({ min: 1_700_000_000_000, max: 1_900_000_000_000 }),
        between: fc.double({ min: 0, max: 0.999, noNaN: true }),
        zone: fc.constantFrom('UTC', 'Asia/Kolkata', 'Pacific/Auckland'),
      }),
      ({ second, minutes, after, between, zone }) => {
        const schedule = quartz(`${second} ${minutes.join(',')} * * * ?`, zone);
        const next = nextRun(schedule, after)!;
        expect(next).toBeGreaterThan(after);
        expect(nextRun(schedule, after + Math.floor((next - after) * between))).toBe(next);
      },
    ),
  ));

test.each([
  ['CRON_TZ=Asia/Tokyo 0 8 * * *', 'say scheduleTimeZone Asia/Tokyo'],
  ['TZ=UTC 0 8 * * *', 'say scheduleTimeZone UTC'],
  ['@every 5m', 'say scheduleType RFC5545'],
  ['0 0 1-7 * 2', "say it by '2#1'"],
])('what other programs read in %s is told in words of this one', (schedule, told) => {
  const read = readSchedule({ schedule });
  expect('errors' in read && read.errors[0]?.message).toContain(told);
});
