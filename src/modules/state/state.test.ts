import { hostname } from 'node:os';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  insertDeploy,
  insertPendingTask,
  insertRequest,
  insertTask,
  makePendingTask,
  start,
} from '../../../test/support/builders.js';
import { FileDriver } from '../../../test/support/file-driver.js';
import { startTestApp } from '../../../test/support/test-app.js';
import { waitFor } from '../../../test/support/wait-for.js';
import { startRooms, type RoomApp } from '../../../test/support/room-app.js';
import type { State, TaskReconciliationStatistics } from '../../core/model/state.js';
import type { PendingTaskId } from '../../core/model/task.js';
import { makePendingTaskId } from '../../core/task-id.js';
import { Clock } from '../../platform/clock.js';
import { StateRepository } from './state.repository.js';
import { StateModule } from './state.module.js';

const second = 1_000;
let now = start;
const clock = new (class extends Clock {
  override now = () => now;
})();
let rooms: RoomApp;
const tx = () => rooms.database.pool;

beforeAll(async () => {
  rooms = await startRooms({ modules: [StateModule], clock });
});
afterAll(() => rooms.close());
beforeEach(async () => {
  // Beyond the life of a shared answer, so that no test sees the one of another.
  now += 3_600 * second;
  await tx().query(
    `TRUNCATE task, task_launch, task_update, task_cleanup, killed_task, pending_task, pending_request, request,
       request_cleanup, deploy_history, pending_deploy, slave, rack, task_reconciliation`,
  );
});

const pendingTask = (changes: Partial<Omit<PendingTaskId, 'id'>>) =>
  makePendingTask({ pendingTaskId: makePendingTaskId({ ...makePendingTask().pendingTaskId, ...changes }) });
const state = async (query = '?skipCache=true') => (await rooms.get<State>(`/api/state${query}`)).body;

test('of an empty service is all zeros', async () => {
  const { hostStates, generatedAt, authDatastoreHealthy, ...figures } = await state('');
  expect(generatedAt).toBe(now);
  expect(authDatastoreHealthy).toBe(true);
  expect(hostStates).toEqual([
    {
      master: true,
      uptime: expect.any(Number),
      driverStatus: 'PAUSED_FOR_RECONNECT',
      hostAddress: new URL(rooms.url).host,
      hostname: hostname(),
      clusterConnected: false,
      clusterMaster: new URL(rooms.url).host,
      offerCacheSize: 0,
      availableCachedCpus: 0,
      availableCachedMemory: 0,
    },
  ]);
  expect(Object.values(figures).filter((value) => !Array.isArray(value) && value !== 0)).toEqual([]);
  expect(figures).toMatchObject({ activeDeploys: [], listLateTasks: [], overProvisionedRequestIds: [] });
});

test('counts requests, tasks, machines and deploys', async () => {
  const states = [
    'ACTIVE',
    'ACTIVE',
    'DEPLOYING_TO_UNPAUSE',
    'PAUSED',
    'SYSTEM_COOLDOWN',
    'FINISHED',
    'DELETING',
  ] as const;
  for (const [index, each] of states.entries()) {
    await insertRequest(tx(), { request: { id: `r${index}`, requestType: 'ON_DEMAND' }, state: each });
  }
  await insertTask(tx(), { updates: [['TASK_RUNNING', start]] });
  const { id } = await insertTask(tx(), { instanceNo: 2, updates: [['TASK_RUNNING', start]] });
  await insertTask(tx(), { instanceNo: 3 });
  await insertTask(tx(), { instanceNo: 4, updates: [['TASK_LOST', start]] });
  await tx().query(
    `INSERT INTO task_cleanup (task_id, request_id, cleanup_type, created_at) VALUES ($1, 'web', 'BOUNCING', now())`,
    [id],
  );
  await tx().query(
    `INSERT INTO request_cleanup (request_id, cleanup_type, created_at) VALUES ('r1', 'PAUSING', now())`,
  );
  await tx().query(
    `INSERT INTO pending_request (request_id, deploy_id, pending_type, created_at, document)
     VALUES ('r1', 'd1', 'BOUNCE', now(), '{}')`,
  );
  for (const [index, each] of ['ACTIVE', 'ACTIVE', 'DEAD', 'DECOMMISSIONING', 'DECOMMISSIONED', 'FROZEN'].entries()) {
    await tx().query(
      `INSERT INTO slave (id, host, rack_id, attributes, resources, agent_id, incarnation, seen_at, first_seen_at, state, state_at)
       VALUES ($1, 'h', 'r', '{}', '{}', 'a', 'i', $2, now(), $3, now())`,
      [`s${index}`, new Date(start + index), each],
    );
  }
  await tx().query(
    `INSERT INTO rack (id, first_seen_at, state, state_at) VALUES ('r', now(), 'MISSING_ON_STARTUP', now())`,
  );
  await insertDeploy(tx(), { createdAt: now - 90 * second, user: 'ada' });
  const progress = { timestamp: now - 30 * second };
  await tx().query(
    `INSERT INTO pending_deploy (request_id, deploy_id, state, progress) VALUES ('web', 'd1', 'WAITING', $1)`,
    [JSON.stringify(progress)],
  );
  expect(await state()).toMatchObject({
    activeTasks: 2,
    launchingTasks: 1,
    cleaningTasks: 1,
    activeRequests: 3,
    pausedRequests: 1,
    cooldownRequests: 1,
    finishedRequests: 1,
    allRequests: 5,
    pendingRequests: 1,
    cleaningRequests: 1,
    activeSlaves: 2,
    deadSlaves: 1,
    decommissioningSlaves: 2,
    decomissioningSlaves: 2,
    unknownSlaves: 1,
    activeRacks: 0,
    unknownRacks: 1,
    lastHeartbeatAt: start + 5,
    numDeploys: 1,
    oldestDeploy: 90 * second,
    oldestDeployStep: 30 * second,
    activeDeploys: [{ requestId: 'web', deployId: 'd1', timestamp: now - 90 * second, user: 'ada' }],
  });
});

