import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openRequestsRoom, type RequestsRoom } from '../../../test/support/requests-room.js';

let room: RequestsRoom;
beforeAll(async () => {
  room = await openRequestsRoom();
  await room.slaves(3);
});
afterAll(() => room.close());

const scale = (id: string, body?: unknown, query = '') =>
  room.call('PUT', `/api/requests/request/${id}/scale${query}`, body);
const cleanupsOf = (id: string) => room.sql('SELECT * FROM request_cleanup WHERE request_id = $1', [id]);

async function service(id: string, instances = 2, members = {}): Promise<void> {
  await room.request(id, { instances, ...members });
  await room.deploy(id);
  for (let number = 1; number <= instances; number++) await room.task(id, number);
}

describe('scale', () => {
  test('up: the history tells from and to, the scheduler is told', async () => {
    await service('up');
    const { status, body } = await scale('up', {
      instances: 3,
      message: 'because',
      actionId: 'a1',
      skipHealthchecks: true,
    });
    expect([status, body.request.instances, body.expiringScale]).toEqual([200, 3, undefined]);
    expect((await room.history('up'))[0]).toEqual(['SCALED', null, 'because -- Scaled from 2 to 3']);
    expect(await room.pending('up')).toMatchObject([
      { pendingType: 'UPDATED_REQUEST', deployId: 'd1', actionId: 'a1', skipHealthchecks: true },
    ]);
    expect(await cleanupsOf('up')).toEqual([]);
  });

  test('down: the tasks with higher numbers go', async () => {
    await service('down', 3);
    const { body } = await scale('down', { instances: 1 });
    expect(body.request).toEqual({ id: 'down', requestType: 'SERVICE', instances: 1 });
    expect(body.taskIds.cleaning.map((task) => task.instanceNo)).toEqual([2, 3]);
    expect((await room.history('down'))[0]).toEqual(['SCALED', null, 'Scaled from 3 to 1']);
  });

  test('for a while: shows what it goes back to; for good: forgets that', async () => {
    await service('while');
    const asked = { instances: 3, durationMillis: 3_600_000, actionId: 'aid-1', message: 'because' };
    const { body } = await scale('while', asked);
    expect(body.expiringScale).toEqual({
      requestId: 'while',
      startMillis: room.clock.now(),
      actionId: 'aid-1',
      expiringAPIRequestObject: asked,
      revertToInstances: 2,
    });
    const second = await scale('while', { instances: 4, durationMillis: 1000 });
    expect(second.body.expiringScale.revertToInstances).toBe(3);
    expect((await scale('while', { instances: 5 })).body.expiringScale).toBeUndefined();
  });

  test.each([
    ['0', 'SERVICE', { instances: 0 }, ['instances', 'min']],
    ['26', 'SERVICE', { instances: 26 }, ['instances', 'max']],
    ['text', 'SERVICE', { instances: '3' }, ['instances', 'integer']],
    ['what it is already', 'SERVICE', { instances: 2 }, ['instances', 'changed']],
    ['2 of a cron job', 'SCHEDULED', { instances: 2 }, ['instances', 'single']],
    ['a negative duration', 'SERVICE', { instances: 3, durationMillis: -1 }, ['durationMillis', 'min']],
  ])('to %s is 400', async (name, requestType, body, [field, rule]) => {
    const id = `bad-${name.replaceAll(' ', '-')}`;
    const members = requestType === 'SCHEDULED' ? { schedule: '* * * * *' } : { instances: 2 };
    await room.request(id, { requestType: requestType as 'SERVICE', ...members });
    expect(await scale(id, body)).toRefuse(400, 'INVALID_REQUEST', { field, rule });
    expect((await room.history(id)).map(([type]) => type)).toEqual(['CREATED']);
  });

  test('of nobody is 404', async () => {
    expect(await scale('nobody', { instances: 2 })).toRefuse(404, 'REQUEST_NOT_FOUND');
  });

  test('needs a machine per task where tasks are kept apart', async () => {
    await room.request('apart', { instances: 3, slavePlacement: 'SEPARATE' });
    expect(await scale('apart', { instances: 4 })).toRefuse(400, 'INVALID_REQUEST', {
      field: 'instances',
      rule: 'capacity',
    });
    expect((await scale('apart', { instances: 2 })).status).toBe(200);
  });

  test('far down has to be meant, but not for on-demand jobs', async () => {
    await room.request('large', { instances: 20 });
    expect(await scale('large', { instances: 2 })).toRefuse(400, 'INVALID_REQUEST', {
      field: 'instances',
      rule: 'largeScaleDown',
    });
    expect(await scale('large', { instances: 2 }, '?largeScaleDownAcknowledged=undefined')).toRefuse(
      400,
      'INVALID_REQUEST',
      { rule: 'largeScaleDown' },
    );
    expect((await scale('large', { instances: 2 }, '?largeScaleDownAcknowledged=true')).status).toBe(200);
    await room.request('runs', { requestType: 'ON_DEMAND', instances: 20 });
    expect((await scale('runs', { instances: 2 })).status).toBe(200);
  });
});

