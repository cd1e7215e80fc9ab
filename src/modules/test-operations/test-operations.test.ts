import { Module } from '@nestjs/common';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { startRooms, type RoomApp } from '../../../test/support/room-app.js';
import { startTestApp, type TestApp, type TestAppOptions } from '../../../test/support/test-app.js';
import { createDatabase } from '../../../test/support/test-database.js';
import { waitFor } from '../../../test/support/wait-for.js';
import type { ClusterDriver } from '../../cluster/cluster-driver.js';
import { Leadership } from '../../platform/leadership/leadership.js';
import { SchedulerControls } from './test-operations.service.js';
import { TestOperationsModule } from './test-operations.module.js';

const operations = [
  'abort',
  'notleader',
  'leader',
  'stop',
  'start',
  'reconnect-cluster',
  'reconcile',
  'scheduler/statusUpdate/some-task/TASK_LOST',
  'purge-history',
  'purge-history/request',
  'purge-history/deploy',
  'persist-task-history',
  'exception',
];

describe('a test operation', () => {
  const done: string[] = [];
  const controls: SchedulerControls = {
    forceStatus: async (taskId, state) => {
      done.push(`${taskId} ${state}`);
      return !taskId.startsWith('unknown');
    },
    startReconciliation: () => void done.push('reconciliation'),
    reconnect: async () => void done.push('reconnected'),
  };
  @Module({ providers: [{ provide: SchedulerControls, useValue: controls }], exports: [SchedulerControls] })
  class FakeScheduler {}
  const rooms = (allowTestResourceCalls: boolean): Promise<RoomApp> =>
    startRooms({ modules: [TestOperationsModule.on(FakeScheduler)], settings: { allowTestResourceCalls } });
  let closed: RoomApp;
  let open: RoomApp;
  beforeAll(async () => {
    [closed, open] = await Promise.all([rooms(false), rooms(true)]);
  });
  afterAll(() => Promise.all([closed.close(), open.close()]));
  afterEach(() => void (done.length = 0));

  test.each(operations)('%s is 403 where its operator does not allow it', async (operation) => {
    expect(await closed.call('POST', `/api/test/${operation}`)).toMatchObject({
      status: 403,
      body: { code: 'TEST_CALLS_DISABLED' },
    });
    expect(done).toEqual([]);
  });

  test.each([
    { operation: 'reconcile', does: 'reconciliation' },
    { operation: 'reconnect-cluster', does: 'reconnected' },
    { operation: 'scheduler/statusUpdate/web-d1-1-1-host-rack/TASK_LOST', does: 'web-d1-1-1-host-rack TASK_LOST' },
    { operation: 'scheduler/statusUpdate/web-d1-1-1-host-rack/task_lost', does: 'web-d1-1-1-host-rack TASK_LOST' },
  ])('$operation does what it says and answers 204', async ({ operation, does }) => {
    expect(await open.call('POST', `/api/test/${operation}`)).toMatchObject({ status: 204, body: '' });
    expect(done).toEqual([does]);
  });

  test('statusUpdate is 400 for a state that does not exist, and 404 for a task that is not active', async () => {
    const statusUpdate = (taskId: string, state: string) =>
      open.call('POST', `/api/test/scheduler/statusUpdate/${taskId}/${state}`);
    expect(await statusUpdate('web-d1-1-1-host-rack', 'TASK_HAPPY')).toMatchObject({
      status: 400,
      body: { code: 'INVALID_PARAMETER', errors: [{ field: 'taskState' }] },
    });
    expect(done).toEqual([]);
    expect(await statusUpdate('unknown-d1-1-1-host-rack', 'TASK_LOST')).toMatchObject({
      status: 404,
      body: { code: 'TASK_NOT_FOUND' },
    });
  });

  test('exception is 500 TEST_EXCEPTION, and keeps its message to the log', async () => {
    const { status, body } = await open.call('POST', '/api/test/exception?message=kaboom');
    expect({ status, body }).toMatchObject({ status: 500, body: { status: 500, code: 'TEST_EXCEPTION' } });
    expect(JSON.stringify(body)).not.toContain('kaboom');
  });
});

describe('of two instances', () => {
  type App = TestApp<ClusterDriver>;
  const apps: App[] = [];
  let databaseUrl: string;
  let remove: () => Promise<void>;
  let first: App;
  let second: App;
  const startApp = async (options: TestAppOptions<ClusterDriver> = {}): Promise<App> => {
    const app = await startTestApp({ databaseUrl, settings: { allowTestResourceCalls: true }, ...options });
    apps.push(app);
    return app;
  };
  beforeAll(async () => {
    ({ url: databaseUrl, remove } = await createDatabase());
    first = await startApp();
    second = await startApp({ follows: true });
  });
  afterAll(async () => {
    await Promise.all(apps.map((app) => app.close()));
    await remove();
  });
  const call = async ({ url }: App, operation: string) => {
    const response = await fetch(`${url}/api/test/${operation}`, { method: 'POST' });
    const text = await response.text();
    return { status: response.status, body: text === '' ? undefined : (JSON.parse(text) as Record<string, unknown>) };
  };
  const leads = ({ app }: App): boolean => app.get(Leadership).ready();
  const done = { status: 204, body: undefined };

  test.each(['abort', 'notleader'])('%s makes the leader hand over to the other, and it comes back', async (name) => {
    const [leader, other] = leads(first) ? [first, second] : [second, first];
    expect(await call(leader, name)).toEqual(done);
    expect(leads(leader)).toBe(false);
    await waitFor('the other to lead', () => leads(other));
    expect(await call(other, name)).toEqual(done);
    await waitFor('it to lead again', () => leads(leader));
  });

  test('leader makes the one that is asked lead, and the former leader stop', async () => {
    const [leader, other] = leads(first) ? [first, second] : [second, first];
    expect(await call(other, 'leader')).toEqual(done);
    expect(leads(other)).toBe(true);
    await waitFor('the former leader to notice', () => !leads(leader));
    expect(leads(other)).toBe(true);
  });

  test('stop makes one compete no more, though no instance leads, until start', async () => {
    const [leader, other] = leads(first) ? [first, second] : [second, first];
    expect(await call(other, 'stop')).toEqual(done);
    expect(await call(leader, 'stop')).toEqual(done);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect([leads(leader), leads(other)]).toEqual([false, false]);
    expect(await call(other, 'start')).toEqual(done);
    await waitFor('the started one to lead', () => leads(other));
    await call(leader, 'start');
  });

  test('what only a leader can do is 409 NOT_LEADER on the other, with the address of the leader', async () => {
    const [leader, other] = leads(first) ? [first, second] : [second, first];
    for (const operation of [
      'reconcile',
      'reconnect-cluster',
      'scheduler/statusUpdate/web-d1-1-1-host-rack/TASK_LOST',
    ]) {
      expect(await call(other, operation)).toMatchObject({
        status: 409,
        body: { code: 'NOT_LEADER', leader: leader.url },
      });
    }
    expect(await call(leader, 'reconcile')).toEqual(done);
    expect(await call(leader, 'reconnect-cluster')).toEqual(done);
    expect(leads(leader)).toBe(true);
  });
});
