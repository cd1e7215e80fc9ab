import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openRequestsRoom, type RequestsRoom } from '../../../test/support/requests-room.js';

let room: RequestsRoom;
beforeAll(async () => {
  room = await openRequestsRoom();
});
afterAll(() => room.close());

const at = (id: string, action: string): string => `/api/requests/request/${id}/${action}`;
const rowOf = async (id: string) => (await room.sql('SELECT * FROM request WHERE id = $1', [id]))[0]!;
const cleanupsOf = (id: string) =>
  room.sql('SELECT * FROM request_cleanup WHERE request_id = $1 ORDER BY cleanup_type', [id]);
const expiringOf = (id: string) => room.sql('SELECT * FROM expiring_action WHERE target_id = $1 ORDER BY kind', [id]);

/** A service with a deploy and two tasks. */
async function service(id: string): Promise<void> {
  await room.request(id, { instances: 2 });
  await room.deploy(id);
  await room.task(id, 1);
  await room.task(id, 2);
}
const setState = (id: string, state: string) => room.sql('UPDATE request SET state = $2 WHERE id = $1', [id, state]);

describe('pause', () => {
  test('without a body stops the request, and the cleaner is told', async () => {
    await service('p1');
    const { status, body } = await room.call('POST', at('p1', 'pause'));
    expect([status, body.state, body.expiringPause]).toEqual([200, 'PAUSED', undefined]);
    const row = await rowOf('p1');
    expect([row.state, Number(row.version)]).toEqual(['PAUSED', 2]);
    expect((await room.history('p1'))[0]).toEqual(['PAUSED', null, null]);
    expect(await cleanupsOf('p1')).toMatchObject([{ cleanup_type: 'PAUSING', kill_tasks: null, user_name: null }]);
    expect((await room.call('GET', '/api/requests/queued/cleanup')).body).toContainEqual({
      cleanupType: 'PAUSING',
      timestamp: expect.any(Number),
      requestId: 'p1',
    });
  });

  test('for a while shows when it ends and keeps what was asked for', async () => {
    await service('p2');
    const asked = { killTasks: false, durationMillis: 60_000, actionId: 'mine', message: 'short' };
    const { body } = await room.call('POST', at('p2', 'pause'), asked);
    expect(body.expiringPause).toEqual({
      requestId: 'p2',
      startMillis: room.clock.now(),
      actionId: expect.not.stringMatching('mine'),
      expiringAPIRequestObject: asked,
    });
    expect(await cleanupsOf('p2')).toMatchObject([{ kill_tasks: false, message: 'short' }]);
    expect((await room.history('p2'))[0]).toEqual(['PAUSED', null, 'short']);
  });

  test('ends a bounce under way and one that has not begun', async () => {
    await service('p3');
    await room.call('POST', at('p3', 'bounce'));
    const { status } = await room.call('POST', at('p3', 'pause'));
    expect([status, (await rowOf('p3')).bouncing]).toEqual([200, false]);
    expect((await cleanupsOf('p3')).map((row) => row.cleanup_type)).toEqual(['PAUSING']);
    expect(await expiringOf('p3')).toEqual([]);
  });

  test.each([
    ['paused already', 'PAUSED', 'REQUEST_PAUSED'],
    ['being deleted', 'DELETING', 'REQUEST_BEING_CLEANED'],
  ])('is refused when %s', async (_name, state, code) => {
    await room.request(`p-${state}`);
    await setState(`p-${state}`, state);
    expect(await room.call('POST', at(`p-${state}`, 'pause'))).toRefuse(409, code);
    expect(await cleanupsOf(`p-${state}`)).toEqual([]);
  });

  test('is refused while the pause before is still being cleaned up', async () => {
    await service('p4');
    await room.call('POST', at('p4', 'pause'));
    await room.call('POST', at('p4', 'unpause'));
    expect(await room.call('POST', at('p4', 'pause'))).toRefuse(409, 'REQUEST_BEING_CLEANED');
  });

  test.each([
    ['nobody', {}, 404, 'REQUEST_NOT_FOUND'],
    ['nobody', { durationMillis: -1 }, 400, 'INVALID_REQUEST'],
    ['p-command', { runShellCommandBeforeKill: { name: 'jmap' } }, 403, 'UNKNOWN_SHELL_COMMAND'],
    ['p-command', { runShellCommandBeforeKill: {} }, 400, 'INVALID_REQUEST'],
  ])('of %s with %j is refused with %i %s', async (id, body, status, code) => {
    if (id !== 'nobody') await room.request(id);
    expect(await room.call('POST', at(id, 'pause'), body)).toRefuse(status, code);
  });
});

