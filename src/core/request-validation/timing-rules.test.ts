import { describe, expect, test } from 'vitest';
import type { Request } from '../model/request.js';
import { timingProblems, timingWarnings } from './index.js';

const now = Date.UTC(2026, 0, 5, 12);
const problems = (members: Partial<Request>, stored?: Request): string[] =>
  timingProblems({ id: 'job', requestType: 'SCHEDULED', schedule: '0 * * * *', ...members }, { now, stored }).map(
    ({ field, rule }) => `${field} ${rule}`,
  );
const hour = 3_600_000;
const entry = { schedule: '0 0 * * *' };

describe('members that contradict each other', () => {
  test.each<[string, Partial<Request>]>([
    ['overlapPolicy instances', { overlapPolicy: 'ALLOW' }],
    ['overlapPolicy instances', { overlapPolicy: 'ALLOW', instances: 1 }],
    ['missedRuns.policy consistent', { overlapPolicy: 'BUFFER_ONE', missedRuns: { policy: 'ALL' } }],
    ['missedRuns.policy consistent', { overlapPolicy: 'REPLACE', missedRuns: { policy: 'ALL' } }],
    ['missedRuns.withinMillis min', { missedRuns: { policy: 'LAST', withinMillis: 0 } }],
    [
      'waitAtLeastMillisAfterTaskFinishesForReschedule consistent',
      { overlapPolicy: 'BUFFER_ALL', waitAtLeastMillisAfterTaskFinishesForReschedule: 5 },
    ],
    [
      'waitAtLeastMillisAfterTaskFinishesForReschedule consistent',
      { missedRuns: { policy: 'LAST' }, waitAtLeastMillisAfterTaskFinishesForReschedule: 5 },
    ],
    ['scheduleJitterMillis min', { scheduleJitterMillis: 0 }],
    ['scheduleJitterMillis max', { scheduleJitterMillis: 24 * hour + 1 }],
    ['endAt after', { startAt: now + 2, endAt: now + 1 }],
    ['endAt future', { endAt: now }],
    ['maxRuns min', { maxRuns: 0 }],
    ['schedules consistent', { schedules: [entry] }],
    ['schedules consistent', { schedule: undefined, scheduleType: 'CRON', schedules: [entry] }],
    ['schedules.1 unique', { schedule: undefined, schedules: [entry, { ...entry }] }],
    ['schedules.1 unique', { schedule: undefined, schedules: [entry, { schedule: '0  0 * * *' }] }],
    ['schedules.1 unique', { schedule: undefined, schedules: [entry, { ...entry, scheduleTimeZone: 'UTC' }] }],
    [
      'schedules.1 unique',
      { schedule: undefined, schedules: [entry, { schedule: '0 0 0 * * ?', scheduleType: 'QUARTZ' }] },
    ],
    [
      'schedules.1 unique',
      {
        schedule: undefined,
        scheduleTimeZone: 'Europe/Paris',
        schedules: [entry, { ...entry, scheduleTimeZone: 'Europe/Paris' }],
      },
    ],
    ['schedules future', { schedule: undefined, schedules: [{ schedule: '0 0 30 2 *' }] }],
    [
      'schedules.0.scheduleTimeZone timeZone',
      { schedule: undefined, schedules: [{ ...entry, scheduleTimeZone: 'Mars' }] },
    ],
    ['exclusions.0.schedule cron', { exclusions: [{ schedule: 'x', durationMillis: 1 }] }],
    ['exclusions future', { exclusions: [{ schedule: '0 * * * *', durationMillis: hour }] }],
  ])('are refused: %s', (problem, members) => expect(problems(members)).toEqual([problem]));

  test.each<[Partial<Request>]>([
    [{ overlapPolicy: 'SKIP', waitAtLeastMillisAfterTaskFinishesForReschedule: 5 }],
    [{ overlapPolicy: 'ALLOW', instances: 2, missedRuns: { policy: 'ALL' } }],
    [{ missedRuns: { policy: 'ALL', withinMillis: hour } }],
    [{ startAt: now, endAt: now + hour }],
    [{ schedule: undefined, scheduleTimeZone: 'Europe/Paris', schedules: [entry, { schedule: '0 1 * * *' }] }],
    [
      {
        schedule: undefined,
        scheduleTimeZone: 'Europe/Paris',
        schedules: [entry, { ...entry, scheduleTimeZone: 'UTC' }],
      },
    ],
    [{ exclusions: [{ schedule: '30 * * * *', durationMillis: 20 * 60_000 }] }],
  ])('and those that do not are taken: %j', (members) => expect(problems(members)).toEqual([]));
});

test('a request whose times are over may stay as it is', () => {
  const over = { endAt: now - hour };
  const stored = { id: 'job', requestType: 'SCHEDULED', schedule: '0 * * * *', ...over } as Request;
  expect(problems(over, stored)).toEqual([]);
  expect(problems({ ...over, scheduleJitterMillis: 5 }, stored)).toEqual(['endAt future']);
});

test.each<[string, Partial<Request>, string[]]>([
  ['an offset as long as the time between two runs', { scheduleJitterMillis: hour }, []],
  [
    'a longer one',
    { scheduleJitterMillis: hour + 1 },
    [`scheduleJitterMillis ${hour + 1} is longer than the ${hour} ms between its next two runs`],
  ],
  ['an exclusion that has not ended', { exclusions: [{ from: now - hour, to: now + 1 }] }, []],
  ['one that recurs', { exclusions: [{ schedule: '30 3 * * *', durationMillis: 1 }] }, []],
  [
    'one that has ended',
    {
      exclusions: [
        { from: now, to: now + 1 },
        { from: now - hour, to: now },
      ],
    },
    ['exclusions.1 is over: it excludes no time'],
  ],
  [
    'one that recurs no more',
    {
      exclusions: [
        { scheduleType: 'RFC5545', schedule: 'DTSTART=20251224T000000 RRULE:FREQ=DAILY;COUNT=2', durationMillis: hour },
      ],
    },
    ['exclusions.0 is over: it excludes no time'],
  ],
])('warned of: %s', (_name, members, warnings) =>
  expect(timingWarnings({ id: 'job', requestType: 'SCHEDULED', schedule: '0 * * * *', ...members }, now)).toEqual(
    warnings,
  ),
);
