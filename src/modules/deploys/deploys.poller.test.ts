import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { DeployProgress } from '../../core/model/deploy.js';
import { Clock } from '../../platform/clock.js';
import type { Queryable } from '../../platform/database/queryable.js';
import {
  insertDeploy,
  insertPendingTask,
  insertRequest,
  insertTask,
  makePendingTask,
  start,
} from '../../../test/support/builders.js';
import { toldEvents } from '../../../test/support/told-events.js';
import { startRooms, type RoomApp } from '../../../test/support/room-app.js';
import { DeployRepository } from './deploy.repository.js';
import { DeploysModule } from './deploys.module.js';
import { DeploysPoller } from './deploys.poller.js';

/** Stands still, so that nothing happens by itself. */
class StoppedClock extends Clock {
  override now(): number {
    return start;
  }
}

let rooms: RoomApp;
let tx: Queryable;
let store: DeployRepository;
const look = (after = 0) => rooms.app.get(DeploysPoller).runOnce(start + after);

beforeAll(async () => {
  rooms = await startRooms({ modules: [DeploysModule], clock: new StoppedClock() });
  tx = rooms.database.pool;
  store = rooms.app.get(DeployRepository);
});
afterAll(() => rooms.close());
beforeEach(() =>
  tx.query(`TRUNCATE request, request_history, deploy_history, pending_deploy, pending_request, pending_task, task,
    task_launch, task_update, task_healthcheck, task_cleanup, killed_task, expiring_action, webhook, webhook_update, live_event`),
);

const progress = (changes: Partial<DeployProgress> = {}): DeployProgress => ({
  targetActiveInstances: 2,
  currentActiveInstances: 0,
  deployInstanceCountPerStep: 2,
  deployStepWaitTimeMs: 0,
  stepComplete: false,
  autoAdvanceDeploySteps: true,
  failedDeployTasks: [],
  timestamp: start,
  ...changes,
});

/** Service 'web' of two instances: v1 serves, v2 is in progress. */
async function deploying(changes: Partial<DeployProgress> = {}, v2 = {}): Promise<void> {
  await insertRequest(tx, { request: { instances: 2 }, activeDeployId: 'v1', pendingDeployId: 'v2' });
  await insertDeploy(tx, { deploy: { id: 'v1' } });
  await insertDeploy(tx, { deploy: { id: 'v2', ...v2 }, user: 'ann@example.org' });
  await store.savePending(tx, { requestId: 'web', deployId: 'v2', state: 'WAITING', progress: progress(changes) });
}
const running = (deployId: string, instanceNo: number) =>
  insertTask(tx, { deployId, instanceNo, startedAt: start - instanceNo, updates: [['TASK_RUNNING', start]] });

const request = async () => (await tx.query(`SELECT * FROM request WHERE id = 'web'`))[0];
const result = async () => (await store.find(tx, { requestId: 'web', deployId: 'v2' }))?.result;
const cleanups = async (): Promise<string[]> =>
  (await tx.query('SELECT task_id, cleanup_type FROM task_cleanup ORDER BY task_id')).map(
    (row: { task_id: string; cleanup_type: string }) => `${row.task_id.split('-')[1]} ${row.cleanup_type}`,
  );
const queue = async (): Promise<string[]> =>
  (await tx.query('SELECT deploy_id, pending_type FROM pending_request ORDER BY id')).map(
    (row: { deploy_id: string; pending_type: string }) => `${row.deploy_id} ${row.pending_type}`,
  );

