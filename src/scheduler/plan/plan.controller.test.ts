import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { insertDeploy, insertRequest, insertTask, start } from '../../../test/support/builders.js';
import { startRooms, type RoomApp } from '../../../test/support/room-app.js';
import type { RequestState } from '../../core/model/enums.js';
import type { Queryable } from '../../platform/database/queryable.js';
import { Leadership } from '../../platform/leadership/leadership.js';
import { Wake } from '../../platform/wake/wake.js';
import type { DeployPlanDto, ScalePlanDto } from './dto/plan.dto.js';
import { PlanModule } from './plan.module.js';

let rooms: RoomApp;
let tx: Queryable;

beforeAll(async () => {
  rooms = await startRooms({ modules: [PlanModule], settings: { maxScaleDownWithoutAcknowledgement: 2 } });
  tx = rooms.database.pool;
  // No instance leads: what the API writes stays as it is.
  rooms.app.get(Leadership).stepDown('this test is about the API');
});
afterAll(() => rooms.close());
beforeEach(async () => {
  await tx.query(
    `TRUNCATE request, request_history, request_cleanup, deploy_history, pending_deploy, pending_request, pending_task,
       task, task_launch, task_update, task_cleanup, expiring_action, disabled_action, priority_freeze, slave, rack, webhook, webhook_update`,
  );
  rooms.app.get(Wake).signal('actions');
  await tx.query(
    `INSERT INTO slave (id, host, rack_id, attributes, resources, agent_id, incarnation, seen_at, first_seen_at, state, state_at)
     VALUES ('s1', 's1', 'rack-1', '{}', '{"cpus": 4, "mem": 4096, "disk": 0, "ports": "[31000-31999]"}', 'a', 'i', now(), now(), 'ACTIVE', now())`,
  );
});

interface Refused {
  status: number;
  code: string;
  message: string;
  errors: unknown[];
}
const resources = { cpus: 1, memoryMb: 64, numPorts: 0, diskMb: 0 };
const deploy = (changes: object = {}) => ({ id: 'v2', requestId: 'web', command: 'serve', resources, ...changes });
/** A service of three instances that runs v1. */
const serving = async (row: { state?: RequestState; pendingDeployId?: string } = {}) => {
  await insertRequest(tx, { request: { instances: 3 }, activeDeployId: 'v1', ...row });
  const result = { deployState: 'SUCCEEDED' as const, timestamp: start, deployFailures: [] };
  await insertDeploy(tx, { deploy: deploy({ id: 'v1' }), result });
  for (const instanceNo of [1, 2, 3])
    await insertTask(tx, { deployId: 'v1', instanceNo, startedAt: start + instanceNo });
};
const call = <Body = Refused>(method: string, path: string, body: object) => rooms.call<Body>(method, path, body);
const planDeploy = async (body: object) => (await call<DeployPlanDto>('POST', '/api/deploys/plan', body)).body;
const planScale = async (body: object) =>
  (await call<ScalePlanDto>('POST', '/api/requests/request/web/scale/plan', body)).body;
/** All of an error but the id of the call. */
const refusal = ({ status, body: { code, message, errors } }: { status: number; body: Refused }) => ({
  status,
  code,
  message,
  errors,
});

async function disable(action: 'DEPLOY' | 'SCALE_REQUEST'): Promise<void> {
  await tx.query(
    `INSERT INTO disabled_action (action, message, automatically_clearable) VALUES ($1, 'not now', false)`,
    [action],
  );
  rooms.app.get(Wake).signal('actions');
}

