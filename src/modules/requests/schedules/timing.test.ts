import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { openRequestsRoom, type RequestsRoom } from '../../../../test/support/requests-room.js';
import type { SchedulePreviewDto } from './schedule-preview.dto.js';

let room: RequestsRoom;
let noon: number;
const hour = 3_600_000;

beforeAll(async () => {
  room = await openRequestsRoom();
  noon = room.clock.millis;
});
afterAll(() => room.close());

const save = (id: string, members: object) =>
  room.call('POST', '/api/requests', { id, requestType: 'SCHEDULED', schedule: '0 * * * *', ...members });
const hoursOf = (times: readonly { at: number }[] | undefined) => times?.map(({ at }) => (at - noon) / hour);

describe('members that say when a request runs', () => {
  test('are stored and answered as they were sent, and those that were not sent are absent', async () => {
    const members = {
      overlapPolicy: 'BUFFER_ONE',
      missedRuns: { policy: 'LAST', withinMillis: hour },
      scheduleJitterMillis: 5_000,
      startAt: noon,
      endAt: noon + 100 * hour,
      maxRuns: 7,
      exclusions: [
        { schedule: '0 22 * * *', durationMillis: hour },
        { from: noon, to: noon + 1 },
      ],
    };
    expect((await save('all', members)).body.request).toEqual({
      id: 'all',
      requestType: 'SCHEDULED',
      schedule: '0 * * * *',
      quartzSchedule: '0 0 * * * ?',
      ...members,
    });
    expect((await save('none', {})).body.request).toEqual({
      id: 'none',
      requestType: 'SCHEDULED',
      schedule: '0 * * * *',
      quartzSchedule: '0 0 * * * ?',
    });
    const schedules = [{ schedule: '0 3 * * *' }, { schedule: '0 4 * * *', scheduleTimeZone: 'Asia/Tokyo' }];
    const { body } = await save('several', { schedule: undefined, schedules });
    expect(body.request).toEqual({ id: 'several', requestType: 'SCHEDULED', schedules });
    expect(hoursOf(body.nextRuns)).toEqual([7, 15, 31, 39, 55]);
  });

  test('count in nextRuns', async () => {
    const exclusions = [{ from: noon, to: noon + 3 * hour }];
    const { body } = await save('bounded', { exclusions, endAt: noon + 5 * hour });
    expect(hoursOf(body.nextRuns)).toEqual([3, 4, 5]);
    const few = await save('few', { maxRuns: 2 });
    expect(hoursOf(few.body.nextRuns)).toEqual([1, 2]);
    const spread = await save('spread', { scheduleJitterMillis: hour });
    const [first, second] = spread.body.nextRuns;
    expect(second!.at - first!.at).toBe(hour);
    expect(first!.at % hour).not.toBe(0);
  });

  test('keep the time from which an exclusion by a rule without a start counts', async () => {
    const exclusions = [{ schedule: 'FREQ=HOURLY;INTERVAL=6', scheduleType: 'RFC5545', durationMillis: hour }];
    const first = await save('ruled', { exclusions });
    // It begins with the minute in which it was saved.
    expect(hoursOf(first.body.nextRuns)).toEqual([1, 2, 3, 4, 5]);
    room.clock.millis += 4 * hour;
    onTestFinished(() => void (room.clock.millis -= 4 * hour));
    const { body } = await save('ruled', { exclusions, owners: ['ann@example.com'] });
    expect(hoursOf(body.nextRuns)).toEqual([5, 7, 8, 9, 10]);
  });

  test('are taken with a warning where the offset is longer than the interval', async () => {
    const request = { id: 'warned', requestType: 'SCHEDULED', schedule: '0 * * * *', scheduleJitterMillis: 2 * hour };
    const answer = await fetch(`${room.url}/api/requests`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(request),
    });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('warning')).toContain('scheduleJitterMillis 7200000 is longer than the 3600000 ms');
  });

  test('have the queue look at the request when they change, and not when they stay', async () => {
    await save('looked', { overlapPolicy: 'BUFFER_ONE', missedRuns: { policy: 'LAST', withinMillis: 5 } });
    await room.deploy('looked');
    await save('looked', { missedRuns: { withinMillis: 5, policy: 'LAST' }, overlapPolicy: 'BUFFER_ONE' });
    expect(await room.pending('looked')).toEqual([]);
    await save('looked', { overlapPolicy: 'REPLACE' });
    expect((await room.pending('looked')).map(({ pendingType }) => pendingType)).toEqual(['UPDATED_REQUEST']);
  });

  test.each([
    [{ overlapPolicy: 'NEVER' }, 'overlapPolicy'],
    [{ overlapPolicy: 'ALLOW' }, 'overlapPolicy'],
    [{ missedRuns: { policy: 'NONE' } }, 'missedRuns.policy'],
    [{ missedRuns: { policy: 'SKIP', withinMillis: -1 } }, 'missedRuns.withinMillis'],
    [{ scheduleJitterMillis: 1.5 }, 'scheduleJitterMillis'],
    [{ startAt: 'soon' }, 'startAt'],
    [{ schedules: [{}], schedule: undefined }, 'schedules.0.schedule'],
    [{ exclusions: [{ schedule: '0 0 * * *', durationMillis: 'long' }] }, 'exclusions.0.durationMillis'],
    [{ exclusions: {} }, 'exclusions'],
    [{ exclusions: [] }, 'exclusions'],
    [{ exclusions: Array.from({ length: 51 }, (_, n) => ({ from: n, to: n + 1 })) }, 'exclusions'],
    [{ schedules: [], schedule: undefined }, 'schedules'],
    [
      { schedules: Array.from({ length: 21 }, (_, n) => ({ schedule: `${n} 0 * * *` })), schedule: undefined },
      'schedules',
    ],
    [{ requestType: 'ON_DEMAND', schedule: undefined, maxRuns: 2 }, 'maxRuns'],
  ])('are refused where they are wrong: %j', async (members, field) => {
    const answer = await save('wrong', members);
    expect(answer).toRefuse(400, 'INVALID_REQUEST');
    expect(answer.body.errors.map((error) => error.field)).toContain(field);
  });
});

