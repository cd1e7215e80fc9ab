import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startBalancer, type BalancerServer } from '../../../test/support/load-balancer/balancer-server.js';
import { RollingService } from '../../../test/support/rolling-service.js';
import type { Deploy } from '../../core/model/deploy.js';
import type { LoadBalancerState } from '../../core/model/enums.js';
import { type BalancerRecords, requestIdText } from '../../core/load-balancer/index.js';
import { LoadBalancerRecordRepository } from '../tasks/balancing/load-balancer-record.repository.js';
import { AcceptanceChecks } from './deploy-acceptance.service.js';

let server: BalancerServer;
let service: RollingService;

const balancedDeploy = (changes: Partial<Deploy> = {}): Partial<Deploy> => ({
  resources: { cpus: 0.1, memoryMb: 16, numPorts: 1 },
  serviceBasePath: '/',
  loadBalancerGroups: ['public'],
  deployHealthTimeoutSeconds: 10,
  ...changes,
});
/** Deploy ids of the running tasks that get traffic, sorted; "nobody" where nothing listens. */
async function served(): Promise<string[]> {
  const tasks = await service.world.active('web');
  const byAddress = new Map(tasks.map(({ host, ports, taskId }) => [`${host}:${ports[0]}`, taskId.deployId]));
  return server.balancer
    .upstreams('web')
    .map((address) => byAddress.get(address) ?? 'nobody')
    .sort();
}
/** The newest changes that the load balancer got for each running task of a deploy: "ADD SUCCESS" or the like. */
async function told(deployId: string): Promise<string[]> {
  const tasks = (await service.world.active('web')).filter(({ taskId }) => taskId.deployId === deployId);
  const records = service.world.get(LoadBalancerRecordRepository);
  const found = await records.find(
    service.world.db.pool,
    tasks.map(({ taskId }) => taskId.id),
  );
  return [...found.values()].map(recordText);
}
const recordText = ({ add, remove }: BalancerRecords): string =>
  [add && `ADD ${add.loadBalancerState}`, remove && `REMOVE ${remove.loadBalancerState}`].filter(Boolean).join(', ');

/** The last change the load balancer was sent. */
const lastId = (): string => server.balancer.received.at(-1)!.loadBalancerRequestId;
const three = (deployId: string) => [deployId, deployId, deployId];
const answerWith = (state: LoadBalancerState) => (server.balancer.script = () => state);

/** Three healthy instances of v1 get traffic. */
beforeEach(async () => {
  server = await startBalancer();
  service = await RollingService.start({ loadBalancerUri: server.uri, loadBalancerRequestTimeoutMillis: 200 });
  service.behave(() => ({ startAfter: 500 }));
  await service.save({ loadBalanced: true });
  await service.deploy('v1', balancedDeploy());
  await service.run(7);
  service.leastServing = Number.POSITIVE_INFINITY;
});
afterEach(async () => {
  await service.world.close();
  await server.close();
});

