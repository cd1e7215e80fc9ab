import { describe, expect, test } from 'vitest';
import type { Request } from '../model/request.js';
import fc from 'fast-check';
import { type ActiveRun, firstCheckAt, judgeRunTime, nextCheckAt, type RunTimeRules } from './run-times.js';

const hour = 3_600_000;
const day = 24 * hour;
const now = Date.parse('2026-01-10T12:00:00Z');
const rules: RunTimeRules = {
  warnIfScheduledJobIsRunningForAtLeastMillis: day,
  warnIfScheduledJobIsRunningPastNextRunPct: 200,
};
const job = (own: Partial<Request> = {}): Request => ({
  id: 'job',
  requestType: 'SCHEDULED',
  quartzSchedule: '0 0 * * * ?',
  ...own,
});
const run = (hours: number, own: Partial<ActiveRun> = {}): ActiveRun => ({ startedAt: now - hours * hour, ...own });
const judge = (request: Request, active: ActiveRun, own: Partial<RunTimeRules> = {}) =>
  judgeRunTime(request, active, { ...rules, ...own }, now);

test('the next time of a rule without a start counts from when it was saved', () => {
  const request = job({ quartzSchedule: undefined, scheduleType: 'RFC5545', schedule: 'FREQ=HOURLY;INTERVAL=30' });
  const saved = now - 60 * hour;
  // Saved 29 hours before the run began: the next one was to begin an hour later.
  expect(judge(request, run(31, { scheduleSince: saved }))).toMatchObject({ kind: 'overdue', expectedMillis: hour });
});

describe('the time limit of a run', () => {
  test.each([
    { name: 'is the one of its request', request: job({ taskExecutionTimeLimitMillis: hour }), rules: {}, ends: true },
    {
      name: 'which counts before that of all',
      request: job({ taskExecutionTimeLimitMillis: 2 * hour }),
      rules: { taskExecutionTimeLimitMillis: 1 },
      ends: false,
    },
    { name: 'else that of all', request: job(), rules: { taskExecutionTimeLimitMillis: hour }, ends: true },
    { name: 'else there is none', request: job(), rules: {}, ends: false },
    {
      name: 'never counts for a service',
      request: job({ requestType: 'SERVICE' }),
      rules: { taskExecutionTimeLimitMillis: hour },
      ends: false,
    },
    {
      name: 'counts for every other type',
      request: job({ requestType: 'RUN_ONCE' }),
      rules: { taskExecutionTimeLimitMillis: hour },
      ends: true,
    },
  ])('$name', ({ request, rules: own, ends }) => expect(judge(request, run(1), own).kind === 'end').toBe(ends));

  test('is reached to the millisecond, and both durations are told', () => {
    const request = job({ taskExecutionTimeLimitMillis: hour + 1 });
    expect(judge(request, run(1))).toEqual({ kind: 'fine' });
    expect(judge(request, { startedAt: now - hour - 1 })).toEqual({
      kind: 'end',
      runMillis: hour + 1,
      limitMillis: hour + 1,
    });
  });

  test('of 0 ends it as soon as it has started', () => {
    const request = job({ taskExecutionTimeLimitMillis: 0 });
    expect(judge(request, run(0), { taskExecutionTimeLimitMillis: hour })).toEqual({
      kind: 'end',
      runMillis: 0,
      limitMillis: 0,
    });
  });
});

describe('a run is overdue', () => {
  test.each([
    { name: 'not before it took a day', request: job(), active: run(23), expected: undefined },
    {
      name: 'beyond twice of what the request expects',
      request: job({ scheduledExpectedRuntimeMillis: 10 * hour }),
      active: run(24, { averageRuntimeMillis: 90 * hour }),
      expected: 10 * hour,
    },
    {
      name: 'not at twice',
      request: job({ scheduledExpectedRuntimeMillis: 12 * hour }),
      active: run(24),
      expected: undefined,
    },
    {
      name: 'else beyond twice of what its deploy takes on average',
      request: job(),
      active: run(24, { averageRuntimeMillis: 10 * hour }),
      expected: 10 * hour,
    },
    {
      name: 'else beyond twice of the time between two runs',
      request: job({ quartzSchedule: '0 0 0/8 * * ?' }),
      active: run(28),
      expected: 8 * hour,
    },
    {
      name: 'which is that of its time zone',
      request: job({ quartzSchedule: '0 0 10 * * ?', scheduleTimeZone: 'Asia/Tokyo' }),
      active: run(36),
      expected: hour,
    },
    {
      name: 'never when there is nothing to expect',
      request: job({ quartzSchedule: '0 0 0 1 1 ? 2020' }),
      active: run(999),
      expected: undefined,
    },
    {
      name: 'never unless it is scheduled',
      request: job({ requestType: 'ON_DEMAND' }),
      active: run(999),
      expected: undefined,
    },
  ])('$name', ({ request, active, expected }) =>
    expect(judge(request, active)).toEqual(
      expected === undefined
        ? { kind: 'fine' }
        : { kind: 'overdue', runMillis: now - active.startedAt, expectedMillis: expected },
    ),
  );

  test('but one that has to end is not also told of', () =>
    expect(judge(job({ taskExecutionTimeLimitMillis: day }), run(99)).kind).toBe('end'));
});

test('a run is looked at at the very millisecond from which there is something to say, and never after it', () => {
  const millis = fc.integer({ min: 1, max: 10_000_000 });
  const some = fc.option(millis, { nil: undefined });
  fc.assert(
    fc.property(
      fc.constantFrom<Request['requestType']>('SCHEDULED', 'ON_DEMAND', 'RUN_ONCE', 'SERVICE'),
      fc.record({ limit: some, expected: some, average: some, general: some, warn: millis, percent: fc.nat(400) }),
      (requestType, { limit, expected, average, general, warn, percent }) => {
        const request: Request = {
          id: 'r',
          requestType,
          schedule: '0 * * * *',
          taskExecutionTimeLimitMillis: limit,
          scheduledExpectedRuntimeMillis: expected,
        };
        const limits: RunTimeRules = {
          taskExecutionTimeLimitMillis: general,
          warnIfScheduledJobIsRunningForAtLeastMillis: warn,
          warnIfScheduledJobIsRunningPastNextRunPct: percent,
        };
        const run: ActiveRun = { startedAt: 1_000_000, averageRuntimeMillis: average };
        const at = nextCheckAt(request, { ...run, told: false }, limits);
        const first = firstCheckAt(request, run.startedAt, limits);
        const judged = (now: number) => judgeRunTime(request, run, limits, now).kind;
        if (at === undefined) expect(judged(run.startedAt + 1e12)).toBe('fine');
        else {
          expect([judged(at - 1), judged(at)]).toEqual(['fine', expect.stringMatching(/end|overdue/)]);
          expect(first).toBeLessThanOrEqual(at);
        }
      },
    ),
  );
});
