import { describe, expect, test } from 'vitest';
import type { Request } from '../model/request.js';
import { timingProblems, timingWarning } from './index.js';

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
    [{ exclusions: [{ schedule: '30 * * * *', durationMillis: 20 * 60_000 }] }],
  ])('and those that do not are taken: %j', (members) => expect(problems(members)).toEqual([]));
});

test('a request whose times are over may stay as it is', () => {
  const over = { endAt: now - hour };
  const stored = { id: 'job', requestType: 'SCHEDULED', schedule: '0 * * * *', ...over } as Request;
  expect(problems(over, stored)).toEqual([]);
  expect(problems({ ...over, scheduleJitterMillis: 5 }, stored)).toEqual(['endAt future']);
});

test.each([
  [hour, undefined],
  [hour + 1, `scheduleJitterMillis ${hour + 1} is longer than the ${hour} ms between its next two runs`],
])('an offset of up to %d ms is warned of where runs are nearer to each other', (scheduleJitterMillis, warning) =>
  expect(timingWarning({ id: 'job', requestType: 'SCHEDULED', schedule: '0 * * * *', scheduleJitterMillis }, now)).toBe(
    warning,
  ),
);
