import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { insertDeploy, insertRequest, start } from '../../../test/support/builders.js';
import { FileDriver } from '../../../test/support/file-driver.js';
import { startRooms, type RoomApp } from '../../../test/support/room-app.js';
import type { Deploy, DeployHistory } from '../../core/model/deploy.js';
import type { DeployState } from '../../core/model/enums.js';
import { checkIndexOf } from '../../core/requests/check-index.js';
import type { Queryable } from '../../platform/database/queryable.js';
import { Leadership } from '../../platform/leadership/leadership.js';
import { DeployRepository } from './deploy.repository.js';
import { DeploysModule } from './deploys.module.js';
import type { RollbackDto } from './dto/deploy-request.dto.js';

let rooms: RoomApp;
let tx: Queryable;

beforeAll(async () => {
  const refusedUser = (user: string) => Promise.resolve(user === 'gone' ? "no user 'gone' on this machine" : undefined);
  rooms = await startRooms({ modules: [DeploysModule], driver: Object.assign(new FileDriver(), { refusedUser }) });
  tx = rooms.database.pool;
  // No instance leads: deploys stay as the API left them.
  rooms.app.get(Leadership).stepDown('this test is about the API');
});
afterAll(() => rooms.close());
beforeEach(() =>
  tx.query(
    'TRUNCATE request, request_history, deploy_history, pending_deploy, pending_request, webhook, webhook_update',
  ),
);

type Body = RollbackDto & { code: string; message: string };
const rollBack = (body: object = {}, query = '') =>
  rooms.call<Body>('POST', `/api/deploys/request/web/rollback${query}`, body);

/** Deploys in the order in which they were started, and how they ended; the last successful one is active. */
async function history(
  ends: Record<string, DeployState | undefined>,
  changes: Partial<Deploy> = {},
  request: Parameters<typeof insertRequest>[1] = {},
): Promise<void> {
  const ids = Object.keys(ends);
  const active = ids.findLast((id) => ends[id] === 'SUCCEEDED');
  await insertRequest(tx, { activeDeployId: active, ...request });
  for (const [age, id] of ids.entries()) {
    const deployState = ends[id];
    const result = deployState && { deployState, timestamp: start + age, deployFailures: [] };
    await insertDeploy(tx, { deploy: { id, command: `serve ${id}`, ...changes }, createdAt: start + age, result });
  }
}
const stored = async (deployId: string) =>
  (await rooms.app.get(DeployRepository).find(tx, { requestId: 'web', deployId }))?.deploy;

