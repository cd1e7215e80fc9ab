import { afterAll, beforeAll, expect, test } from 'vitest';
import { ExpiringPoller } from './expiring/expiring.poller.js';
import { openRequestsRoom, type RequestsRoom } from '../../../test/support/requests-room.js';

let room: RequestsRoom;
beforeAll(async () => {
  room = await openRequestsRoom();
});
afterAll(() => room.close());

const path = (id: string) => `/api/requests/request/${id}/priority`;
const pass = async (millis: number) => {
  room.clock.millis += millis;
  await room.app.get(ExpiringPoller).runOnce(room.clock.now());
};
const levelOf = async (id: string) => (await room.call('GET', `/api/requests/request/${id}`)).body.request;

test('a priority holds for a while, shows what it goes back to, and lapses', async () => {
  await room.request('while', { taskPriorityLevel: 0.4 });
  const asked = { priority: 0.9, durationMillis: 2000, actionId: 'a1', message: 'launch day' };
  const { status, body } = await room.call('PUT', path('while'), asked);
  expect([status, body.request.taskPriorityLevel]).toEqual([200, 0.9]);
  expect(body.expiringPriority).toEqual({
    requestId: 'while',
    startMillis: room.clock.now(),
    actionId: 'a1',
    expiringAPIRequestObject: asked,
    revertToPriority: 0.4,
  });
  expect((await room.history('while'))[0]).toEqual(['UPDATED', null, 'launch day']);
  await pass(2000);
  expect((await levelOf('while')).taskPriorityLevel).toBe(0.9);
  await pass(1);
  expect((await levelOf('while')).taskPriorityLevel).toBe(0.4);
  expect((await room.history('while'))[0]).toEqual(['UPDATED', null, 'Priority expired after 00:02.000 (launch day)']);
  expect(await room.sql(`SELECT 1 FROM expiring_action WHERE target_id = 'while'`)).toEqual([]);
});

test('a priority without a duration stays, also one that would have been taken back', async () => {
  await room.request('stays');
  await room.call('PUT', path('stays'), { priority: 0.9, durationMillis: 1000 });
  const { body } = await room.call('PUT', path('stays'), { priority: 0.1 });
  expect([body.request.taskPriorityLevel, body.expiringPriority]).toEqual([0.1, undefined]);
  await pass(5000);
  expect((await levelOf('stays')).taskPriorityLevel).toBe(0.1);
  await room.call('PUT', path('stays'), { priority: null });
  expect(await levelOf('stays')).toEqual({ id: 'stays', requestType: 'SERVICE' });
});

test('DELETE makes a priority permanent, once', async () => {
  await room.request('kept');
  await room.call('PUT', path('kept'), { priority: 0.9, durationMillis: 1000 });
  expect((await room.call('DELETE', path('kept'))).body.expiringPriority).toBeUndefined();
  expect(await room.call('DELETE', path('kept'))).toRefuse(404, 'EXPIRING_ACTION_NOT_FOUND');
  await pass(5000);
  expect((await levelOf('kept')).taskPriorityLevel).toBe(0.9);
});

test.each([
  [{ priority: 3 }, 'priority', 'max'],
  [{ priority: -0.1 }, 'priority', 'min'],
  [{ priority: '0.5' }, 'priority', 'type'],
  [{ priority: 0.5, durationMillis: -1 }, 'durationMillis', 'min'],
])('%j is 400 and names the field and the rule', async (body, field, rule) => {
  await room.request('bad');
  expect(await room.call('PUT', path('bad'), body)).toRefuse(400, 'INVALID_REQUEST', { field, rule });
});

test('is refused for nobody, and while the request is being deleted', async () => {
  expect(await room.call('PUT', path('nobody'), { priority: 0.5 })).toRefuse(404, 'REQUEST_NOT_FOUND');
  await room.request('going');
  await room.call('DELETE', '/api/requests/request/going');
  expect(await room.call('PUT', path('going'), { priority: 0.5 })).toRefuse(409, 'REQUEST_BEING_CLEANED');
});