describe('a healthy deploy', () => {
  test('becomes the active one, and the old tasks may go', async () => {
    await deploying();
    for (const deployId of ['v1', 'v2']) for (const no of [1, 2]) await running(deployId, no);
    await tx.query(`INSERT INTO webhook (id, uri, webhook_type, created_at) VALUES ('w', 'http://h', 'DEPLOY', now())`);

    await look(4_999);
    expect(await result()).toBeUndefined();
    await look(5_000);

    expect(await request()).toMatchObject({ active_deploy_id: 'v2', pending_deploy_id: null, state: 'ACTIVE' });
    expect(await result()).toEqual({ deployState: 'SUCCEEDED', deployFailures: [], timestamp: start + 5_000 });
    expect(await store.findPending(tx)).toEqual([]);
    expect(await cleanups()).toEqual(['v1 DEPLOY_STEP_FINISHED', 'v1 DEPLOY_STEP_FINISHED']);
    expect(await queue()).toEqual([]);
    // Nothing is told twice, however often the deploy is looked at.
    await look(5_001);
    const [told, ...more] = await tx.query('SELECT body FROM webhook_update');
    expect(more).toEqual([]);
    expect(told.body).toMatchObject({ eventType: 'FINISHED', deployResult: { deployState: 'SUCCEEDED' } });
  });

  test('step by step replaces as many old tasks as new ones are healthy', async () => {
    await deploying({ targetActiveInstances: 1, deployInstanceCountPerStep: 1 });
    for (const no of [1, 2]) await running('v1', no);
    await running('v2', 1);

    await look(5_000);
    expect(await cleanups()).toEqual(['v1 DEPLOY_STEP_FINISHED']);
    expect((await store.findPending(tx))[0]?.progress).toMatchObject({ currentActiveInstances: 1, stepComplete: true });

    await look(5_001);
    expect((await store.findPending(tx))[0]?.progress).toMatchObject({ targetActiveInstances: 2, stepComplete: false });
    expect(await queue()).toEqual(['v2 NEXT_DEPLOY_STEP']);
    // Streams hear of each of both; nothing is told of a look that changed nothing.
    await look(5_001);
    expect(await toldEvents(tx, 'DEPLOY')).toEqual(
      [1, 2].map(() => ({ type: 'DEPLOY', at: start, requestId: 'web', deployId: 'v2', eventType: 'STEP' })),
    );
  });

  test('with a health check waits for it to pass', async () => {
    await deploying({}, { healthcheck: { uri: '/' } });
    const tasks = [await running('v2', 1), await running('v2', 2)];
    const pass = (id: string) =>
      tx.query(`INSERT INTO task_healthcheck (task_id, checked_at, startup, status_code) VALUES ($1, $2, false, 200)`, [
        id,
        new Date(start + 1_000),
      ]);
    await pass(tasks[0]!.id);
    await look(6_000);
    expect(await result()).toBeUndefined();
    await pass(tasks[1]!.id);
    await look(6_000);
    expect(await result()).toMatchObject({ deployState: 'SUCCEEDED' });
  });

  test('drops what waits for a machine under the old deploy', async () => {
    await deploying();
    await insertPendingTask(
      tx,
      makePendingTask({ pendingTaskId: { ...makePendingTask().pendingTaskId, deployId: 'v1' } }),
    );
    for (const no of [1, 2]) await running('v2', no);
    await look(5_000);
    expect(await tx.query('SELECT 1 FROM pending_task')).toEqual([]);
  });
});