describe('a load balanced deploy', () => {
  test('the first of its request, brings its tasks in', async () => {
    expect([await service.result('v1'), await served()]).toMatchObject([{ deployState: 'SUCCEEDED' }, three('v1')]);
  });

  test('succeeds when the load balancer, after a while, has swapped the tasks', async () => {
    answerWith('WAITING');
    await service.deploy('v2', balancedDeploy());
    await service.run(7);
    expect(await service.pending()).toMatchObject({
      state: 'WAITING',
      balance: { update: { loadBalancerState: 'WAITING', method: 'CHECK_STATE' } },
    });
    expect([await told('v1'), await told('v2')]).toEqual([three('ADD SUCCESS, REMOVE WAITING'), three('ADD WAITING')]);
    await server.balancer.settle('web-v2-3-DEPLOY-1', 'SUCCESS');
    await service.run(2);
    expect(await service.result('v2')).toMatchObject({
      deployState: 'SUCCEEDED',
      lbUpdate: { loadBalancerState: 'SUCCESS', loadBalancerRequestId: { id: 'web-v2-3' } },
    });
    expect([await service.running(), await served(), await told('v2')]).toEqual([
      three('v2'),
      three('v2'),
      three('ADD SUCCESS'),
    ]);
    expect(service.leastServing).toBe(3);
  });

  test('step by step moves one task after the other', async () => {
    await service.deploy('v2', balancedDeploy({ deployInstanceCountPerStep: 1 }));
    await service.run(7);
    expect(await served()).toEqual(['v1', 'v1', 'v2']);
    await service.run(16);
    expect([await service.result('v2'), await served()]).toMatchObject([{ deployState: 'SUCCEEDED' }, three('v2')]);
    expect(service.leastServing).toBe(3);
  });

  test('fails when the load balancer refuses, and the old tasks go on as before', async () => {
    server.balancer.script = () => ({ loadBalancerState: 'FAILED', message: 'no such group' });
    await service.deploy('v2', balancedDeploy());
    await service.run(8);
    expect(await service.result('v2')).toMatchObject({
      deployState: 'FAILED',
      message: 'Load balancer update is FAILED: no such group',
      lbUpdate: { loadBalancerState: 'FAILED' },
    });
    expect([await service.running(), await served(), await told('v1')]).toEqual([
      three('v1'),
      three('v1'),
      three('ADD SUCCESS'),
    ]);
  });

  test('waits for a load balancer that is down for a while', async () => {
    server.mode = 'down';
    await service.deploy('v2', balancedDeploy());
    await service.run(12);
    expect(await service.pending()).toMatchObject({ balance: { update: { loadBalancerState: 'UNKNOWN' } } });
    expect([await service.running(), service.leastServing]).toEqual([[...three('v1'), ...three('v2')], 3]);
    server.mode = 'up';
    await service.run(3);
    expect([await service.result('v2'), await served()]).toMatchObject([{ deployState: 'SUCCEEDED' }, three('v2')]);
    expect(server.balancer.received.filter(({ loadBalancerRequestId: id }) => id.startsWith('web-v2')).length).toBe(1);
  });

  test('is given up when the load balancer is down for too long, and the old tasks keep their traffic', async () => {
    server.mode = 'down';
    await service.deploy('v2', balancedDeploy());
    await service.run(40);
    expect(await service.pending()).toMatchObject({ state: 'CANCELING' });
    server.mode = 'up';
    await service.run(3);
    expect(await service.result('v2')).toMatchObject({ deployState: 'OVERDUE' });
    expect([await service.running(), await served(), await told('v1'), service.leastServing]).toEqual([
      three('v1'),
      three('v1'),
      three('ADD SUCCESS'),
      3,
    ]);
  });
});

describe('a cancel in the middle of a swap', () => {
  test('stops the swap, and the old tasks never left', async () => {
    answerWith('WAITING');
    await service.deploy('v2', balancedDeploy());
    await service.run(7);
    await service.cancel('v2');
    await service.run(3);
    expect(await service.result('v2')).toMatchObject({ deployState: 'CANCELED' });
    expect(server.calls).toContain('DELETE /lb/request/web-v2-3-DEPLOY-1');
    expect([await service.running(), await served(), await told('v1')]).toEqual([
      three('v1'),
      three('v1'),
      three('ADD SUCCESS'),
    ]);
  });

  test('that was carried out already puts the old tasks back before the new ones go', async () => {
    server.mode = 'mute';
    await service.deploy('v2', balancedDeploy());
    await service.run(7);
    expect(await served()).toEqual(three('v2'));
    await service.cancel('v2');
    server.mode = 'up';
    await service.run(4);
    expect(await service.result('v2')).toMatchObject({ deployState: 'CANCELED' });
    expect(lastId()).toMatch(/^web-v1-ADD-FOR-REVERT-\d+-DEPLOY-1$/);
    expect([await service.running(), await served(), await told('v1'), service.leastServing]).toEqual([
      three('v1'),
      three('v1'),
      three('ADD SUCCESS'),
      3,
    ]);
  });
});

