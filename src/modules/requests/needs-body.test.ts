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
      expect(answer).toRefuse(400, 'INVALID_REQUEST', { rule: 'required' });
      expect(answer.body.errors).toHaveLength(1);
      const { request } = (await room.call('GET', '/api/requests/request/web')).body;
      expect(request).toEqual({ id: 'web', requestType: 'SERVICE', instances: 3, taskPriorityLevel: 0.5, group: 'g' });
    },
  );
});

/* What is left out, or misspelt, changes nothing; null, where there may be none, says so. */
test.each([
  ['PUT', 'scale', {}, 'instances is required'],
  ['PUT', 'scale', { instnaces: 5, message: 'more' }, 'instances is required'],
  ['PUT', 'scale', { instances: null }, 'instances is required'],
  ['PUT', 'priority', {}, 'priority is required; null stands for none'],
  ['PUT', 'priority', { priorty: 0.5 }, 'priority is required'],
  ['PUT', 'skip-healthchecks', { skipHealthcheks: true }, 'skipHealthchecks is required'],
  ['PUT', 'skipHealthchecks', { message: 'why' }, 'skipHealthchecks is required'],
  ['POST', 'groups', {}, 'One of group, readWriteGroups, readOnlyGroups is required'],
  ['POST', 'groups', { groups: ['x'] }, 'One of group,'],
])('%s %s of %j is 400: %s', async (method, action, sent, message) => {
  const answer = await room.call(method, path(action), sent);
  expect(answer).toRefuse(400, 'INVALID_REQUEST', { message: expect.stringContaining(message) });
  // Beside it stands what was misspelt.
  expect(answer.body.errors[0]).toMatchObject({ rule: 'required' });
  const { request } = (await room.call('GET', '/api/requests/request/web')).body;
  expect(request).toEqual({ id: 'web', requestType: 'SERVICE', instances: 3, taskPriorityLevel: 0.5, group: 'g' });
});

test('null takes away what may be none', async () => {
  await room.request('plain', { taskPriorityLevel: 0.5, group: 'g', skipHealthchecks: true });
  const at = (action: string) => `/api/requests/request/plain/${action}`;
  const answers = [
    await room.call('PUT', at('priority'), { priority: null }),
    await room.call('POST', at('groups'), { group: null }),
    await room.call('PUT', at('skip-healthchecks'), { skipHealthchecks: null }),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  const { request } = (await room.call('GET', '/api/requests/request/plain')).body;
  expect(request).toEqual({ id: 'plain', requestType: 'SERVICE', readWriteGroups: [], readOnlyGroups: [] });
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
