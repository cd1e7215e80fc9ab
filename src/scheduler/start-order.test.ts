import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { SchedulerWorld } from '../../test/support/scheduler-world.js';
import { builtInUser } from '../core/authorization/access-rules.js';
import type { RequestType } from '../core/model/enums.js';
import { DeploysModule } from '../modules/deploys/deploys.module.js';
import { DeploysPoller } from '../modules/deploys/deploys.poller.js';
import { DeploysService } from '../modules/deploys/deploys.service.js';
import { RequestsModule } from '../modules/requests/requests.module.js';
import { RequestsService } from '../modules/requests/requests.service.js';
import { builtInCaller as caller } from '../platform/http/caller.js';
import { ExplainService } from './explain/explain.service.js';

/* Services that start after others, on simulated machines: 'web' after 'db'. */

let world: SchedulerWorld;
beforeEach(async () => {
  world = await SchedulerWorld.start({ machines: 3, modules: [RequestsModule, DeploysModule] });
});
afterEach(() => world.close());

const first = async (requestType: RequestType = 'SERVICE', deploy = {}) => {
  await world.deployed({ id: 'db', requestType, instances: 2 }, deploy);
  await world.deployed({ id: 'web', requestType: 'SERVICE', startAfter: ['db'] });
};
const count = async (id: string) => (await world.active(id)).length;
const explained = async () => {
  const { pendingTasks } = await world.get(ExplainService).request('web', builtInUser);
  return pendingTasks.map(({ reason, message }) => [reason, message]);
};
const waitsFor = (text: string) => [['START_ORDER', `It starts when others are in service (startAfter): ${text}`]];

describe('the first task of a request', () => {
  test('starts when all tasks of the other are healthy, and is explained until then', async () => {
    await first();
    await world.run(3);
    expect([await count('db'), await count('web')]).toEqual([2, 0]);
    expect(await explained()).toEqual(waitsFor("'db' has 0 of 2 instances in service"));
    const [noted] = await world.query(`SELECT reason FROM v_waiting_task WHERE request_id = 'web'`);
    expect(noted).toEqual({ reason: 'START_ORDER' });
    await world.run(5);
    expect(await count('web')).toBe(1);
  });
  test('starts when all tasks of a worker run', async () => {
    await first('WORKER');
    await world.run(3);
    expect([await count('db'), await count('web')]).toEqual([2, 1]);
  });
  test('waits for one that is paused', async () => {
    await first();
    await world.changeRequest('db', {}, 'PAUSED');
    await world.run(2);
    expect(await explained()).toEqual(waitsFor("'db' is PAUSED"));
  });
  test('waits for none that is gone', async () => {
    await first();
    await world.query(`DELETE FROM request WHERE id = 'db'`);
    await world.run(2);
    expect(await count('web')).toBe(1);
  });
});

test('while one of its tasks is in service, others start whatever the other request does', async () => {
  await first();
  await world.run(15);
  for (const { taskId } of await world.active('db')) world.cluster.finish(taskId.id, 'TASK_FAILED');
  await world.changeRequest('db', {}, 'PAUSED');
  await world.changeRequest('web', { instances: 2 });
  await world.enqueue({ requestId: 'web' });
  await world.run(2);
  expect([await count('db'), await count('web')]).toEqual([0, 2]);
});

test('a deploy whose time is over before the other is in service says so', async () => {
  await world.deployed({ id: 'db', requestType: 'SERVICE' }, { resources: { cpus: 1, memoryMb: 1_000_000 } });
  await world.get(RequestsService).saveRequest({ id: 'web', requestType: 'SERVICE', startAfter: ['db'] }, caller);
  const deploy = { requestId: 'web', id: 'd1', command: 'run', deployHealthTimeoutSeconds: 10 };
  const start = { deploy, unpauseOnSuccessfulDeploy: false, largeScaleDownAcknowledged: true };
  await world.get(DeploysService).start(start, caller);
  for (let second = 0; second < 20; second++) {
    await world.run();
    await world.get(DeploysPoller).runOnce(world.now);
  }
  const [{ result }] = (await world.query(
    `SELECT data->'deployResult' AS result FROM deploy_history WHERE request_id = 'web'`,
  )) as [{ result: unknown }];
  expect(result).toMatchObject({
    deployState: 'OVERDUE',
    message: expect.stringContaining("(startAfter): 'db' has 0 of 1 instances in service"),
  });
});