describe('unpause', () => {
  test('makes the request active, ends the time limit and tells the scheduler', async () => {
    await service('u1');
    await room.call('POST', at('u1', 'pause'), { durationMillis: 60_000 });
    const { status, body } = await room.call('POST', at('u1', 'unpause'), {
      message: 'because',
      actionId: 'a1',
      skipHealthchecks: true,
    });
    expect([status, body.state]).toEqual([200, 'ACTIVE']);
    expect((await room.history('u1'))[0]).toEqual(['UNPAUSED', null, 'because']);
    expect(await expiringOf('u1')).toEqual([]);
    expect(await room.pending('u1')).toEqual([
      {
        requestId: 'u1',
        deployId: 'd1',
        timestamp: room.clock.now(),
        pendingType: 'UNPAUSED',
        message: 'because',
        actionId: 'a1',
        skipHealthchecks: true,
      },
    ]);
  });

  test.each([
    ['an on-demand job', 'ON_DEMAND', true],
    ['a request without deploy', 'SERVICE', false],
  ])('of %s has nothing for the scheduler', async (_name, requestType, deployed) => {
    const id = `u-${requestType}`;
    await room.request(id, { requestType: requestType as 'SERVICE' });
    if (deployed) await room.deploy(id);
    await room.call('POST', at(id, 'pause'));
    expect((await room.call('POST', at(id, 'unpause'))).body.state).toBe('ACTIVE');
    expect(await room.pending(id)).toEqual([]);
  });

  test('is refused when the request is not paused', async () => {
    await room.request('u2');
    expect(await room.call('POST', at('u2', 'unpause'))).toRefuse(409, 'REQUEST_NOT_PAUSED');
    expect(await room.call('POST', at('nobody', 'unpause'))).toRefuse(404, 'REQUEST_NOT_FOUND');
  });
});

describe('exit-cooldown', () => {
  test('answers the state of before and queues a task at once', async () => {
    await service('c1');
    await setState('c1', 'SYSTEM_COOLDOWN');
    const { status, body } = await room.call('POST', at('c1', 'exit-cooldown'), { message: 'fixed' });
    expect([status, body.state]).toEqual([200, 'SYSTEM_COOLDOWN']);
    expect((await rowOf('c1')).state).toBe('ACTIVE');
    expect((await room.history('c1'))[0]).toEqual(['EXITED_COOLDOWN', 'scheduler', 'fixed']);
    expect(await room.pending('c1')).toMatchObject([{ pendingType: 'IMMEDIATE', user: 'scheduler', message: 'fixed' }]);
  });

  test('is refused outside of a cooldown', async () => {
    await room.request('c2');
    expect(await room.call('POST', at('c2', 'exit-cooldown'))).toRefuse(409, 'REQUEST_NOT_IN_COOLDOWN');
    expect(await room.call('POST', at('nobody', 'exit-cooldown'))).toRefuse(404, 'REQUEST_NOT_FOUND');
  });
});

