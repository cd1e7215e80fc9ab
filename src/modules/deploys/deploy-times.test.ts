import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { insertDeploy, insertRequest } from '../../../test/support/builders.js';
import { startRooms, type RoomApp } from '../../../test/support/room-app.js';
import type { TimeWindow } from '../../core/model/request.js';
import type { Queryable } from '../../platform/database/queryable.js';
import { rows } from '../../platform/database/sql.js';
import { Leadership } from '../../platform/leadership/leadership.js';
import { PlanModule } from '../../scheduler/plan/plan.module.js';
import { SchedulerModule } from '../../scheduler/scheduler.module.js';
import { DisastersModule } from '../disasters/disasters.module.js';
import { DeploysModule } from './deploys.module.js';

let rooms: RoomApp;
let tx: Queryable;
beforeAll(async () => {
  rooms = await startRooms({ modules: [DeploysModule, DisastersModule, PlanModule, SchedulerModule] });
  tx = rooms.database.pool;
  // No instance leads: deploys stay as the API left them.
  rooms.app.get(Leadership).stepDown('this test is about the API');
});
afterAll(() => rooms.close());
beforeEach(() =>
  tx.query(
    'TRUNCATE request, request_history, deploy_history, pending_deploy, pending_request, webhook, webhook_update, disabled_action, request_group',
  ),
);

const hour = 3_600_000;
const now = Date.now();
const open: TimeWindow = { from: now - hour, to: now + hour };
const opensAt = now + 2 * hour;
const closed: TimeWindow = { from: opensAt, to: opensAt + hour };

interface Answer {
  code?: string;
  message?: string;
  errors?: { field: string; rule: string }[];
}
const call = (method: string, path: string, body?: object) => rooms.call<Answer>(method, `/api/${path}`, body);
const deployOf = (requestId: string) => ({ requestId, id: 'v3', command: 'serve' });
const starts: [name: string, (requestId: string) => ReturnType<typeof call>][] = [
  ['a deploy', (requestId) => call('POST', 'deploys', { deploy: deployOf(requestId) })],
  ['an apply', (requestId) => call('POST', 'requests/apply', { deploy: deployOf(requestId) })],
];
const rollBack = (requestId: string) => call('POST', `deploys/request/${requestId}/rollback`, {});

/** Has had two deploys. */
async function service(id: string, { deployWindows, group }: { deployWindows?: TimeWindow[]; group?: string }) {
  const request = { id, deployWindows, group };
  await insertRequest(tx, { request, activeDeployId: 'v2' });
  for (const deployId of ['v1', 'v2']) {
    const result = { deployState: 'SUCCEEDED' as const, timestamp: now, deployFailures: [] };
    await insertDeploy(tx, { deploy: { requestId: id, id: deployId, command: deployId }, createdAt: now - 1, result });
  }
}
const deploying = async () =>
  (await rows<{ id: string }>(tx, 'SELECT request_id AS id FROM pending_deploy ORDER BY 1')).map(({ id }) => id);

describe('deploy windows', () => {
  test.each(starts)('%s starts within one', async (_name, start) => {
    await service('web', { deployWindows: [closed, open] });
    expect((await start('web')).status).toBe(200);
    expect(await deploying()).toEqual(['web']);
  });
  test.each(starts)('%s is refused outside of all, and told when the next one opens', async (_name, start) => {
    await service('web', { deployWindows: [closed] });
    const { status, body } = await start('web');
    expect([status, body.code]).toEqual([409, 'DEPLOY_WINDOW_CLOSED']);
    expect(body.message).toContain(`opens at ${new Date(opensAt).toISOString()}`);
    expect(await deploying()).toEqual([]);
  });
  test('an apply that changes the windows counts by the new ones', async () => {
    await service('web', { deployWindows: [closed] });
    const request = { id: 'web', requestType: 'SERVICE' };
    const refused = await call('POST', 'requests/apply', {
      request: { ...request, deployWindows: [closed] },
      deploy: deployOf('web'),
    });
    expect(refused.body.code).toBe('DEPLOY_WINDOW_CLOSED');
    expect((await call('POST', 'requests/apply', { request, deploy: deployOf('web') })).status).toBe(200);
  });
  test('none that opens again is told as such', async () => {
    await service('web', { deployWindows: [{ from: now - hour, to: now - 1 }] });
    expect((await starts[0]![1]('web')).body.message).toContain('none of them opens again');
  });
  test('a rollback starts at any time', async () => {
    await service('web', { deployWindows: [closed] });
    expect((await rollBack('web')).status).toBe(200);
  });
  test('those that are over stay with their request, and are not taken for another one', async () => {
    const deployWindows = [{ from: now - hour, to: now - 1 }];
    await service('web', { deployWindows });
    const request = { id: 'web', requestType: 'SERVICE', deployWindows };
    expect((await call('POST', 'requests', { ...request, instances: 2 })).status).toBe(200);
    const { status, body } = await call('POST', 'requests', { ...request, id: 'other' });
    expect([status, body.errors?.[0]]).toMatchObject([400, { field: 'deployWindows', rule: 'future' }]);
  });
});