describe('a plan is refused as the real call is', () => {
  test.each<{ name: string; body?: object; before?: () => Promise<unknown>; query?: string; status: number }>([
    { name: 'no request', body: { deploy: deploy({ requestId: 'none' }) }, status: 404 },
    { name: 'no deploy in the body', body: {}, status: 400 },
    { name: 'an invalid deploy', body: { deploy: deploy({ command: undefined }) }, status: 400 },
    { name: 'no id', body: { deploy: deploy({ id: undefined }) }, status: 400 },
    { name: 'an id that was used before', body: { deploy: deploy({ id: 'v1' }) }, status: 400 },
    {
      name: 'an invalid request that comes along',
      body: { deploy: deploy(), updatedRequest: { id: 'web', requestType: 'WORKER' } },
      status: 400,
    },
    {
      name: 'too many tasks that end at once',
      body: { deploy: deploy(), updatedRequest: { id: 'web', requestType: 'SERVICE', instances: 1 } },
      before: () => insertTask(tx, { deployId: 'v1', instanceNo: 4, startedAt: start + 4 }),
      status: 400,
    },
    {
      name: 'too few machines',
      body: {
        deploy: deploy(),
        updatedRequest: { id: 'web', requestType: 'SERVICE', instances: 3, slavePlacement: 'SEPARATE_BY_DEPLOY' },
      },
      status: 400,
    },
    {
      name: 'a paused request',
      before: () => tx.query(`UPDATE request SET state = 'PAUSED'`),
      status: 409,
    },
    {
      name: 'a request that is being deleted',
      before: () => tx.query(`UPDATE request SET state = 'DELETING'`),
      status: 409,
    },
    {
      name: 'a deploy in progress',
      before: () => call('POST', '/api/deploys', { deploy: deploy({ id: 'other' }) }),
      status: 409,
    },
    {
      name: 'deploys that are switched off',
      before: () => disable('DEPLOY'),
      status: 409,
    },
  ])('of a deploy: $name', async ({ body = { deploy: deploy() }, before, status }) => {
    await serving();
    await before?.();
    const planned = await call('POST', '/api/deploys/plan', body);
    const real = await call('POST', '/api/deploys', body);
    expect(planned.status).toBe(status);
    expect(refusal(planned)).toEqual(refusal(real));
  });

  test.each<{ name: string; body?: object; before?: () => Promise<unknown>; status: number }>([
    { name: 'no request', before: () => tx.query('DELETE FROM request'), status: 404 },
    { name: 'the same number', body: { instances: 3 }, status: 400 },
    { name: 'no number at all', body: { instances: 0 }, status: 400 },
    { name: 'too many', body: { instances: 1_000_000 }, status: 400 },
    {
      name: 'too many tasks that end at once',
      body: { instances: 1 },
      before: () => tx.query(`UPDATE request SET document = document || '{"instances": 9}'`),
      status: 400,
    },
    {
      name: 'a request that is being deleted',
      before: () => tx.query(`UPDATE request SET state = 'DELETING'`),
      status: 409,
    },
    {
      name: 'a bounce of a paused request',
      body: { instances: 4, bounce: true },
      before: () => tx.query(`UPDATE request SET state = 'PAUSED'`),
      status: 409,
    },
    {
      name: 'a deploy in progress that changes the request',
      before: () =>
        call('POST', '/api/deploys', {
          deploy: deploy(),
          updatedRequest: { id: 'web', requestType: 'SERVICE', instances: 2 },
        }),
      status: 409,
    },
    { name: 'a number that is misspelt', body: { instnaces: 5 }, status: 400 },
    { name: 'scales that are switched off', before: () => disable('SCALE_REQUEST'), status: 409 },
  ])('of a scale: $name', async ({ body = { instances: 5 }, before, status }) => {
    await serving();
    await before?.();
    const planned = await call('POST', '/api/requests/request/web/scale/plan', body);
    const real = await call('PUT', '/api/requests/request/web/scale', body);
    expect(planned.status).toBe(status);
    expect(refusal(planned)).toEqual(refusal(real));
  });
});

test('a plan of a deploy tells what differs, what happens and whether it fits', async () => {
  await serving();
  const updatedRequest = { id: 'web', requestType: 'SERVICE', instances: 2, owners: ['ann@example.org'] };
  const body = { deploy: deploy({ env: { COLOUR: 'blue' }, deployInstanceCountPerStep: 1 }), updatedRequest };
  const { steps, ...plan } = await planDeploy(body);
  expect(plan).toEqual({
    requestId: 'web',
    deployId: 'v2',
    deployStrategy: 'NEW_FIRST',
    activeDeployId: 'v1',
    checkIndex: expect.stringMatching(/^\d+~\d+~v1~$/),
    changes: [
      { path: 'deploy.deployInstanceCountPerStep', to: 1 },
      { path: 'deploy.env.COLOUR', to: 'blue' },
      { path: 'deploy.id', from: 'v1', to: 'v2' },
      { path: 'request.instances', from: 3, to: 2 },
      { path: 'request.owners[0]', to: 'ann@example.org' },
    ],
    fits: true,
    starting: 2,
    stopping: 3,
  });
  expect(steps).toEqual([
    {
      start: [{ instanceNo: 1 }],
      stop: [
        { taskId: expect.objectContaining({ instanceNo: 1, deployId: 'v1' }), cleanupType: 'DEPLOY_STEP_FINISHED' },
        { taskId: expect.objectContaining({ instanceNo: 2, deployId: 'v1' }), cleanupType: 'DEPLOY_STEP_FINISHED' },
      ],
      fits: {
        tasks: 1,
        fitting: 1,
        reason: 'PLACEABLE',
        message: '1 of 1 tasks fit now',
        slaves: 1,
        rejections: [],
      },
    },
    {
      start: [{ instanceNo: 2 }],
      stop: [{ taskId: expect.objectContaining({ instanceNo: 3 }), cleanupType: 'DEPLOY_STEP_FINISHED' }],
      fits: expect.objectContaining({ tasks: 1, fitting: 1 }),
    },
  ]);
});