describe('bounce', () => {
  test('without a body locks, orders the cleaner and limits the time', async () => {
    await service('b1');
    const { status, body } = await room.call('POST', at('b1', 'bounce'));
    expect([status, body.state]).toEqual([200, 'ACTIVE']);
    expect((await rowOf('b1')).bouncing).toBe(true);
    const [cleanup] = await cleanupsOf('b1');
    expect(cleanup).toMatchObject({ cleanup_type: 'BOUNCE', deploy_id: 'd1', user_name: 'scheduler' });
    const { expiringBounce } = body;
    expect(expiringBounce).toEqual({
      requestId: 'b1',
      deployId: 'd1',
      user: 'scheduler',
      startMillis: room.clock.now(),
      actionId: cleanup?.['action_id'],
      expiringAPIRequestObject: { durationMillis: 3_600_000, actionId: expect.any(String) },
    });
    expect(expiringBounce.expiringAPIRequestObject.actionId).not.toBe(expiringBounce.actionId);
    expect((await room.history('b1'))[0]).toEqual(['BOUNCED', 'scheduler', null]);
    expect(await room.call('POST', at('b1', 'bounce'))).toRefuse(409, 'REQUEST_BOUNCING');
  });

  test('one by one, with everything said', async () => {
    await service('b2');
    const asked = {
      incremental: true,
      skipHealthchecks: true,
      durationMillis: 600_000,
      actionId: 'aid-1',
      message: 'because',
    };
    const { body } = await room.call('POST', at('b2', 'bounce'), asked);
    expect(body.expiringBounce).toMatchObject({ actionId: 'aid-1', expiringAPIRequestObject: asked });
    expect(await cleanupsOf('b2')).toMatchObject([
      { cleanup_type: 'INCREMENTAL_BOUNCE', action_id: 'aid-1', skip_healthchecks: true, message: 'because' },
    ]);
    expect((await room.history('b2'))[0]).toEqual(['BOUNCED', 'scheduler', 'because']);
  });

  test('ends a cooldown', async () => {
    await service('b3');
    await setState('b3', 'SYSTEM_COOLDOWN');
    const { body } = await room.call('POST', at('b3', 'bounce'));
    expect([body.state, (await rowOf('b3')).state]).toEqual(['SYSTEM_COOLDOWN', 'ACTIVE']);
  });

  test('is refused for jobs, paused, deleted and never deployed requests', async () => {
    await room.request('b4', { requestType: 'ON_DEMAND' });
    await room.deploy('b4');
    expect(await room.call('POST', at('b4', 'bounce'))).toRefuse(400, 'INVALID_REQUEST');
    await room.request('b5');
    expect(await room.call('POST', at('b5', 'bounce'))).toRefuse(409, 'NO_DEPLOY');
    await setState('b5', 'PAUSED');
    expect(await room.call('POST', at('b5', 'bounce'))).toRefuse(409, 'REQUEST_PAUSED');
    await setState('b5', 'DELETING');
    expect(await room.call('POST', at('b5', 'bounce'))).toRefuse(409, 'REQUEST_BEING_CLEANED');
    expect(await room.call('POST', at('nobody', 'bounce'))).toRefuse(404, 'REQUEST_NOT_FOUND');
    await service('b6');
    const command = { runShellCommandBeforeKill: { name: 'zz' } };
    expect(await room.call('POST', at('b6', 'bounce'), command)).toRefuse(403, 'UNKNOWN_SHELL_COMMAND');
    expect(await cleanupsOf('b6')).toEqual([]);
  });
});

describe('delete', () => {
  test('answers the bare request, marks it and orders the cleaner', async () => {
    await service('d1');
    const { status, body } = await room.call('DELETE', '/api/requests/request/d1', {
      message: 'bye',
      actionId: 'z',
      deleteFromLoadBalancer: true,
    });
    expect([status, body]).toEqual([200, { id: 'd1', requestType: 'SERVICE', instances: 2 }]);
    expect((await rowOf('d1')).state).toBe('DELETING');
    expect((await room.history('d1'))[0]).toEqual(['DELETING', null, 'bye']);
    expect(await cleanupsOf('d1')).toMatchObject([
      { cleanup_type: 'DELETING', kill_tasks: true, remove_from_load_balancer: true, message: 'bye', action_id: 'z' },
    ]);
  });

  test('may be repeated and then changes nothing', async () => {
    await room.request('d2');
    await room.call('DELETE', '/api/requests/request/d2');
    const again = await room.call('DELETE', '/api/requests/request/d2', { message: 'again' });
    expect([again.status, again.body.id]).toEqual([200, 'd2']);
    expect((await room.history('d2')).map(([type]) => type)).toEqual(['DELETING', 'CREATED']);
    expect(await cleanupsOf('d2')).toMatchObject([{ message: null }]);
  });

  test('of a paused request works, of an unknown one is 404', async () => {
    await room.request('d3');
    await setState('d3', 'PAUSED');
    expect((await room.call('DELETE', '/api/requests/request/d3')).status).toBe(200);
    expect(await room.call('DELETE', '/api/requests/request/nobody')).toRefuse(404, 'REQUEST_NOT_FOUND');
  });

  test('until it is done nothing else may be changed', async () => {
    await room.request('d4');
    await room.call('DELETE', '/api/requests/request/d4');
    expect(await room.call('PUT', at('d4', 'scale'), { instances: 3 })).toRefuse(409, 'REQUEST_BEING_CLEANED');
    expect(await room.call('PUT', at('d4', 'skip-healthchecks'), {})).toRefuse(409, 'REQUEST_BEING_CLEANED');
    expect(await room.call('POST', at('d4', 'groups'), { group: null })).toRefuse(409, 'REQUEST_BEING_CLEANED');
    const update = { id: 'd4', requestType: 'SERVICE' };
    expect(await room.call('POST', '/api/requests', update)).toRefuse(409, 'REQUEST_BEING_CLEANED');
  });
});

