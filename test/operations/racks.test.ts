import { expect, test } from 'vitest';
import type { ExpiringMachineState, MachineStateHistoryUpdate, Rack } from '../../src/core/model/machine.js';
import type { TaskCleanup } from '../../src/core/model/task.js';
import { waitFor } from '../support/wait-for.js';
import { everyOperationWasCalled, operationsOf } from './operations.js';
import { deployed } from './running-tasks.js';

const size = { hostname: 'localhost', cpus: 4, memoryMb: 1024, diskMb: 1024 };
const operations = operationsOf(['Racks'], {
  settings: {
    maxDecommissioningSlaves: 1,
    cluster: {
      local: {
        slaves: [
          { ...size, id: 's1', rackId: 'rack1' },
          { ...size, id: 's2', rackId: 'rack2' },
        ],
      },
    },
  },
});

const racks = (query: Record<string, string> = {}) => operations.call<Rack[]>('GET /api/racks', 200, { query });
const history = (rackId: string) =>
  operations.call<MachineStateHistoryUpdate[]>('GET /api/racks/rack/{rackId}', 200, { params: { rackId } });
const becomes = (rackId: string, state: string) =>
  waitFor(`${rackId} to be ${state}`, async () => (await history(rackId))[0]?.state === state);
const expiring = () => operations.call<ExpiringMachineState[]>('GET /api/racks/expiring', 200);
const change = (
  verb: 'activate' | 'decommission' | 'decommission/plan' | 'freeze',
  rackId: string,
  status: number,
  body?: object,
) =>
  operations.call<{ message: string }>(`POST /api/racks/rack/{rackId}/${verb}`, status, { params: { rackId }, body });
const remove = (rackId: string, status: number) =>
  operations.call('DELETE /api/racks/rack/{rackId}', status, { params: { rackId } });

test('racks are listed, all or those in a state, with what they went through', async () => {
  await waitFor('both racks', async () => (await racks()).length === 2);
  const all = await racks();
  expect(all).toMatchObject([
    { id: 'rack1', currentState: { objectId: 'rack1', state: 'ACTIVE' } },
    { id: 'rack2', currentState: { objectId: 'rack2', state: 'ACTIVE' } },
  ]);
  expect(all[0]!.firstSeenAt).toBe(all[0]!.currentState.timestamp);
  expect(await history('rack1')).toEqual([all[0]!.currentState]);
  expect(await racks({ state: 'Active' })).toEqual(all);
  expect(await racks({ state: 'DEAD' })).toEqual([]);
  const refused = await operations.call<{ message: string }>('GET /api/racks', 400, { query: { state: 'TIRED' } });
  expect(refused.message).toContain('state must be one of');
});

test('an unknown rack has no past, and cannot be changed or forgotten', async () => {
  expect(await history('nope')).toEqual([]);
  const unknown = { code: 'MACHINE_NOT_FOUND', message: `No rack with id 'nope'` };
  expect(await remove('nope', 404)).toMatchObject(unknown);
  for (const verb of ['activate', 'decommission', 'decommission/plan', 'freeze'] as const) {
    expect(await change(verb, 'nope', 404)).toMatchObject(unknown);
  }
});

test('slaves of a frozen rack get no tasks until it is activated', async () => {
  const { api } = operations;
  expect(await change('freeze', 'rack1', 200, { message: 'a new switch', actionId: 'mine' })).toBeUndefined();
  expect(await history('rack1')).toMatchObject([{ state: 'FROZEN', message: 'a new switch' }, { state: 'ACTIVE' }]);
  expect((await racks({ state: 'FROZEN' })).map(({ id }) => id)).toEqual(['rack1']);
  expect((await change('freeze', 'rack1', 409)).message).toBe(`The rack 'rack1' is FROZEN already`);
  await deployed(api, { id: 'elsewhere', instances: 3 });
  const tasks = await api.running('elsewhere', 3);
  expect(tasks.map(({ taskId }) => taskId.rackId)).toEqual(['rack2', 'rack2', 'rack2']);
  expect(await change('activate', 'rack1', 200, {})).toBeUndefined();
  expect((await change('activate', 'rack1', 409)).message).toBe(`The rack 'rack1' is ACTIVE already`);
  await deployed(api, { id: 'anywhere', instances: 2, rackSensitive: true, slavePlacement: 'SEPARATE' });
  const racksOfTasks = (await api.running('anywhere', 2)).map(({ taskId }) => taskId.rackId);
  expect(racksOfTasks.toSorted()).toEqual(['rack1', 'rack2']);
}, 60_000);