test('the newest word of a machine is the one that the leader heard, however long ago its record was written', async () => {
  const host = { master: true, uptime: 1, driverStatus: 'SUBSCRIBED', hostAddress: 'a:1', millisSinceLastOffer: 4_000 };
  const begun = performance.now();
  await tx().query(`INSERT INTO instance (id, document, written_at) VALUES ('other', $1, clock_timestamp())`, [host]);
  const { lastHeartbeatAt } = (await state()) as { lastHeartbeatAt: number };
  const took = performance.now() - begun;
  await tx().query('DELETE FROM instance');
  expect(now - lastHeartbeatAt).toBeGreaterThanOrEqual(4_000);
  expect(now - lastHeartbeatAt).toBeLessThanOrEqual(4_000 + took + 1);
});

test('tells late tasks from those whose time is to come', async () => {
  await insertRequest(tx());
  await insertRequest(tx(), { request: { id: 'demand', requestType: 'ON_DEMAND', instances: 1 } });
  const { pendingTaskId: late } = await insertPendingTask(tx(), pendingTask({ nextRunAt: now - 31 * second }));
  await insertPendingTask(tx(), pendingTask({ nextRunAt: now + 5 * second, instanceNo: 2 }));
  const waiting = pendingTask({ requestId: 'demand', nextRunAt: now - 40 * second });
  await insertPendingTask(tx(), waiting);
  expect(await state()).toMatchObject({
    scheduledTasks: 3,
    lateTasks: 1,
    listLateTasks: [late],
    onDemandLateTasks: 1,
    onDemandListLateTasks: [waiting.pendingTaskId],
    futureTasks: 1,
    maxTaskLag: 40 * second,
  });
  await insertTask(tx(), { requestId: 'demand' });
  expect(await state()).toMatchObject({ onDemandLateTasks: 0, futureTasks: 2, maxTaskLag: 31 * second });
});

describe('over- and under-provisioned requests', () => {
  beforeEach(async () => {
    for (const [id, instances] of [
      ['many', 1],
      ['few', 2],
      ['right', 1],
    ] as const) {
      await insertRequest(tx(), { request: { id, instances }, activeDeployId: 'd1' });
      for (const instanceNo of id === 'many' ? [1, 2] : [1]) await insertTask(tx(), { requestId: id, instanceNo });
    }
    await insertRequest(tx(), { request: { id: 'paused' }, state: 'PAUSED', activeDeployId: 'd1' });
    await insertRequest(tx(), { request: { id: 'new' } });
  });

  test('have lists of their own', async () => {
    expect((await rooms.get('/api/state/requests/over-provisioned?skipCache=true')).body).toEqual(['many']);
    expect((await rooms.get('/api/state/requests/under-provisioned?skipCache=true')).body).toEqual(['few']);
  });

  test('are counted always, and named when that is asked for or costs nothing', async () => {
    expect(await state()).toMatchObject({ overProvisionedRequests: 1, underProvisionedRequests: 1 });
    expect(await state()).not.toHaveProperty('overProvisionedRequestIds');
    const named = { overProvisionedRequestIds: ['many'], underProvisionedRequestIds: ['few'] };
    expect(await state('?skipCache=true&includeRequestIds=true')).toMatchObject(named);
    expect(await state('')).toMatchObject(named);
  });
});

test('is shared for half a minute by those who do not insist', async () => {
  expect(await state('')).toMatchObject({ allRequests: 0, generatedAt: now });
  const before = now;
  await insertRequest(tx());
  now += 29 * second;
  expect(await state('')).toMatchObject({ allRequests: 0, generatedAt: before });
  expect(await state()).toMatchObject({ allRequests: 1, generatedAt: now });
  now += 31 * second;
  expect(await state('?skipCache=false')).toMatchObject({ allRequests: 1, generatedAt: now });
});

test('the last reconciliation is shown once there was one', async () => {
  expect(await rooms.get('/api/state/task-reconciliation')).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } });
  const figures = rooms.app.get(StateRepository);
  for (const iterations of [1, 2]) {
    await figures.saveReconciliation(tx(), { startedAt: start, endedAt: start + 40, iterations, delays: [10, 20, 30] });
  }
  expect((await rooms.get('/api/state/task-reconciliation')).body).toMatchObject({
    taskReconciliationStartedAt: start,
    taskReconciliationDurationMillis: 40,
    taskReconciliationIterations: 2,
    taskReconciliationResponseCount: 3,
    taskReconciliationResponseMean: 20,
  });
});

test.each(['skipCache=maybe', 'includeRequestIds=7'])('%s is refused', async (query) => {
  expect(await rooms.get(`/api/state?${query}`)).toMatchObject({ status: 400, body: { code: 'INVALID_PARAMETER' } });
});

test('the leader reconciles when it begins, and says how that went', async () => {
  const whole = await startTestApp({ driver: new FileDriver() });
  try {
    const figures = await waitFor('the figures', async () => {
      const response = await fetch(`${whole.url}/api/state/task-reconciliation`);
      return response.ok && ((await response.json()) as TaskReconciliationStatistics);
    });
    expect(figures).toMatchObject({ taskReconciliationIterations: 1, taskReconciliationResponseCount: 0 });
  } finally {
    await whole.close();
  }
});
