import { afterAll, beforeAll, expect, test } from 'vitest';
import { HistoryModule } from '../../src/modules/history/history.module.js';
import { HistoryPoller } from '../../src/modules/history/history-mover.service.js';
import { LoadBalancerCleanupPoller } from '../../src/modules/load-balancer/load-balancer-cleanup.poller.js';
import { LoadBalancerEntryPoller } from '../../src/modules/load-balancer/load-balancer-entry.poller.js';
import { LoadBalancerModule } from '../../src/modules/load-balancer/load-balancer.module.js';
import { Deletions } from '../../src/modules/requests/actions/deletions.service.js';
import { RequestsModule } from '../../src/modules/requests/requests.module.js';
import { CleanupModule } from '../../src/modules/tasks/cleanup/cleanup.module.js';
import { CleanupPoller } from '../../src/modules/tasks/cleanup/cleanup.poller.js';
import { TaskCleanupRepository } from '../../src/modules/tasks/task-cleanup.repository.js';
import { startBalancer, type BalancerServer } from '../support/load-balancer/balancer-server.js';
import { SchedulerWorld } from '../support/scheduler-world.js';

let server: BalancerServer;
let world: SchedulerWorld;
beforeAll(async () => {
  server = await startBalancer();
  world = await SchedulerWorld.start({
    machines: 5,
    modules: [RequestsModule, CleanupModule, LoadBalancerModule, HistoryModule],
    settings: { loadBalancerUri: server.uri, loadBalancerRequestTimeoutMillis: 2_000 },
  });
});
afterAll(async () => {
  await world.close();
  await server.close();
});

const minute = 60_000;
/** Everything that has to do with it, so many times, with so many virtual minutes after each. */
async function run(passes: number, minutes = 0.5): Promise<void> {
  for (let pass = 0; pass < passes; pass++) {
    await world.pass();
    await world.get(CleanupPoller).runOnce(world.now);
    await world.pass();
    await world.get(LoadBalancerEntryPoller).runOnce(world.now);
    await world.get(LoadBalancerCleanupPoller).runOnce(world.now);
    await world.get(HistoryPoller).runOnce();
    await world.cluster.advance(minutes * minute);
  }
}

const addresses = async (requestId: string) =>
  (await world.active(requestId)).map(({ host, ports }) => `${host}:${ports[0]}`).sort();
const deploy = { resources: { cpus: 1, memoryMb: 64, numPorts: 1 }, serviceBasePath: '/', loadBalancerGroups: ['g'] };
const instanceOf = async (requestId: string, instanceNo: number) =>
  (await world.active(requestId)).find(({ taskId }) => taskId.instanceNo === instanceNo)!.taskId;
const order = (taskId: Awaited<ReturnType<typeof instanceOf>>) =>
  world.db.transaction((tx) =>
    world.get(TaskCleanupRepository).save(tx, { taskId, cleanupType: 'USER_REQUESTED', timestamp: world.now }),
  );

test('a load balancer that is down for an hour costs no task and leaves no upstream behind', async () => {
  await world.deployed({ id: 'web', requestType: 'SERVICE', instances: 3, loadBalanced: true }, deploy);
  await world.deployed({ id: 'old', requestType: 'SERVICE', instances: 2, loadBalanced: true }, deploy);
  await world.deployed({ id: 'plain', requestType: 'SERVICE', instances: 1 }, deploy);
  await run(6);
  expect(server.balancer.upstreams('web')).toEqual(await addresses('web'));
  expect(server.balancer.upstreams('old')).toEqual(await addresses('old'));

  server.mode = 'down';
  await run(2);
  const [dying, going, plain] = [await instanceOf('web', 1), await instanceOf('web', 2), await instanceOf('plain', 1)];
  world.cluster.finish(dying.id, 'TASK_FAILED');
  await order(going);
  await order(plain);
  await world.get(Deletions).delete('old', { deleteFromLoadBalancer: true }, { email: 'ann' } as never);
  await run(8, 3);
  // Others go on as ever; the replacement of the dead one runs; who has to leave first still serves.
  expect(await world.ends('plain')).toEqual(['TASK_KILLED']);
  expect((await world.active('plain')).map(({ cleaning }) => cleaning)).toEqual([undefined]);
  expect((await world.active('web')).map(({ cleaning }) => cleaning).sort()).toEqual([
    'USER_REQUESTED',
    undefined,
    undefined,
    undefined,
  ]);
  expect(await world.active('old')).toHaveLength(2);
  expect(await world.query(`SELECT last_task_status FROM task_history WHERE request_id = 'web'`)).toEqual([]);

  await world.crash();
  await run(7, 5);
  expect(await world.ends('web')).toEqual(['TASK_FAILED']);

  server.mode = 'up';
  await run(12);
  expect(await world.active('web')).toHaveLength(3);
  expect(server.balancer.upstreams('web')).toEqual(await addresses('web'));
  expect(await world.ends('web')).toEqual(['TASK_FAILED', 'TASK_KILLED']);
  expect(await world.active('old')).toEqual([]);
  expect(await world.query(`SELECT id FROM request WHERE id = 'old'`)).toEqual([]);
  expect(server.balancer.serving.has('old')).toBe(false);
  for (const table of ['load_balancer_removal', 'load_balancer_deletion']) {
    expect(await world.query(`SELECT 1 FROM ${table}`)).toEqual([]);
  }
  // The dead are in the history, with what the load balancer was told about them.
  const [dead] = await world.query<{ updates: string[] }>(
    `SELECT ARRAY(SELECT u #>> '{loadBalancerRequestId,requestType}' FROM jsonb_array_elements(data->'loadBalancerUpdates') u)
       AS updates FROM task_history WHERE task_id = $1`,
    [dying.id],
  );
  expect(dead?.updates).toEqual(['ADD', 'REMOVE']);
}, 120_000);