test('a change that lapses is listed until it is made permanent or its time is over', async () => {
  expect(await expiring()).toEqual([]);
  const asked = { durationMillis: 600_000, revertToState: 'ACTIVE', message: 'for a while', actionId: 'mine' };
  await change('freeze', 'rack1', 200, asked);
  expect(await expiring()).toEqual([
    {
      startMillis: (await history('rack1'))[0]!.timestamp,
      actionId: 'mine',
      expiringAPIRequestObject: { ...asked, killTasksOnDecommissionTimeout: false },
      machineId: 'rack1',
      revertToState: 'ACTIVE',
      killTasksOnDecommissionTimeout: false,
    },
  ]);
  expect((await change('activate', 'rack1', 409, { ...asked, revertToState: 'FROZEN' })).message).toContain('lapses');
  const params = { rackId: 'rack1' };
  for (const _again of [1, 2]) await operations.call('DELETE /api/racks/rack/{rackId}/expiring', 200, { params });
  expect(await expiring()).toEqual([]);
  await change('activate', 'rack1', 200);

  await change('freeze', 'rack1', 200, { durationMillis: 500, revertToState: 'ACTIVE' });
  await becomes('rack1', 'ACTIVE');
  expect((await history('rack1'))[0]).toMatchObject({ message: 'Updated due to expiring action' });
});

test.each([
  ['freeze', { durationMillis: 1 }, 'revertToState is required together with durationMillis'],
  ['freeze', { durationMillis: 1, revertToState: 'FOO' }, 'revertToState must be one of'],
  ['decommission', { durationMillis: 1, revertToState: 'DECOMMISSIONED' }, 'killTasksOnDecommissionTimeout'],
  ['activate', { durationMillis: 0.5 }, 'durationMillis must'],
] as const)('%s with %j is refused', async (verb, body, message) => {
  expect((await change(verb, 'rack1', 400, body)).message).toContain(message);
  expect((await history('rack1'))[0]).toMatchObject({ state: 'ACTIVE' });
});

test('a decommission moves the tasks of a rack elsewhere, and kills what is left when it lapses into DECOMMISSIONED', async () => {
  const { api } = operations;
  const before = await api.running('anywhere', 2);
  const leaving = before.find(({ taskId }) => taskId.rackId === 'rack1')!.taskId.id;
  const planned = await change('decommission/plan', 'rack1', 200);
  expect(planned).toMatchObject({ id: 'rack1', fits: false, waiting: 1, moves: [{ taskId: { id: leaving } }] });
  await change('decommission', 'rack1', 200, {
    durationMillis: 3_000,
    revertToState: 'DECOMMISSIONED',
    killTasksOnDecommissionTimeout: true,
    message: 'too old',
  });
  await becomes('rack1', 'DECOMMISSIONING');
  const cleanups = await api.get<TaskCleanup[]>('tasks/cleaning');
  const cleanup = cleanups.find(({ taskId }) => taskId.id === leaving);
  expect(cleanup).toMatchObject({
    cleanupType: 'DECOMISSIONING',
    message: expect.stringContaining('too old') as string,
  });
  await becomes('rack1', 'DECOMMISSIONED');
  const updates = await waitFor('the task to be killed', async () => {
    const { taskUpdates } = await api.history(leaving);
    return taskUpdates.some(({ taskState }) => taskState === 'TASK_KILLED') && taskUpdates;
  });
  expect(updates.map(({ statusMessage }) => statusMessage ?? '').join('\n')).toContain('DECOMMISSION_TIMEOUT');
  for (const verb of ['decommission', 'freeze'] as const) {
    expect((await change(verb, 'rack1', 409)).message).toContain('it is DECOMMISSIONED');
  }
  await change('activate', 'rack1', 200);
  await api.running('anywhere', 2);
}, 60_000);

test('an action that is switched off changes no rack', async () => {
  const { api } = operations;
  for (const [verb, action] of [
    ['freeze', 'FREEZE_RACK'],
    ['activate', 'ACTIVATE_RACK'],
    ['decommission', 'DECOMMISSION_RACK'],
    ['decommission/plan', 'DECOMMISSION_RACK'],
  ] as const) {
    await api.post(`disasters/disabled-actions/${action}`, { message: 'month end' });
    expect((await change(verb, 'rack1', 409)).message).toBe(`Action ${action} is disabled: month end`);
    await api.call('DELETE', `disasters/disabled-actions/${action}`);
  }
  expect((await history('rack1'))[0]).toMatchObject({ state: 'ACTIVE' });
});

test('a rack is not decommissioned while as many slaves are as may be at once', async () => {
  const { api } = operations;
  await api.post('slaves/slave/s2/decommission');
  expect((await change('decommission', 'rack1', 400)).message).toContain('at most 1');
  await api.post('slaves/slave/s2/activate');
  expect((await history('rack1'))[0]).toMatchObject({ state: 'ACTIVE' });
});

test('a rack that is forgotten and still there is a new one', async () => {
  const before = (await racks())[0]!.firstSeenAt;
  await change('freeze', 'rack1', 200);
  expect(await remove('rack1', 200)).toBeUndefined();
  const after = await waitFor('the rack to be seen again', async () => {
    const found = (await racks()).find(({ id }) => id === 'rack1');
    return found && found.firstSeenAt > before && found;
  });
  expect(await history('rack1')).toMatchObject([{ state: 'ACTIVE', timestamp: after.firstSeenAt }]);
});

everyOperationWasCalled(operations);
