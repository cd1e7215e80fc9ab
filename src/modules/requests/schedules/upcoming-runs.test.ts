import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openRequestsRoom, type RequestsRoom } from '../../../../test/support/requests-room.js';
import type { UpcomingRunsDto } from './upcoming-runs.dto.js';

let room: RequestsRoom;
let noon: number;
const day = 86_400_000;
const hour = 3_600_000;

beforeAll(async () => {
  room = await openRequestsRoom();
  noon = room.clock.millis;
  for (const [id, members] of [
    ['nightly', { schedule: '0 3 * * *', scheduleTimeZone: 'Europe/Paris' }],
    ['hourly', { schedule: '0 * * * *' }],
    ['paused', { schedule: '0 * * * *' }],
    ['undeployed', { schedule: '0 * * * *' }],
  ] as const) {
    await room.request(id, { requestType: 'SCHEDULED', ...members });
    if (id !== 'undeployed') await room.deploy(id);
  }
  await room.request('service');
  await room.deploy('service');
  await room.call('POST', '/api/requests/request/paused/pause');
});
afterAll(() => room.close());

const call = (query: string) => room.call('GET', `/api/schedules/upcoming${query}`);
async function upcoming(query: string): Promise<UpcomingRunsDto> {
  const { status, body } = await call(query);
  expect(status).toBe(200);
  return body as unknown as UpcomingRunsDto;
}

describe('the upcoming runs', () => {
  test('are those of a day where no times are given, of requests that run by their schedules', async () => {
    const { from, to, runs, isComplete } = await upcoming('');
    expect([from, to - from, isComplete]).toEqual([room.clock.millis, day, true]);
    expect(runs).toHaveLength(25);
    expect(runs.filter(({ requestId }) => requestId === 'nightly')).toEqual([
      { requestId: 'nightly', at: noon + 14 * hour, timeZone: 'Europe/Paris' },
    ]);
    expect(runs[0]).toEqual({ requestId: 'hourly', at: noon + hour, timeZone: 'UTC' });
  });

  test('are between two times, of one request, and no more than are wanted', async () => {
    const tomorrow = new Date(noon + day).toISOString();
    const { runs, isComplete } = await upcoming(`?requestId=hourly&from=${tomorrow}&to=${noon + 2 * day}&limit=3`);
    expect(runs.map(({ at }) => (at - noon) / hour)).toEqual([24, 25, 26]);
    expect(isComplete).toBe(false);
  });

  test('of times that have passed are those since the last change of the request', async () => {
    await room.sql(`UPDATE request SET changed_at = $1 WHERE id = 'hourly'`, [new Date(noon - 150 * 60_000)]);
    const { runs } = await upcoming(`?requestId=hourly&from=${noon - day}&to=${noon}`);
    expect(runs.map(({ at }) => (at - noon) / hour)).toEqual([-2, -1]);
  });

  test('are none of a request without a schedule, and 404 where there is no such request', async () => {
    expect((await upcoming('?requestId=service')).runs).toEqual([]);
    expect(await call('?requestId=nothing')).toRefuse(404, 'REQUEST_NOT_FOUND');
  });

  test.each([
    [
      'to=2026-01-15T12:00:00Z&from=2026-01-15T12:00:00Z',
      'to',
      'to must be after from, which is 2026-01-15T12:00:00.000Z',
    ],
    ['from=2026-01-15&to=2027-02-01', 'to', 'to must be at most 366 days after from'],
    ['from=soon', 'from', 'from must be a time in epoch milliseconds or as ISO 8601'],
    ['limit=10001', 'limit', 'limit must be at most 10000, not 10001'],
    ['limit=-1', 'limit', 'limit must be at least 1, not -1'],
  ])('?%s is 400 and names %s', async (query, field, message) => {
    const { status, body } = await call(`?${query}`);
    expect([status, body.errors[0]?.field]).toEqual([400, field]);
    expect(body.errors[0]?.message).toContain(message);
  });
});
