import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ScheduledTasksInfo, State, TaskReconciliationStatistics } from '../../src/core/model/state.js';
import { connect } from '../../src/platform/database/connection.js';
import { createDatabase } from '../support/test-database.js';
import { waitFor } from '../support/wait-for.js';
import { everyOperationWasCalled, operationsOf } from './operations.js';
import { deployed, sleepDeploy } from './running-tasks.js';

const database = await createDatabase();
// An operator had switched the comparison at the start off: so there is a time before the first one.
const sql = await connect(database.url, 'tests', 60_000);
await sql.query(
  `INSERT INTO disabled_action (action, message, automatically_clearable) VALUES ('STARTUP_TASK_RECONCILIATION', '', false)`,
);
await sql.end();
afterAll(() => database.remove());

const operations = operationsOf(['State'], {
  databaseUrl: database.url,
  env: { MUSTER_ALLOW_TEST_RESOURCE_CALLS: 'true' },
  settings: { deltaAfterWhichTasksAreLateMillis: 1_000, saveStateEverySeconds: 600 },
});
const fresh = { skipCache: true };
const state = (query: Record<string, boolean | string> = fresh) =>
  operations.call<State>('GET /api/state', 200, { query });
const provisioned = (which: 'over' | 'under', query: { skipCache?: boolean } = fresh) =>
  operations.call<string[]>(`GET /api/state/requests/${which}-provisioned`, 200, { query });

test('a comparison of tasks has no figures before the first one has ended', async () => {
  const { api } = operations;
  const read = 'GET /api/state/task-reconciliation' as const;
  const missing = await operations.call<{ message: string }>(read, 404);
  expect(missing.message).toBe('Tasks have not been reconciled yet');
  const before = Date.now();
  await api.post('test/reconcile');
  await waitFor('the end of the comparison', async () => (await fetch(`${api.url}/api/state/task-reconciliation`)).ok);
  const figures = await operations.call<TaskReconciliationStatistics>(read, 200);
  expect(figures).toMatchObject({ taskReconciliationIterations: 1, taskReconciliationResponseCount: 0 });
  // The look that finds the wish may have begun a moment before it.
  expect(figures.taskReconciliationStartedAt).toBeGreaterThan(before - 10_000);
  expect(figures.taskReconciliationDurationMillis).toBeGreaterThanOrEqual(0);
});

test('a query value that is no boolean is refused', async () => {
  for (const name of ['skipCache', 'includeRequestIds']) {
    const refused = await operations.call<{ message: string }>('GET /api/state', 400, { query: { [name]: 'maybe' } });
    expect(refused.message).toContain(name);
  }
  for (const which of ['over', 'under'] as const) {
    const query = { skipCache: 'maybe' };
    const path = `GET /api/state/requests/${which}-provisioned` as const;
    expect((await operations.call<{ message: string }>(path, 400, { query })).message).toContain('skipCache');
  }
});