describe('deploy windows of a group', () => {
  const group = (deployWindows: TimeWindow[] | undefined, requestIds = ['web'], id = 'shop') =>
    call('POST', 'groups', { id, requestIds, deployWindows });

  test.each([
    ...starts,
    ['a plan', (requestId: string) => call('POST', 'deploys/plan', { deploy: deployOf(requestId) })] as const,
  ])('%s of one of its requests is refused outside of them, and told of the group', async (_name, start) => {
    await service('web', { deployWindows: [open] });
    await service('other', {});
    expect((await group([closed])).status).toBe(200);
    const { status, body } = await start('web');
    expect([status, body.code, body.message]).toEqual([
      409,
      'DEPLOY_WINDOW_CLOSED',
      `Deploys of request 'web' start within the deployWindows of group 'shop' only; the next one opens at ${new Date(opensAt).toISOString()}`,
    ]);
    expect(await deploying()).toEqual([]);
    expect((await start('other')).status).toBe(200);
  });
  test('it starts within those of all of its groups and its own', async () => {
    await service('web', { deployWindows: [open] });
    await group([open]);
    await group([open, closed], ['other', 'web'], 'bank');
    expect((await starts[0]![1]('web')).status).toBe(200);
  });
  test('without windows, or without the group, any time will do', async () => {
    await service('web', {});
    await service('api', {});
    await group([closed], ['web', 'api']);
    await group(undefined, ['web', 'api']);
    expect((await starts[0]![1]('web')).status).toBe(200);
    await group([closed], ['web', 'api']);
    await call('DELETE', 'groups/group/shop');
    expect((await starts[0]![1]('api')).status).toBe(200);
  });
  test('a rollback starts at any time', async () => {
    await service('web', {});
    await group([closed]);
    expect((await rollBack('web')).status).toBe(200);
  });
  test('explain says when the next one opens, and of which group', async () => {
    await service('web', {});
    await group([closed]);
    const { body } = await call('GET', 'requests/request/web/explain');
    expect(body).toMatchObject({
      closedDeployWindows: { groupId: 'shop', opensAt, message: expect.stringContaining("group 'shop'") },
    });
    await group([open]);
    expect((await call('GET', 'requests/request/web/explain')).body).not.toHaveProperty('closedDeployWindows');
  });
});

describe('a freeze of deploys', () => {
  const freeze = (exceptGroups?: string[]) =>
    call('POST', 'disasters/disabled-actions/DEPLOY', { message: 'code freeze', exceptGroups });
  const all: typeof starts = [...starts, ['a rollback', rollBack]];

  test.each(all)('%s is refused, but for requests of the named groups', async (_name, start) => {
    await service('web', { group: 'shop' });
    await service('free', {});
    await service('pay', { group: 'payments' });
    expect((await freeze(['payments'])).status).toBe(204);
    for (const id of ['web', 'free']) {
      const { status, body } = await start(id);
      expect([status, body.code, body.message]).toEqual([
        409,
        'ACTION_DISABLED',
        'Action DEPLOY is disabled: code freeze',
      ]);
    }
    expect((await start('pay')).status).toBe(200);
    expect(await deploying()).toEqual(['pay']);
  });
  test('without groups it holds all, and ends', async () => {
    await service('pay', { group: 'payments' });
    await freeze(['payments']);
    await freeze();
    expect((await starts[0]![1]('pay')).body.code).toBe('ACTION_DISABLED');
    await call('DELETE', 'disasters/disabled-actions/DEPLOY');
    expect((await starts[0]![1]('pay')).status).toBe(200);
  });
  test('the group of an updatedRequest does not count', async () => {
    await service('web', { group: 'shop' });
    await freeze(['payments']);
    const updatedRequest = { id: 'web', requestType: 'SERVICE', group: 'payments' };
    expect((await call('POST', 'deploys', { deploy: deployOf('web'), updatedRequest })).status).toBe(409);
  });
  test('it is shown', async () => {
    await freeze(['payments']);
    const { body } = await call('GET', 'disasters/disabled-actions');
    expect(body).toMatchObject([{ type: 'DEPLOY', exceptGroups: ['payments'] }]);
  });
  test('other actions have no such groups', async () => {
    const { status, body } = await call('POST', 'disasters/disabled-actions/BOUNCE_REQUEST', { exceptGroups: ['a'] });
    expect([status, body.errors?.[0]]).toMatchObject([400, { field: 'exceptGroups', rule: 'action' }]);
  });
});