describe('skip-healthchecks', () => {
  test.each(['skip-healthchecks', 'skipHealthchecks'])('%s sets, keeps and clears the flag', async (path) => {
    const id = `s-${path}`;
    await room.request(id);
    const on = await room.call('PUT', at(id, path), {
      skipHealthchecks: true,
      durationMillis: 3_600_000,
      actionId: 'aid-1',
      message: 'because',
    });
    expect(on.body.request.skipHealthchecks).toBe(true);
    expect(on.body.expiringSkipHealthchecks).toEqual({
      requestId: id,
      startMillis: room.clock.now(),
      actionId: 'aid-1',
      expiringAPIRequestObject: {
        skipHealthchecks: true,
        durationMillis: 3_600_000,
        actionId: 'aid-1',
        message: 'because',
      },
    });
    expect((await room.history(id))[0]).toEqual(['UPDATED', null, 'because']);
    // Without a duration the earlier time limit stays.
    const off = await room.call('PUT', at(id, path), { skipHealthchecks: false });
    expect(off.body.request.skipHealthchecks).toBe(false);
    expect(off.body.expiringSkipHealthchecks).toBeDefined();
    const cleared = await room.call('PUT', at(id, path));
    expect(cleared.body.request).toEqual({ id, requestType: 'SERVICE' });
  });
});

describe('making a change permanent', () => {
  test.each([
    ['pause', 'POST', 'pause', { durationMillis: 60_000 }],
    ['bounce', 'POST', 'bounce', {}],
    ['scale', 'PUT', 'scale', { instances: 3, durationMillis: 60_000 }],
    ['skip-healthchecks', 'PUT', 'skip-healthchecks', { skipHealthchecks: true, durationMillis: 60_000 }],
    ['skipHealthchecks', 'PUT', 'skipHealthchecks', { skipHealthchecks: true, durationMillis: 60_000 }],
  ])('%s: removes the time limit and nothing else, once', async (name, method, action, body) => {
    const id = `e-${name}`;
    await service(id);
    const made = await room.call(method, at(id, action), body);
    const { expiringPause, expiringBounce, expiringScale, expiringSkipHealthchecks, ...rest } = made.body;
    expect(expiringPause ?? expiringBounce ?? expiringScale ?? expiringSkipHealthchecks).toBeDefined();
    const removed = await room.call('DELETE', at(id, name));
    expect([removed.status, removed.body]).toEqual([200, rest]);
    expect(await room.call('DELETE', at(id, name))).toRefuse(404, 'EXPIRING_ACTION_NOT_FOUND');
    expect(await room.call('DELETE', at('nobody', name))).toRefuse(404, 'REQUEST_NOT_FOUND');
    if (name === 'bounce') expect((await rowOf(id)).bouncing).toBe(true);
  });
});

test('two operators at once: one pauses, the other is told so', async () => {
  await service('race');
  const answers = await Promise.all([1, 2, 3].map(() => room.call('POST', at('race', 'pause'))));
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
  expect((await room.history('race')).filter(([type]) => type === 'PAUSED')).toHaveLength(1);
});
