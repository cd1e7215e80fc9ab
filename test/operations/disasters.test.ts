import { afterAll, expect, test } from 'vitest';
import type { DisabledAction, DisastersData } from '../../src/core/model/state.js';
import { createDatabase } from '../support/test-database.js';
import { waitFor } from '../support/wait-for.js';
import { everyOperationWasCalled, operationsOf } from './operations.js';

const database = await createDatabase();
afterAll(() => database.remove());
const operations = operationsOf(['Disasters'], {
  databaseUrl: database.url,
  settings: {
    disasterDetection: {
      runEveryMillis: 1_000,
      statsHistorySize: 3,
      disableActionsOnDisaster: ['BOUNCE_REQUEST'],
      // One task that waits for a second is a disaster: but only where a test makes one wait.
      fewestLateTasks: 1,
      criticalOverdueTaskPortion: 0.5,
      triggerAfterMillisOverTaskLagThreshold: 0,
    },
    deltaAfterWhichTasksAreLateMillis: 500,
  },
});

const active = () => operations.call<string[]>('GET /api/disasters/active', 200);
const disabled = () => operations.call<DisabledAction[]>('GET /api/disasters/disabled-actions', 200);
const stats = () => operations.call<DisastersData>('GET /api/disasters/stats', 200);
const declare = (type: string, status = 204) =>
  operations.call<{ message: string }>('POST /api/disasters/active/{type}', status, { params: { type } });
const end = (type: string, status = 204) =>
  operations.call<{ message: string }>('DELETE /api/disasters/active/{type}', status, { params: { type } });
const disable = (action: string, status = 204, body?: object) =>
  operations.call<{ message: string }>('POST /api/disasters/disabled-actions/{action}', status, {
    params: { action },
    body,
  });
const enable = (action: string, status = 204) =>
  operations.call<{ message: string }>('DELETE /api/disasters/disabled-actions/{action}', status, {
    params: { action },
  });
const standing = async (url: string) =>
  (await (await fetch(`${url}/readyz`)).json()) as { ready: boolean; leads: boolean };
const create = (id: string) => operations.api.saveRequest({ id, requestType: 'ON_DEMAND' });

test('an action is switched off for all until a user enables it, and says why', async () => {
  expect(await disabled()).toEqual([]);
  expect(await disable('create-request', 204, { type: 'DEPLOY', message: 'month end' })).toBeUndefined();
  const off = { type: 'CREATE_REQUEST', user: 'scheduler', automaticallyClearable: false };
  expect(await disabled()).toEqual([{ ...off, message: 'Action CREATE_REQUEST is disabled: month end' }]);
  await expect(create('refused')).rejects.toThrow('Action CREATE_REQUEST is disabled: month end');
  await disable('CREATE_REQUEST');
  expect(await disabled()).toEqual([{ ...off, message: 'Action CREATE_REQUEST is disabled for now' }]);
  for (const _again of [1, 2]) expect(await enable('CREATE_REQUEST')).toBeUndefined();
  expect(await disabled()).toEqual([]);
  await create('accepted');
});

test('an unknown action, one that cannot be disabled, and a reason that is no text are refused', async () => {
  expect((await disable('FOO', 400)).message).toContain('action must be one of');
  expect((await enable('FOO', 400)).message).toContain('action must be one of');
  expect((await disable('VIEW_REQUEST', 400)).message).toBe('action VIEW_REQUEST cannot be disabled');
  expect((await disable('DEPLOY', 400, { message: 7 })).message).toContain('message must');
  expect((await disable('DEPLOY', 400, { type: 'FOO' })).message).toContain('type must be one of');
  expect(await disabled()).toEqual([]);
});

test('a declared disaster switches the configured actions off, for good unless it ends by itself', async () => {
  expect(await active()).toEqual([]);
  for (const _again of [1, 2]) expect(await declare('USER_INITIATED')).toBeUndefined();
  expect(await active()).toEqual(['USER_INITIATED']);
  expect((await stats()).disasters).toEqual([
    { type: 'EXCESSIVE_TASK_LAG', active: false },
    { type: 'LOST_SLAVES', active: false },
    { type: 'LOST_TASKS', active: false },
    { type: 'USER_INITIATED', active: true },
  ]);
  const off = { type: 'BOUNCE_REQUEST', automaticallyClearable: false };
  const message = 'Action BOUNCE_REQUEST is disabled: because of USER_INITIATED';
  expect(await disabled()).toEqual([{ ...off, message }]);
  for (const _again of [1, 2]) expect(await end('user-initiated')).toBeUndefined();
  expect(await active()).toEqual([]);
  expect(await disabled()).toMatchObject([off]);
  await enable('BOUNCE_REQUEST');
  expect((await declare('FLOOD', 400)).message).toContain('type must be one of');
  expect((await end('FLOOD', 400)).message).toContain('type must be one of');
});

test('late tasks are seen as a disaster, whose actions come back with its end; unless nothing may be switched off', async () => {
  const { api } = operations;
  const quarterHour = 900_000;
  const late = async () => (await active()).includes('EXCESSIVE_TASK_LAG');
  await waitFor('three looks', async () => (await stats()).stats.length === 3);
  const points = (await stats()).stats;
  expect(points.map(({ timestamp }) => timestamp)).toEqual(points.map((p) => p.timestamp).toSorted((a, b) => b - a));
  expect(points[0]).toMatchObject({ numLateTasks: 0, numPendingTasks: 0, numActiveSlaves: 1, numLostTasks: 0 });

  await operations.call('POST /api/disasters/disable', 204);
  expect(await stats()).toMatchObject({ automatedActionsDisabled: true });
  await api.saveRequest({ id: 'nowhere', requestType: 'SERVICE', requiredSlaveAttributes: { disk: 'none' } });
  const resources = { cpus: 0.1, memoryMb: 16 };
  await api.deploy({ requestId: 'nowhere', id: 'd1', command: 'sleep 1000', resources });
  await waitFor('the disaster', late);
  expect((await stats()).stats[0]).toMatchObject({ numLateTasks: 1, numPendingTasks: 1, numActiveTasks: 0 });
  expect(await disabled()).toEqual([]);

  await operations.call('POST /api/disasters/enable', 204);
  expect(await stats()).toMatchObject({ automatedActionsDisabled: false });
  const [off] = await waitFor('the action to be switched off', async () => {
    const found = await disabled();
    return found.length > 0 && found;
  });
  expect(off).toMatchObject({ type: 'BOUNCE_REQUEST', automaticallyClearable: true });
  expect(Math.abs(off!.expiresAt! - Date.now() - quarterHour)).toBeLessThan(60_000);

  await api.call('DELETE', 'requests/request/nowhere');
  await waitFor('the end of the disaster', async () => !(await late()));
  expect(await disabled()).toEqual([]);
}, 60_000);

test('the leader gives its leadership up to another instance, and names it from then on', async () => {
  const other = await operations.installation.start(['scheduler']);
  await waitFor('the first to lead', async () => (await standing(operations.api.url)).leads);
  expect(await operations.call('POST /api/disasters/failover', 200)).toBeUndefined();
  await other.leads(30_000);
  expect(await standing(operations.api.url)).toMatchObject({ ready: true, leads: false });
  const refused = await operations.call('POST /api/disasters/failover', 409);
  const leader = other.api.url;
  expect(refused).toMatchObject({ code: 'NOT_LEADER', leader, message: `This instance does not lead; ${leader} does` });
  await create('through-who-does-not-lead');
}, 60_000);

everyOperationWasCalled(operations);