describe('a preview of a schedule', () => {
  const preview = async (members: object) => {
    const { status, body } = await room.call('POST', '/api/schedules/preview', members);
    expect(status).toBe(200);
    return body as unknown as SchedulePreviewDto;
  };

  test('tells the next times, and of those without a run the reason', async () => {
    const { times, end, quartzSchedule } = await preview({
      schedule: '0 * * * *',
      scheduleTimeZone: 'Europe/Paris',
      count: 3,
      exclusions: [{ from: noon + 2 * hour, to: noon + 3 * hour }],
    });
    expect(hoursOf(times)).toEqual([1, 2, 3]);
    expect(times[0]).toEqual({
      at: noon + hour,
      utc: '2026-01-15T13:00:00.000Z',
      local: '2026-01-15T14:00:00+01:00',
      timeZone: 'Europe/Paris',
    });
    const message = 'exclusions.0 has nothing start before 2026-01-15T15:00:00.000Z';
    expect(times[1]).toMatchObject({ skipped: 'EXCLUDED', message });
    expect([end, quartzSchedule]).toEqual(['COUNT', '0 0 * * * ?']);
  });

  test.each([
    [{ maxRuns: 2 }, [1, 2], 'MAX_RUNS'],
    [{ endAt: Date.UTC(2026, 0, 15, 14) }, [1, 2], 'END_AT'],
    [{ after: Date.UTC(2026, 0, 15, 14), count: 2 }, [3, 4], 'COUNT'],
    [
      { schedule: 'DTSTART=20260115T130000 RRULE:FREQ=HOURLY;COUNT=2', scheduleType: 'RFC5545' },
      [1, 2],
      'NO_FURTHER_TIME',
    ],
  ])('ends where the schedule does: %j', async (members, hours, end) => {
    const found = await preview({ schedule: '0 * * * *', ...members });
    expect([hoursOf(found.times), found.end]).toEqual([hours, end]);
  });

  test('resolves H by the id', async () => {
    const { quartzSchedule } = await preview({ id: 'job', schedule: 'H H * * *' });
    expect(quartzSchedule).toMatch(/^0 \d+ \d+ \* \* \?$/);
    expect((await save('job', { schedule: 'H H * * *' })).body.request.quartzSchedule).toBe(quartzSchedule);
  });

  test.each([
    [{}, 'schedule'],
    [{ schedule: 'H * * * *' }, 'schedule'],
    [{ schedule: '0 * * * *', scheduleJitterMillis: 5 }, 'id'],
    [{ schedule: '0 * * * *', count: 0 }, 'count'],
    [{ schedule: '0 * * * *', overlapPolicy: 'ALLOW' }, 'overlapPolicy'],
  ])('of %j is 400 and names %s', async (members, field) => {
    const answer = await room.call('POST', '/api/schedules/preview', members);
    expect([answer.status, answer.body.errors?.[0]?.field ?? answer.body.message]).toEqual([
      400,
      Object.keys(members).length > 0 ? field : expect.anything(),
    ]);
  });
});