describe('a deploy that does not make it', () => {
  test('is rolled back: the old tasks are not touched, and the reason is recorded', async () => {
    await deploying();
    for (const no of [1, 2]) await running('v1', no);
    await running('v2', 1);
    const dead = await insertTask(tx, {
      deployId: 'v2',
      instanceNo: 2,
      updates: [
        ['TASK_RUNNING', start],
        ['TASK_FAILED', start + 10, { message: 'Command exited with status 3' }],
      ],
    });
    await look(1_000);
    expect(await result()).toEqual({
      deployState: 'FAILED',
      message: '1 task of the deploy failed',
      deployFailures: [{ reason: 'TASK_FAILED_ON_STARTUP', taskId: dead, message: 'Command exited with status 3' }],
      timestamp: start + 1_000,
    });
    expect(await request()).toMatchObject({ active_deploy_id: 'v1', pending_deploy_id: null });
    expect(await cleanups()).toEqual(['v2 DEPLOY_FAILED']);
    expect(await queue()).toEqual(['v1 DEPLOY_FAILED']);
  });

  test('because its tasks are unhealthy closes their checks and keeps the last word of each', async () => {
    await deploying({}, { healthcheck: { uri: '/', failureStatusCodes: [500] } });
    const tasks = [await running('v2', 1), await running('v2', 2)];
    for (const [at, startup, status] of [
      [1, true, null],
      [2, true, null],
      [3, false, 500],
    ] as const) {
      for (const { id } of tasks) {
        await tx.query(
          'INSERT INTO task_healthcheck (task_id, checked_at, startup, status_code) VALUES ($1, $2, $3, $4)',
          [id, new Date(start + at), startup, status],
        );
      }
    }
    await look(1_000);
    expect(await result()).toMatchObject({
      deployState: 'FAILED',
      deployFailures: [{ reason: 'TASK_FAILED_HEALTH_CHECKS' }, { reason: 'TASK_FAILED_HEALTH_CHECKS' }],
    });
    expect(await tx.query('SELECT healthchecks_finished FROM task')).toEqual([
      { healthchecks_finished: true },
      { healthchecks_finished: true },
    ]);
    expect(await tx.query('SELECT DISTINCT status_code FROM task_healthcheck')).toEqual([{ status_code: 500 }]);
  });

  test('because there is no room for its tasks says so', async () => {
    await deploying();
    await look(125_001);
    expect(await result()).toMatchObject({
      deployState: 'OVERDUE',
      message: 'Only 0 of 2 tasks could be launched within 125 s',
    });
  });

  test('because it was cancelled sends its tasks away', async () => {
    await deploying();
    await running('v2', 1);
    const [pending] = await store.findPending(tx);
    await store.savePending(tx, { ...pending!, cancel: { user: 'bob', requestedAt: start } });
    await look(1_000);
    expect(await result()).toMatchObject({
      deployState: 'CANCELED',
      message: 'Canceled by bob at 2026-01-05T12:00:00.000Z',
    });
    expect(await cleanups()).toEqual(['v2 DEPLOY_CANCELED']);
    expect(await queue()).toEqual(['v1 DEPLOY_CANCELLED']);
  });

  test('because its request is gone leaves its result', async () => {
    await deploying();
    await tx.query('DELETE FROM request');
    await look();
    expect(await result()).toMatchObject({ deployState: 'FAILED' });
    expect(await store.findPending(tx)).toEqual([]);
  });
});

test('a missing task that is not queued is asked for once', async () => {
  await deploying();
  await look(1_000);
  await look(2_000);
  expect(await queue()).toEqual(['v2 NEXT_DEPLOY_STEP']);
});

test('a target that is in force already is answered without a new step', async () => {
  await deploying();
  const [pending] = await store.findPending(tx);
  await store.savePending(tx, { ...pending!, updateTargetInstances: 2 });
  await look(1_000);
  expect((await store.findPending(tx))[0]).toMatchObject({ updateTargetInstances: undefined, progress: progress() });
});

test('every step of a deploy raises the version of its request, so that older placements are decided again', async () => {
  await deploying();
  const before = (await request()).version;
  const [pending] = await store.findPending(tx);
  await store.savePending(tx, { ...pending!, updateTargetInstances: 1 });
  await look(1_000);
  expect(Number((await request()).version)).toBe(Number(before) + 1);
});

test('a deploy that is stuck does not stop the others', async () => {
  await deploying();
  for (const no of [1, 2]) await running('v2', no);
  await insertRequest(tx, { request: { id: 'a-broken-one', instances: 1 }, pendingDeployId: 'x' });
  await store.savePending(tx, {
    requestId: 'a-broken-one',
    deployId: 'x',
    state: 'WAITING',
    progress: {} as DeployProgress,
  });
  await insertDeploy(tx, { deploy: { requestId: 'a-broken-one', id: 'x' } });
  await look(5_000);
  expect(await result()).toMatchObject({ deployState: 'SUCCEEDED' });
});

test('a deploy that pauses again what it should unpause leaves the story in the history', async () => {
  await deploying();
  await tx.query(`UPDATE request SET state = 'DEPLOYING_TO_UNPAUSE', bouncing = true`);
  await look(125_001);
  expect(await request()).toMatchObject({ state: 'PAUSED', bouncing: false });
  expect(await tx.query('SELECT event_type, user_name FROM request_history')).toEqual([
    { event_type: 'PAUSED', user_name: 'ann@example.org' },
  ]);
});