test('a plan of a scale names the tasks that go, and those that start', async () => {
  await serving();
  const down = await planScale({ instances: 2 });
  expect(down.steps.map(({ start: starts, stop }) => [starts, stop.map(({ taskId }) => taskId.instanceNo)])).toEqual([
    [[], [3]],
  ]);
  const up = await planScale({ instances: 5 });
  // Three of four cores are taken.
  expect(up).toMatchObject({
    from: 3,
    to: 5,
    fits: false,
    steps: [
      {
        start: [{ instanceNo: 4 }, { instanceNo: 5 }],
        stop: [],
        fits: { tasks: 2, fitting: 1, rejections: [expect.objectContaining({ reason: 'NOT_ENOUGH_CPUS', slaves: 1 })] },
      },
    ],
  });
});

describe('a call that carries the check index of its plan', () => {
  test('is made when nothing has changed', async () => {
    await serving();
    const { checkIndex } = await planDeploy({ deploy: deploy() });
    expect((await call('POST', `/api/deploys?checkIndex=${checkIndex}`, { deploy: deploy() })).status).toBe(200);
  });

  test('is refused when a deploy has begun since, and nothing is written', async () => {
    await serving();
    const { checkIndex } = await planScale({ instances: 5 });
    await call('POST', '/api/deploys', { deploy: deploy() });
    const before = await tx.query('SELECT * FROM request');
    const answer = await call('PUT', `/api/requests/request/web/scale?checkIndex=${checkIndex}`, { instances: 5 });
    expect(refusal(answer)).toEqual({
      status: 409,
      code: 'CHANGED_MEANWHILE',
      message:
        "Request 'web' has changed since it was planned with: its version was 1 and is 2, the pending deploy was none and is 'v2'",
      errors: [],
    });
    expect(await tx.query('SELECT * FROM request')).toEqual(before);
  });

  test('is refused when the request has changed since', async () => {
    await serving();
    const { checkIndex } = await planDeploy({ deploy: deploy() });
    await call('PUT', '/api/requests/request/web/scale', { instances: 4 });
    const answer = await call('POST', `/api/deploys?checkIndex=${checkIndex}`, { deploy: deploy() });
    expect(answer).toMatchObject({
      status: 409,
      body: { message: expect.stringMatching(/its version was 1 and is 2$/) },
    });
  });

  test('of two that race, one is made and the other is refused', async () => {
    await serving();
    const { checkIndex } = await planScale({ instances: 5 });
    const scale = (instances: number) =>
      call('PUT', `/api/requests/request/web/scale?checkIndex=${checkIndex}`, { instances });
    const answers = await Promise.all([scale(5), scale(6), scale(7), scale(8)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409]);
    const refused = answers.filter(({ status }) => status === 409);
    expect(refused.every(({ body }) => body.code === 'CHANGED_MEANWHILE')).toBe(true);
    expect(await tx.query('SELECT 1 FROM request_history')).toHaveLength(1);
  });

  test('is refused with 400 when that is no check index', async () => {
    await serving();
    const answer = await call('POST', '/api/deploys?checkIndex=7', { deploy: deploy() });
    expect(refusal(answer)).toEqual({
      status: 400,
      code: 'INVALID_PARAMETER',
      message: "checkIndex '7' is not one that a plan has answered",
      errors: [{ field: 'checkIndex', rule: 'form', message: "checkIndex '7' is not one that a plan has answered" }],
    });
  });
});