describe('a new task that dies while the load balancer works', () => {
  const dieOnce = async (changes: Partial<Deploy>) => {
    let launches = 0;
    service.behave(() =>
      ++launches === 2 ? { startAfter: 500, runFor: 8_000, exit: 'TASK_FAILED' } : { startAfter: 500 },
    );
    answerWith('WAITING');
    await service.deploy('v2', balancedDeploy(changes));
    await service.run(10);
  };

  test('fails the deploy, and the swap is cancelled', async () => {
    await dieOnce({});
    expect(await service.result('v2')).toMatchObject({
      deployState: 'FAILED',
      deployFailures: [{ reason: 'TASK_FAILED_ON_STARTUP' }],
    });
    expect([await service.running(), await served(), await told('v1')]).toEqual([
      three('v1'),
      three('v1'),
      three('ADD SUCCESS'),
    ]);
  });

  test('and may be retried is replaced, and its replacement gets traffic before the old tasks go', async () => {
    await dieOnce({ maxTaskRetries: 1 });
    answerWith('SUCCESS');
    await server.balancer.settle('web-v2-3-DEPLOY-1', 'SUCCESS');
    await service.run(9);
    expect(await service.result('v2')).toMatchObject({ deployState: 'SUCCEEDED' });
    expect(lastId()).toBe('web-v2-3-DEPLOY-2');
    expect((await served()).filter((deployId) => deployId !== 'nobody')).toEqual(three('v2'));
    expect(service.leastServing).toBe(3);
  });
});

test('a leader that dies after the call and before the answer: the next one asks the same under the same id', async () => {
  server.mode = 'mute';
  await service.deploy('v2', balancedDeploy());
  await service.run(6);
  await service.world.crash();
  server.mode = 'up';
  await service.run(3);
  const ids = server.balancer.received
    .map(({ loadBalancerRequestId: id }) => id)
    .filter((id) => id.startsWith('web-v2'));
  expect(new Set(ids)).toEqual(new Set(['web-v2-3-DEPLOY-1']));
  expect(ids.length).toBeGreaterThan(1);
  expect([await service.result('v2'), await served()]).toMatchObject([{ deployState: 'SUCCEEDED' }, three('v2')]);
});

describe('canary deploys', () => {
  const canaryDeploySettings = {
    enableCanaryDeploy: false,
    instanceGroupSize: 1,
    acceptanceMode: 'CHECKS' as const,
    waitMillisBetweenGroups: 0,
    allowedTasksFailuresPerGroup: 0,
    canaryCycleCount: 3,
  };

  test('whose checks fail after the swap give the traffic back to the old tasks', async () => {
    service.world.get(AcceptanceChecks).bind({
      name: 'errors',
      check: async ({ newTasks, otherTasks }) => ({
        state: (await served()).includes('v2') ? 'FAILED' : 'PENDING',
        message: `${newTasks.length} new, ${otherTasks.length} old`,
      }),
    });
    await service.deploy('v2', balancedDeploy({ canaryDeploySettings }));
    await service.run(9);
    expect(await service.result('v2')).toMatchObject({
      deployState: 'FAILED',
      message: '(errors - FAILED) 3 new, 3 old',
    });
    expect(lastId()).toMatch(/^web-v1-ADD-FOR-REVERT-/);
    expect([await service.running(), await served(), await told('v1'), service.leastServing]).toEqual([
      three('v1'),
      three('v1'),
      three('ADD SUCCESS'),
      3,
    ]);
  });

  test('show what the load balancer was asked for in their progress', async () => {
    answerWith('WAITING');
    await service.deploy('v2', balancedDeploy({ canaryDeploySettings }));
    await service.run(7);
    const { progress } = (await service.pending())!;
    const pending = progress?.pendingLbUpdate;
    expect(pending).toMatchObject({ loadBalancerState: 'WAITING', loadBalancerRequestId: { requestType: 'DEPLOY' } });
    const idText = requestIdText(pending!.loadBalancerRequestId);
    expect(idText).toMatch(/^web-v2-3-\d+-DEPLOY-1$/);
    expect(progress?.lbUpdates?.[idText]).toMatchObject({
      loadBalancerUpdate: pending,
      added: [{ deployId: 'v2' }, { deployId: 'v2' }, { deployId: 'v2' }],
      removed: [{ deployId: 'v1' }, { deployId: 'v1' }, { deployId: 'v1' }],
    });
    await server.balancer.settle(idText, 'SUCCESS');
    await service.run(3);
    expect([await service.result('v2'), await served()]).toMatchObject([{ deployState: 'SUCCEEDED' }, three('v2')]);
  });
});
