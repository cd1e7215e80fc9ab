import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Request } from '../model/request.js';
import type { RequestFacts } from './action-rules.js';
import { nextTimes } from '../schedules/index.js';
import { backfillEntry, backfillTimes, mostBackfillTimes, refuseBackfill } from './backfill.js';

const hour = 3_600_000;
const now = Date.UTC(2027, 0, 15, 12, 30);
const job = (members: Partial<Request> = {}): Request => ({
  id: 'job',
  requestType: 'SCHEDULED',
  schedule: '0 * * * *',
  ...members,
});
const found = (from: number, to: number, request = job()) => backfillTimes(request, undefined, { from, to }, now);
const rules = (...parameters: Parameters<typeof found>) => {
  const answer = found(...parameters);
  return 'errors' in answer ? answer.errors.map(({ field, rule }) => `${field} ${rule}`) : answer.times;
};

describe('planned times', () => {
  const at = Date.UTC(2027, 0, 15, 10);
  test.each([
    { name: 'the first is included, the last is not', from: at, to: at + 2 * hour, is: [at, at + hour] },
    { name: 'not from a moment after it', from: at + 1, to: at + 2 * hour, is: [at + hour] },
    { name: 'up to now', from: at, to: now, is: [at, at + hour, at + 2 * hour] },
    { name: 'not beyond', from: at, to: now + 1, is: ['to past'] },
    { name: 'not backwards', from: at, to: at, is: ['to after'] },
    { name: 'not of nothing', from: at + 1, to: at + hour, is: ['from planned'] },
    { name: 'not too many', from: at - (mostBackfillTimes + 1) * hour, to: at, is: ['to max'] },
  ])('$name', ({ from, to, is }) => expect(rules(from, to)).toEqual(is));

  test('are in the zone of the schedule, over a change of its clocks', () => {
    const request = job({ schedule: '30 2 * * *', scheduleTimeZone: 'Europe/Paris' });
    const [from, to] = [Date.UTC(2026, 9, 24), Date.UTC(2026, 9, 27)];
    expect(rules(from, to, request)).toEqual([24, 25, 26].map((day) => Date.UTC(2026, 9, day, day < 26 ? 0 : 1, 30)));
  });

  const minute = 60_000;
  test.each<{ name: string; members: Partial<Request>; is: number[] }>([
    {
      name: 'of each schedule, a time of two of them once',
      members: { schedule: undefined, schedules: [{ schedule: '0 * * * *' }, { schedule: '0,30 11 * * *' }] },
      is: [0, 60, 90, 120],
    },
    { name: 'without those in exclusions', members: { exclusions: [{ from: at, to: at + hour + 1 }] }, is: [120] },
    {
      name: 'without those in exclusions that come again',
      members: { exclusions: [{ schedule: '30 10 * * *', durationMillis: hour }] },
      is: [0, 120],
    },
    { name: 'from startAt on', members: { startAt: at + 1 }, is: [60, 120] },
    { name: 'up to endAt', members: { endAt: at + hour }, is: [0, 60] },
  ])('are those of the timetable: $name', ({ members, is }) => {
    const times = rules(at, at + 2 * hour + minute, job(members));
    expect(times.map((time) => (typeof time === 'number' ? (time - at) / minute : time))).toEqual(is);
  });

  test('have the offset of their request', () => {
    const members = { scheduleJitterMillis: hour };
    const [first] = nextTimes(job(members), undefined, at, 1);
    expect(first!.at % hour).toBeGreaterThan(0);
    expect(rules(at, at + hour, job(members))).toEqual([at + (first!.at % hour)]);
  });

  test('in exclusions alone are none', () =>
    expect(rules(at, at + hour, job({ exclusions: [{ from: at, to: at + hour }] }))).toEqual(['from planned']));

  test('of two windows side by side are those of both together', () =>
    fc.assert(
      fc.property(fc.nat(200), fc.nat(200), fc.nat(200), (a, b, c) => {
        const [first = 0, middle = 0, last = 0] = [a, b, c]
          .sort((x, y) => x - y)
          .map((minutes) => now - hour * 8 + minutes * 60_000);
        const times = (from: number, to: number) => {
          const answer = found(from, to, job({ schedule: '*/7 * * * *' }));
          return 'times' in answer ? answer.times : [];
        };
        expect([...times(first, middle), ...times(middle, last)]).toEqual(times(first, last));
      }),
    ));
});

describe('a backfill is refused', () => {
  const facts = (own: Partial<RequestFacts> & { members?: Partial<Request> } = {}): RequestFacts => ({
    state: 'ACTIVE',
    cleanups: [],
    deployInUse: 'd1',
    bouncing: false,
    deployChangesRequest: false,
    ...own,
    request: job(own.members),
  });
  test.each([
    { name: 'not of an active job', own: {}, is: undefined },
    { name: 'not while it cools down', own: { state: 'SYSTEM_COOLDOWN' as const }, is: undefined },
    { name: 'of a job on demand', own: { members: { requestType: 'ON_DEMAND' as const } }, is: 'INVALID_REQUEST' },
    { name: 'while it is paused', own: { state: 'PAUSED' as const }, is: 'REQUEST_PAUSED' },
    { name: 'after its end', own: { state: 'FINISHED' as const }, is: 'REQUEST_FINISHED' },
    { name: 'while it is deleted', own: { cleanups: ['DELETING' as const] }, is: 'REQUEST_BEING_CLEANED' },
    { name: 'without a deploy', own: { deployInUse: undefined }, is: 'NO_DEPLOY' },
  ])('$name', ({ own, is }) => expect(refuseBackfill(facts(own), false)?.code).toBe(is));
  test('under compatibility, whose clients do not know its runs', () =>
    expect(refuseBackfill(facts(), true)?.code).toBe('INVALID_REQUEST'));
});

test('its run says what it is for', () =>
  expect(
    backfillEntry({ backfillId: 'b1', scheduledAt: 5, user: 'ann' }, { requestId: 'job', deployId: 'd1' }, 9),
  ).toMatchObject({ pendingType: 'BACKFILL', trigger: 'BACKFILL', scheduledAt: 5, runId: 'b1-5', timestamp: 9 }));
