import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CrashLoopInfo } from '../../core/model/crash-loop.js';
import { openRequestsRoom, type RequestsRoom } from '../../../test/support/requests-room.js';

let room: RequestsRoom;
const loop = (requestId: string, start: number, own: Partial<CrashLoopInfo> = {}): CrashLoopInfo => ({
  requestId,
  deployId: 'd1',
  start,
  type: 'OOM',
  ...own,
});
beforeAll(async () => {
  room = await openRequestsRoom();
  for (const id of ['alpha', 'beta', 'calm']) await room.request(id);
  for (const { requestId, deployId, type, start, end } of [
    loop('alpha', 1_000, { end: 1_500 }),
    loop('alpha', 2_000),
    loop('alpha', 2_000, { type: 'SLOW_FAILURES' }),
    loop('beta', 3_000),
  ]) {
    await room.sql('INSERT INTO crash_loop VALUES ($1, $2, $3, $4, $5)', [
      requestId,
      deployId,
      type,
      new Date(start),
      end === undefined ? null : new Date(end),
    ]);
  }
});
afterAll(() => room.close());

const ofAlpha = [
  loop('alpha', 2_000),
  loop('alpha', 2_000, { type: 'SLOW_FAILURES' }),
  loop('alpha', 1_000, { end: 1_500 }),
];

describe('GET crashloops', () => {
  test('of one request: newest first, only those that are over have an end', async () => {
    const answer = await room.call('GET', '/api/requests/request/alpha/crashloops');
    expect(answer).toEqual({ status: 200, body: ofAlpha });
  });

  test('of a request without any: an empty list', async () =>
    expect(await room.call('GET', '/api/requests/request/calm/crashloops')).toEqual({ status: 200, body: [] }));

  test('of a request that does not exist: 404', async () => {
    expect(await room.call('GET', '/api/requests/request/nobody/crashloops')).toRefuse(404, 'REQUEST_NOT_FOUND');
  });

  test('of all requests: by request id, those without any left out', async () =>
    expect(await room.call('GET', '/api/requests/crashloops')).toEqual({
      status: 200,
      body: { alpha: ofAlpha, beta: [loop('beta', 3_000)] },
    }));
});

describe('the table', () => {
  const insert = (type: string, start: number, end: number | null) =>
    room.sql('INSERT INTO crash_loop VALUES ($1, $2, $3, $4, $5)', [
      'calm',
      'd1',
      type,
      new Date(start),
      end === null ? null : new Date(end),
    ]);

  test('has at most one open loop of a type per deploy', async () => {
    await insert('OOM', 1, 2);
    await insert('OOM', 2, null);
    await expect(insert('OOM', 3, null)).rejects.toThrow('crash_loop_open');
    await insert('SLOW_FAILURES', 3, null);
  });
});
