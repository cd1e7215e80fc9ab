import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openRequestsRoom, type RequestsRoom } from '../../../test/support/requests-room.js';

let room: RequestsRoom;
beforeAll(async () => {
  room = await openRequestsRoom();
  await room.request('web', { instances: 3, taskPriorityLevel: 0.5, group: 'g' });
});
afterAll(() => room.close());
const path = (action: string) => `/api/requests/request/web/${action}`;

describe.each([
  ['PUT', 'scale'],
  ['PUT', 'priority'],
  ['POST', 'groups'],
])('%s %s', (method, action) => {
  test.each([undefined, null])(
    'with %s for a body is 400: what is absent would be cleared by mistake',
    async (body) => {
      const answer = await room.call(method, path(action), body);
      expect([answer.status, answer.body.errors]).toEqual([400, [expect.objectContaining({ rule: 'required' })]]);
      const { request } = (await room.call('GET', '/api/requests/request/web')).body;
      expect(request).toEqual({ id: 'web', requestType: 'SERVICE', instances: 3, taskPriorityLevel: 0.5, group: 'g' });
    },
  );
});

test.each([
  ['POST', 'bounce', 409],
  ['POST', 'exit-cooldown', 409],
  ['PUT', 'skip-healthchecks', 200],
  ['POST', 'pause', 200],
  ['POST', 'unpause', 200],
])('%s %s needs none', async (method, action, status) => {
  expect((await room.call(method, path(action))).status).toBe(status);
});
