import { afterEach, beforeEach, expect, test } from 'vitest';
import type { LoadBalancerState } from '../../src/core/model/enums.js';
import { LoadBalancerCleanupPoller } from '../../src/modules/load-balancer/load-balancer-cleanup.poller.js';
import { LoadBalancerEntryPoller } from '../../src/modules/load-balancer/load-balancer-entry.poller.js';
import { LoadBalancerModule } from '../../src/modules/load-balancer/load-balancer.module.js';
import { ClusterWatch } from '../../src/scheduler/cluster/cluster-watch.service.js';
import { Reconciliation } from '../../src/scheduler/reconciliation/reconciliation.service.js';
import { startBalancer, type BalancerServer } from '../support/load-balancer/balancer-server.js';
import { SchedulerWorld } from '../support/scheduler-world.js';

let server: BalancerServer;
let world: SchedulerWorld;
let taskId: string;
const enter = () => world.get(LoadBalancerEntryPoller).runOnce(world.now);
const leave = () => world.get(LoadBalancerCleanupPoller).runOnce(world.now);

beforeEach(async () => {
  server = await startBalancer();
  world = await SchedulerWorld.start({
    machines: 1,
    modules: [LoadBalancerModule],
    settings: { loadBalancerUri: server.uri },
  });
  await world.deployed(
    { id: 'svc', requestType: 'SERVICE', instances: 1, loadBalanced: true },
    { resources: { cpus: 1, memoryMb: 64, numPorts: 1 } },
  );
  await world.run(2);
  await enter();
  taskId = (await world.active())[0]!.taskId.id;
});
afterEach(async () => {
  await world.close();
  await server.close();
});

/** Its machine is given up, and the load balancer says this to the removal. */
async function giveUp(answer: LoadBalancerState): Promise<void> {
  server.balancer.script = () => answer;
  await world.get(ClusterWatch).machineDown('slave-1', 'silent for long');
  await leave();
  await world.query('DELETE FROM pending_request');
}
const comeBack = async () => {
  world.cluster.setReachable('slave-1', true);
  await world.cluster.advance(0);
  await world.get(Reconciliation).runWhenDue(world.now);
};
const cleaning = async () => (await world.active()).map((task) => [task.taskId.id, task.cleaning]);
const queued = () => world.query('SELECT pending_type FROM pending_request');

test('a lost task that is back enters the load balancer again, once its removal is over', async () => {
  expect(server.balancer.upstreams('svc')).toHaveLength(1);
  await giveUp('SUCCESS');
  expect(server.balancer.upstreams('svc')).toEqual([]);
  await comeBack();
  expect(await cleaning()).toEqual([[taskId, undefined]]);
  expect(await queued()).toContainEqual({ pending_type: 'TASK_RECOVERED' });
  await enter();
  expect(server.balancer.upstreams('svc')).toHaveLength(1);
});

test('a removal that is over by now, as the load balancer says when asked, does not keep it away', async () => {
  await giveUp('WAITING');
  await server.balancer.settle(`${taskId}-REMOVE-1`, 'SUCCESS');
  await comeBack();
  expect(await cleaning()).toEqual([[taskId, undefined]]);
});

test('a lost task that is back while the load balancer lets go of it has to go once it is replaced', async () => {
  await giveUp('WAITING');
  await comeBack();
  expect(await cleaning()).toEqual([[taskId, 'DECOMISSIONING']]);
  expect(await queued()).toContainEqual({ pending_type: 'TASK_RECOVERED' });
  await enter();
  expect(server.balancer.received.map((change) => change.loadBalancerRequestId)).toEqual([
    `${taskId}-ADD-1`,
    `${taskId}-REMOVE-1`,
  ]);
});