describe('scale with a bounce', () => {
  test('writes both into the history and leaves the scheduler to the bounce', async () => {
    await service('both');
    const { body } = await scale('both', { instances: 3, bounce: true, message: 'm', actionId: 'a1' });
    expect(body.request.instances).toBe(3);
    expect((await room.history('both')).slice(0, 2)).toEqual([
      ['BOUNCED', null, expect.stringContaining('Scaled from 2 to 3')],
      ['SCALED', null, 'm -- Scaled from 2 to 3'],
    ]);
    expect(await cleanupsOf('both')).toMatchObject([
      { cleanup_type: 'INCREMENTAL_BOUNCE', deploy_id: 'd1', action_id: 'a1' },
    ]);
    expect(body.expiringBounce.expiringAPIRequestObject.durationMillis).toBe(3_600_000);
    expect(await room.pending('both')).toEqual([]);
  });

  test('follows the request unless told otherwise, and may replace all at once', async () => {
    await service('follows', 2, { bounceAfterScale: true });
    await scale('follows', { instances: 3, incremental: false });
    expect(await cleanupsOf('follows')).toMatchObject([{ cleanup_type: 'BOUNCE' }]);
    await service('not', 2, { bounceAfterScale: true });
    await scale('not', { instances: 3, bounce: false });
    expect(await cleanupsOf('not')).toEqual([]);
  });

  test('has nothing to bounce without a deploy', async () => {
    await room.request('undeployed');
    expect((await scale('undeployed', { instances: 2, bounce: true })).status).toBe(200);
    expect(await cleanupsOf('undeployed')).toEqual([]);
  });

  test('is refused when a bounce waits, when paused, for jobs, and without machines enough', async () => {
    await service('waits');
    await room.call('POST', '/api/requests/request/waits/bounce');
    expect(await scale('waits', { instances: 3, bounce: true })).toRefuse(409, 'REQUEST_BOUNCING');
    await service('paused');
    await room.sql(`UPDATE request SET state = 'PAUSED' WHERE id = 'paused'`);
    expect(await scale('paused', { instances: 3, bounce: true })).toRefuse(409, 'REQUEST_PAUSED');
    expect((await scale('paused', { instances: 3 })).status).toBe(200);
    await room.request('job', { requestType: 'ON_DEMAND' });
    expect(await scale('job', { instances: 3, bounce: true })).toRefuse(400, 'INVALID_REQUEST');
    await service('crowded', 2, { slavePlacement: 'SEPARATE' });
    expect(await scale('crowded', { instances: 3, bounce: true })).toRefuse(400, 'INVALID_REQUEST', {
      field: 'instances',
      rule: 'capacity',
    });
    expect(await room.sql(`SELECT document->'instances' AS n FROM request WHERE id = 'crowded'`)).toEqual([{ n: 2 }]);
  });
});