describe('a rollback deploys an earlier version again, as a new deploy', () => {
  test('of the last one that succeeded before the active one, unless another is named', async () => {
    await history({ v1: 'SUCCEEDED', v2: 'SUCCEEDED', v3: 'FAILED', v4: 'SUCCEEDED', v5: 'FAILED' });
    const { status, body } = await rollBack();
    expect(status).toBe(200);
    expect(body).toMatchObject({
      deployId: 'v2.rollback1',
      rolledBackTo: 'v2',
      request: { id: 'web' },
      state: 'ACTIVE',
      requestDeployState: {
        activeDeploy: { deployId: 'v4' },
        pendingDeploy: { deployId: 'v2.rollback1', message: 'Rollback to v2' },
      },
      pendingDeploy: { id: 'v2.rollback1', command: 'serve v2' },
      pendingDeployState: { currentDeployState: 'WAITING' },
    });
    expect(await tx.query('SELECT deploy_id, pending_type FROM pending_request')).toEqual([
      { deploy_id: 'v2.rollback1', pending_type: 'NEW_DEPLOY' },
    ]);
    expect(await stored('v2')).toMatchObject({ id: 'v2' });
  });

  test.each([{}, { deployId: 'v1' }])('but not as a user that tasks may not be any more: %j', async (body) => {
    await history({ v1: 'SUCCEEDED', v2: 'SUCCEEDED' }, { user: 'gone' });
    expect(await rollBack(body)).toMatchObject({
      status: 400,
      body: { code: 'INVALID_DEPLOY', errors: [{ field: 'deploy.user', rule: 'user' }] },
    });
    expect(await tx.query('SELECT 1 FROM pending_deploy')).toEqual([]);
  });

  test('of the one that is named, also if it failed', async () => {
    await history({ v1: 'FAILED', v2: 'SUCCEEDED', v3: 'SUCCEEDED' });
    const { body } = await rollBack({ deployId: 'v1', message: 'the disk was full' });
    expect(body).toMatchObject({
      rolledBackTo: 'v1',
      requestDeployState: { pendingDeploy: { deployId: 'v1.rollback1', message: 'the disk was full' } },
    });
  });

  test('with the next free id', async () => {
    await history({ v1: 'SUCCEEDED', 'v1.rollback1': 'FAILED', v2: 'SUCCEEDED' });
    expect((await rollBack()).body.deployId).toBe('v1.rollback2');
  });

  test('back from a rollback: to the version that was left behind', async () => {
    await history({ v1: 'SUCCEEDED', v2: 'SUCCEEDED', 'v1.rollback1': 'SUCCEEDED' });
    expect((await rollBack()).body).toMatchObject({ rolledBackTo: 'v2', deployId: 'v2.rollback1' });
  });

  test('of a job it is active at once, and the run that came with the earlier deploy is not repeated', async () => {
    const request = { request: { requestType: 'ON_DEMAND', instances: undefined } } as const;
    await history({ v1: 'SUCCEEDED', v2: 'SUCCEEDED' }, { runImmediately: { runId: 'first' } }, request);
    expect((await rollBack()).body).toMatchObject({
      deployId: 'v1.rollback1',
      requestDeployState: { activeDeploy: { deployId: 'v1.rollback1' } },
    });
    expect((await stored('v1.rollback1'))?.runImmediately).toBeUndefined();
  });

  test('of a paused request it may unpause it', async () => {
    await history({ v1: 'SUCCEEDED', v2: 'SUCCEEDED' }, {}, { state: 'PAUSED', activeDeployId: 'v2' });
    expect(await rollBack({ unpauseOnSuccessfulDeploy: true })).toMatchObject({ status: 200 });
    expect(await tx.query('SELECT state FROM request')).toEqual([{ state: 'DEPLOYING_TO_UNPAUSE' }]);
  });
});

