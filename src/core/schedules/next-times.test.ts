import { expect, test } from 'vitest';
import { nextTimes, timeIn } from './index.js';

const after = Date.parse('2026-03-28T12:00:00Z');

test('the next times stand there in UTC and as the clocks of the zone show them, also across a change of clocks', () => {
  const found = nextTimes({ schedule: '30 4 * * *', scheduleTimeZone: 'Europe/Paris' }, undefined, after, 2);
  expect(found).toEqual([
    {
      at: Date.parse('2026-03-29T02:30:00Z'),
      utc: '2026-03-29T02:30:00.000Z',
      local: '2026-03-29T04:30:00+02:00',
      timeZone: 'Europe/Paris',
    },
    expect.objectContaining({ utc: '2026-03-30T02:30:00.000Z', local: '2026-03-30T04:30:00+02:00' }),
  ]);
});

test('as many as there are: none of what has ended or cannot be read', () => {
  const rule = 'DTSTART=20260401T000000 RRULE:FREQ=DAILY;COUNT=2';
  expect(nextTimes({ schedule: rule, scheduleType: 'RFC5545' }, undefined, after, 5)).toHaveLength(2);
  expect(nextTimes({ quartzSchedule: '0 0 0 1 1 ? 2020' }, undefined, after, 5)).toEqual([]);
  expect(nextTimes({ schedule: 'x' }, undefined, after, 5)).toEqual([]);
});

test.each([
  ['Asia/Kolkata', '2026-03-28T17:30:00+05:30'],
  ['America/St_Johns', '2026-03-28T09:30:00-02:30'],
  ['America/New_York', '2026-03-28T08:00:00-04:00'],
  ['UTC', '2026-03-28T12:00:00+00:00'],
])('the offset of %s', (zone, local) => expect(timeIn(zone, after).local).toBe(local));