describe('the service in figures', () => {
  const nowhere = { requiredSlaveAttributes: { disk: 'none' } };

  beforeAll(async () => {
    const { api } = operations;
    await deployed(api, { id: 'web', instances: 3 });
    await deployed(
      api,
      { id: 'steps', instances: 2 },
      { deployInstanceCountPerStep: 1, autoAdvanceDeploySteps: false },
    );
    await deployed(api, { id: 'stuck', ...nowhere });
    await deployed(api, { id: 'asleep' });
    await deployed(api, { id: 'nightly', requestType: 'SCHEDULED', schedule: '0 0 29 2 *' });
    await deployed(api, { id: 'wanted', requestType: 'ON_DEMAND', instances: 1, ...nowhere });
    await api.saveRequest({ id: 'spare', requestType: 'ON_DEMAND' });
    await api.post('requests/request/wanted/run');
    await api.running('web', 3);
    await api.running('asleep', 1);
    await api.running('steps', 1);
    await api.post('requests/request/asleep/pause', {});
    await waitFor('the paused task to be gone', async () => (await api.activeTasks('asleep')).length === 0);
    await waitFor('the late tasks', async () => {
      const { lateTasks, onDemandLateTasks } = await state();
      return lateTasks === 1 && onDemandLateTasks === 1;
    });
  }, 60_000);

  test('are computed anew with skipCache, and with the ids of requests only if they are asked for', async () => {
    const before = Date.now();
    const now = await state();
    expect(now.generatedAt).toBeGreaterThanOrEqual(before);
    expect(now).not.toHaveProperty('underProvisionedRequestIds');
    expect(now).not.toHaveProperty('overProvisionedRequestIds');
    const withIds = await state({ skipCache: true, includeRequestIds: true });
    expect(withIds).toMatchObject({
      overProvisionedRequestIds: [],
      underProvisionedRequestIds: expect.any(Array) as object,
    });
    const kept = await state({});
    expect(kept).toEqual(withIds);
    expect(await state({ skipCache: 'False', includeRequestIds: '' })).toEqual(withIds);
  });

  test('count tasks, requests, machines and instances', async () => {
    expect(await state()).toMatchObject({
      activeTasks: 4,
      launchingTasks: 0,
      cleaningTasks: 0,
      activeRequests: 6,
      pausedRequests: 1,
      cooldownRequests: 0,
      finishedRequests: 0,
      allRequests: 7,
      pendingRequests: 0,
      cleaningRequests: 0,
      scheduledTasks: 3,
      futureTasks: 1,
      lateTasks: 1,
      onDemandLateTasks: 1,
      activeSlaves: 1,
      activeRacks: 1,
      unknownSlaves: 0,
      deadSlaves: 0,
      decommissioningSlaves: 0,
      decomissioningSlaves: 0,
      lbCleanupTasks: 0,
      lbCleanupRequests: 0,
      authDatastoreHealthy: true,
    });
    const { hostStates, lastHeartbeatAt, avgStatusUpdateDelayMs } = await state();
    expect(hostStates).toMatchObject([
      { master: true, driverStatus: 'SUBSCRIBED', clusterConnected: true, offerCacheSize: 1 },
    ]);
    expect(hostStates[0]!.uptime).toBeGreaterThan(0);
    expect(hostStates[0]!.availableCachedCpus).toBeCloseTo(8 - 4 * 0.1);
    expect(hostStates[0]!.availableCachedMemory).toBe(8192 - 4 * 16);
    expect(lastHeartbeatAt).toBeGreaterThan(Date.now() - 600_000);
    const heard = Date.now();
    await waitFor('the next word of the machine', async () => (await state()).lastHeartbeatAt! > heard);
    expect(avgStatusUpdateDelayMs).toBeGreaterThanOrEqual(0);
  });

  test('name late tasks and deploys in progress', async () => {
    const now = await state();
    expect(now.listLateTasks).toMatchObject([{ requestId: 'stuck', deployId: 'd1' }]);
    expect(now.onDemandListLateTasks).toMatchObject([{ requestId: 'wanted' }]);
    expect(now.maxTaskLag).toBeGreaterThan(1_000);
    expect(now.activeDeploys.map(({ requestId }) => requestId)).toEqual(expect.arrayContaining(['steps', 'stuck']));
    expect(now.numDeploys).toBe(now.activeDeploys.length);
    expect(now.oldestDeploy).toBeGreaterThanOrEqual(now.oldestDeployStep);
    expect(now.oldestDeployStep).toBeGreaterThan(0);
    const waiting = await operations.call<ScheduledTasksInfo>('GET /api/state/scheduled-tasks-info', 200);
    expect(waiting).toMatchObject({
      lateTasks: now.listLateTasks,
      onDemandLateTasks: now.onDemandListLateTasks,
      numFutureTasks: now.futureTasks,
    });
    expect(waiting.maxTaskLag).toBeGreaterThanOrEqual(now.maxTaskLag);
    expect(waiting.timestamp).toBeGreaterThanOrEqual(now.generatedAt);
  });

  test('follow a frozen machine and a priority freeze', async () => {
    const { api } = operations;
    await api.post('slaves/slave/slave1/freeze');
    await api.post('racks/rack/rack1/freeze');
    await api.post('priority/freeze', { minimumPriorityLevel: 0.1, killTasks: false });
    const frozen = { activeSlaves: 0, unknownSlaves: 1, activeRacks: 0, unknownRacks: 1, minimumPriorityLevel: 0.1 };
    expect(await state()).toMatchObject(frozen);
    await api.call('DELETE', 'priority/freeze');
    await api.post('slaves/slave/slave1/activate');
    await api.post('racks/rack/rack1/activate');
    const thawed = await state();
    expect(thawed).toMatchObject({ activeSlaves: 1, unknownSlaves: 0, activeRacks: 1, unknownRacks: 0 });
    expect(thawed).not.toHaveProperty('minimumPriorityLevel');
  });

  test('requests with fewer tasks than instances are listed, where nothing is under way to change that', async () => {
    // The first step of its deploy has one task of two.
    expect(await provisioned('under')).toEqual(['steps']);
    expect(await state({ skipCache: true, includeRequestIds: true })).toMatchObject({
      underProvisionedRequests: 1,
      underProvisionedRequestIds: ['steps'],
    });
    await operations.api.post('deploys/update', { requestId: 'steps', deployId: 'd1', targetActiveInstances: 2 });
    await operations.api.running('steps', 2);
    expect(await provisioned('under', {})).toEqual(['steps']);
    expect(await provisioned('under')).toEqual([]);
    expect(await provisioned('under', {})).toEqual([]);
  });

  test('requests with more tasks than instances are listed: a deploy has tasks beside those of the one before', async () => {
    const { api } = operations;
    await waitFor('the end of the first deploy', async () => (await api.request('web')).activeDeploy?.id === 'd1');
    expect(await provisioned('over')).toEqual([]);
    await api.deploy(sleepDeploy('web', { id: 'd2', considerHealthyAfterRunningForSeconds: 600 }));
    await api.running('web', 6);
    expect(await provisioned('over', {})).toEqual([]);
    expect(await provisioned('over')).toEqual(['web']);
    expect(await provisioned('over', {})).toEqual(['web']);
    const kept = { overProvisionedRequests: 1, overProvisionedRequestIds: ['web'], activeTasks: 8 };
    expect(await state({})).toMatchObject(kept);
    await api.call('DELETE', 'deploys/deploy/d2/request/web');
    await api.running('web', 3);
    expect(await provisioned('over')).toEqual([]);
  }, 60_000);
});

everyOperationWasCalled(operations);