describe('a rollback is refused', () => {
  test.each<{ name: string; before: () => Promise<unknown>; body?: object; status: number; message: string }>([
    {
      name: 'without a request',
      before: () => Promise.resolve(),
      status: 404,
      message: "No request with id 'web'",
    },
    {
      name: 'when the named deploy never was',
      before: () => history({ v1: 'SUCCEEDED' }),
      body: { deployId: 'v0' },
      status: 404,
      message: "Request 'web' has no deploy with id 'v0'",
    },
    {
      name: 'to the active deploy',
      before: () => history({ v1: 'SUCCEEDED' }),
      body: { deployId: 'v1' },
      status: 400,
      message: "deployId 'v1' is the active deploy of request 'web', not an earlier one",
    },
    {
      name: 'before there is an active deploy',
      before: () => history({ v1: 'FAILED' }),
      status: 409,
      message: "Request 'web' has no active deploy to go back from",
    },
    {
      name: 'when no earlier deploy succeeded',
      before: () => history({ v1: 'FAILED', v2: 'SUCCEEDED', v3: 'FAILED' }),
      status: 409,
      message: "Request 'web' has no successful deploy before 'v2'",
    },
    {
      name: 'when what was deployed is not stored any more',
      before: async () => {
        await history({ v1: 'SUCCEEDED', v2: 'SUCCEEDED' });
        await tx.query(`UPDATE deploy_history SET data = NULL, bytes = 'x' WHERE deploy_id = 'v1'`);
      },
      status: 409,
      message: "What deploy 'v1' of request 'web' deployed is not stored any more",
    },
    {
      name: 'while a deploy is in progress',
      before: async () => {
        await history({ v1: 'SUCCEEDED', v2: 'SUCCEEDED' });
        await rollBack();
      },
      status: 409,
      message: "Deploy 'v1.rollback1' of request 'web' is in progress; cancel it or wait for its end",
    },
    {
      name: 'of a paused request',
      before: () => history({ v1: 'SUCCEEDED', v2: 'SUCCEEDED' }, {}, { state: 'PAUSED', activeDeployId: 'v2' }),
      status: 409,
      message: "Request 'web' is paused; set unpauseOnSuccessfulDeploy to unpause it when the deploy succeeds",
    },
    {
      name: 'of a request that is being deleted',
      before: () => history({ v1: 'SUCCEEDED', v2: 'SUCCEEDED' }, {}, { state: 'DELETING', activeDeployId: 'v2' }),
      status: 409,
      message: "Request 'web' is being deleted",
    },
    {
      name: 'when the earlier deploy is not allowed any more',
      before: () => history({ v1: 'SUCCEEDED', v2: 'SUCCEEDED' }, { resources: { cpus: 1_000, memoryMb: 1 } }),
      status: 400,
      message: 'deploy.resources.cpus',
    },
  ])('$name', async ({ before, body, status, message }) => {
    await before();
    const deploys = await tx.query('SELECT deploy_id FROM deploy_history ORDER BY 1');
    const answer = await rollBack(body);
    expect(answer.status).toBe(status);
    expect(answer.body.message).toContain(message);
    expect(await tx.query('SELECT deploy_id FROM deploy_history ORDER BY 1')).toEqual(deploys);
  });

  test.each(['parameter', 'body'])(
    'when the request has changed since it was planned with (in the %s)',
    async (where) => {
      await history({ v1: 'SUCCEEDED', v2: 'SUCCEEDED' });
      const checkIndex = checkIndexOf({ version: 1, changedAt: start, activeDeployId: 'v1' });
      const answer = await (where === 'body' ? rollBack({ checkIndex }) : rollBack({}, `?checkIndex=${checkIndex}`));
      expect(answer).toMatchObject({
        status: 409,
        body: {
          code: 'CHANGED_MEANWHILE',
          message: "Request 'web' has changed since it was planned with: the active deploy was 'v1' and is 'v2'",
        },
      });
    },
  );
});

test('of two rollbacks at once one is made, and the other is told of it', async () => {
  await history({ v1: 'SUCCEEDED', v2: 'SUCCEEDED' });
  const answers = await Promise.all([rollBack(), rollBack(), rollBack()]);
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
  expect(await tx.query('SELECT deploy_id FROM pending_deploy')).toEqual([{ deploy_id: 'v1.rollback1' }]);
});

test('of each request the last deploy is listed where it has failed, until another one has come', async () => {
  const failed = async () =>
    (await rooms.call<DeployHistory[]>('GET', '/api/deploys/failed')).body.map(
      ({ deployMarker, deployResult, deploy }) => {
        expect(deploy).toBeUndefined();
        return [deployMarker.requestId, deployMarker.deployId, deployResult?.deployState];
      },
    );
  expect(await failed()).toEqual([]);
  await history({ v1: 'SUCCEEDED', v2: 'FAILED' });
  const others: [string, DeployState | undefined][] = [
    ['late', 'OVERDUE'],
    ['fine', 'SUCCEEDED'],
    ['stopped', 'CANCELED'],
    ['under-way', undefined],
  ];
  for (const [id, deployState] of others) {
    await insertRequest(tx, { request: { id } });
    const result = deployState && { deployState, timestamp: start, deployFailures: [] };
    await insertDeploy(tx, { deploy: { requestId: id, id: 'v1' }, result });
  }
  expect(await failed()).toEqual([
    ['late', 'v1', 'OVERDUE'],
    ['web', 'v2', 'FAILED'],
  ]);
  await insertDeploy(tx, { deploy: { id: 'v3' }, createdAt: start + 10 });
  expect(await failed()).toEqual([['late', 'v1', 'OVERDUE']]);
});
