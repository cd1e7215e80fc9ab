import { beforeAll, describe, expect, test } from 'vitest';
import type { ExpiringMachineState, MachineStateHistoryUpdate, Slave } from '../../src/core/model/machine.js';
import type { TaskCleanup } from '../../src/core/model/task.js';
import { waitFor } from '../support/wait-for.js';
import { Fleet } from './fleet.js';
import { everyOperationWasCalled, operationsOf } from './operations.js';
import { deployed } from './running-tasks.js';

const operations = operationsOf(['Slaves'], {
  command: ['scheduler'],
  settings: { maxDecommissioningSlaves: 1, checkDeploysEverySeconds: 1, cleanupEverySeconds: 1 },
});
const fleet = new Fleet(operations);
const s1 = { id: 's1', rackId: 'rack1', hostname: 'host1' };
const s2 = { id: 's2', rackId: 'rack1', hostname: 'host2' };
const s3 = { id: 's3', rackId: 'rack2', hostname: 'host3', attributes: { disk: 'fast' } };
/** Only s3 will do. */
const requiredSlaveAttributes = { disk: 'fast' };

beforeAll(async () => {
  await fleet.present(s1, s2, s3);
  await waitFor('three slaves', async () => (await operations.api.get<Slave[]>('slaves')).length === 3);
});

const slaves = (query: Record<string, string> = {}) => operations.call<Slave[]>('GET /api/slaves', 200, { query });
const history = (slaveId: string) =>
  operations.call<MachineStateHistoryUpdate[]>('GET /api/slaves/slave/{slaveId}', 200, { params: { slaveId } });
const stateOf = async (slaveId: string) => (await history(slaveId))[0]?.state;
const becomes = (slaveId: string, state: string) =>
  waitFor(`${slaveId} to be ${state}`, async () => (await stateOf(slaveId)) === state);
const expiring = () => operations.call<ExpiringMachineState[]>('GET /api/slaves/expiring', 200);
type Verb = 'activate' | 'decommission' | 'decommission/plan' | 'decommission/update' | 'freeze';
const change = (verb: Verb, slaveId: string, status: number, body?: object) =>
  operations.call<{ message: string }>(`POST /api/slaves/slave/{slaveId}/${verb}`, status, {
    params: { slaveId },
    body,
  });

test('slaves are listed with what they offer, all or those in a state, and shown one by one', async () => {
  const all = await slaves();
  expect(all.map(({ id, rackId, host }) => [id, rackId, host])).toEqual([
    ['s1', 'rack1', 'host1'],
    ['s2', 'rack1', 'host2'],
    ['s3', 'rack2', 'host3'],
  ]);
  const params = { slaveId: 's3' };
  const shown = await operations.call<Slave>('GET /api/slaves/slave/{slaveId}/details', 200, { params });
  expect(shown).toEqual(all[2]);
  expect(shown).toMatchObject({
    firstSeenAt: shown.currentState.timestamp,
    currentState: { objectId: 's3', state: 'ACTIVE' },
    attributes: requiredSlaveAttributes,
    resources: { cpus: 4, mem: 1024, disk: 1024, ports: '[31000-31999]' },
  });
  expect(await history('s3')).toEqual([shown.currentState]);
  expect(await slaves({ state: 'active' })).toEqual(all);
  expect(await slaves({ state: '' })).toEqual(all);
  expect(await slaves({ state: 'DEAD' })).toEqual([]);
  const refused = await operations.call<{ message: string }>('GET /api/slaves', 400, { query: { state: 'TIRED' } });
  expect(refused.message).toContain('state must be one of');
});

test('an unknown slave has no past and no details, and cannot be changed or forgotten', async () => {
  const params = { slaveId: 'nope' };
  expect(await history('nope')).toEqual([]);
  const unknown = { code: 'MACHINE_NOT_FOUND', message: `No slave with id 'nope'` };
  expect(await operations.call('GET /api/slaves/slave/{slaveId}/details', 404, { params })).toMatchObject(unknown);
  expect(await operations.call('DELETE /api/slaves/slave/{slaveId}', 404, { params })).toMatchObject(unknown);
  for (const verb of ['activate', 'decommission', 'decommission/plan', 'decommission/update', 'freeze'] as const) {
    expect(await change(verb, 'nope', 404)).toMatchObject(unknown);
  }
});

test('a frozen slave keeps its tasks and gets no new ones until it is activated', async () => {
  const { api } = operations;
  await deployed(api, { id: 'first', requiredSlaveAttributes });
  const [before] = await api.running('first', 1);
  expect(await change('freeze', 's3', 200, { message: 'a new disk', actionId: 'mine' })).toBeUndefined();
  expect(await history('s3')).toMatchObject([
    { objectId: 's3', state: 'FROZEN', message: 'a new disk' },
    { objectId: 's3', state: 'ACTIVE' },
  ]);
  expect((await slaves({ state: 'FROZEN' })).map(({ id }) => id)).toEqual(['s3']);
  expect(await change('freeze', 's3', 409)).toMatchObject({ message: `The slave 's3' is FROZEN already` });

  await deployed(api, { id: 'second', requiredSlaveAttributes });
  await waitFor('the task to wait', async () => {
    const [waiting] = await api.get<{ pendingTask: { pendingTaskId: { id: string } } }[]>(
      'tasks/scheduled/request/second',
    );
    if (!waiting) return false;
    const { id } = waiting.pendingTask.pendingTaskId;
    const why = await api.get<object>(`tasks/scheduled/task/${encodeURIComponent(id)}/explain`);
    return JSON.stringify(why).includes('FROZEN');
  });
  expect(await api.activeTasks('first')).toMatchObject([{ taskId: before!.taskId }]);
  expect(await change('activate', 's3', 200, {})).toBeUndefined();
  await api.running('second', 1);
  expect(await change('activate', 's3', 409)).toMatchObject({ message: `The slave 's3' is ACTIVE already` });
}, 60_000);

describe('a change that lapses', () => {
  const asked = { durationMillis: 600_000, revertToState: 'ACTIVE', message: 'for a while', actionId: 'mine' };

  test('is listed until it is made permanent; there is one at a time', async () => {
    expect(await expiring()).toEqual([]);
    await change('freeze', 's1', 200, asked);
    const [frozen] = await history('s1');
    expect(await expiring()).toEqual([
      {
        startMillis: frozen!.timestamp,
        actionId: 'mine',
        expiringAPIRequestObject: { ...asked, killTasksOnDecommissionTimeout: false },
        machineId: 's1',
        revertToState: 'ACTIVE',
        killTasksOnDecommissionTimeout: false,
      },
    ]);
    expect((await change('activate', 's1', 409, { ...asked, revertToState: 'FROZEN' })).message).toContain('lapses');
    const params = { slaveId: 's1' };
    for (const _again of [1, 2]) await operations.call('DELETE /api/slaves/slave/{slaveId}/expiring', 200, { params });
    expect(await expiring()).toEqual([]);
    expect(await stateOf('s1')).toBe('FROZEN');
    await change('activate', 's1', 200);
  });

  test('puts the slave into the state it names when its time is over', async () => {
    await change('freeze', 's1', 200, { durationMillis: 500, revertToState: 'ACTIVE' });
    const [lapsing] = await expiring();
    expect(lapsing!.actionId).toMatch(/^[0-9a-f-]{36}$/);
    await becomes('s1', 'ACTIVE');
    expect((await history('s1'))[0]).toMatchObject({ message: 'Updated due to expiring action' });
    expect(await expiring()).toEqual([]);
  });

  test.each([
    ['freeze', { durationMillis: 1 }, 'revertToState is required together with durationMillis'],
    ['freeze', { durationMillis: 1, revertToState: 'FOO' }, 'revertToState must be one of'],
    ['freeze', { durationMillis: 1, revertToState: 'DEAD' }, 'revertToState cannot be DEAD'],
    ['freeze', { durationMillis: 1, revertToState: 'DECOMMISSIONED' }, 'revertToState cannot be DECOMMISSIONED'],
    ['decommission', { durationMillis: 1, revertToState: 'FROZEN' }, 'revertToState cannot be FROZEN'],
    ['decommission', { durationMillis: 1, revertToState: 'DECOMMISSIONED' }, 'killTasksOnDecommissionTimeout'],
    ['activate', { durationMillis: -1 }, 'durationMillis must'],
    ['activate', { durationMillis: '1' }, 'durationMillis must'],
    ['activate', { message: 7 }, 'message must'],
    ['activate', { actionId: 7 }, 'actionId must'],
    ['activate', { killTasksOnDecommissionTimeout: 'yes' }, 'killTasksOnDecommissionTimeout must'],
  ] as const)('%s with %j is refused', async (verb, body, message) => {
    expect((await change(verb, 's1', 400, body)).message).toContain(message);
    expect(await stateOf('s1')).toBe('ACTIVE');
  });
});

test('a decommission sends tasks away, one slave at a time, and kills what is left when it lapses into DECOMMISSIONED', async () => {
  const { api } = operations;
  await deployed(api, { id: 'leaving', requiredSlaveAttributes });
  const [task] = await api.running('leaving', 1);
  const id = task!.taskId.id;
  const planned = await change('decommission/plan', 's3', 200);
  const waiting = expect.objectContaining({ taskId: task!.taskId, outcome: 'WAITS' }) as unknown;
  expect(planned).toMatchObject({ id: 's3', fits: false, moves: expect.arrayContaining([waiting]) });
  expect((await change('decommission/plan', 's3', 400, { durationMillis: 1 })).message).toContain('revertToState');
  await change('decommission', 's3', 200, {
    durationMillis: 3_000,
    revertToState: 'DECOMMISSIONED',
    killTasksOnDecommissionTimeout: true,
    message: 'too old',
  });
  expect(await expiring()).toMatchObject([{ machineId: 's3', killTasksOnDecommissionTimeout: true }]);
  expect((await change('decommission/update', 's3', 400, { durationMillis: 1 })).message).toContain('revertToState');
  expect((await change('decommission/update', 's2', 409)).message).toContain('it is ACTIVE');
  await becomes('s3', 'DECOMMISSIONING');
  await change('decommission/update', 's3', 200, {
    durationMillis: 4_000,
    revertToState: 'DECOMMISSIONED',
    killTasksOnDecommissionTimeout: true,
  });
  const cleanups = await api.get<TaskCleanup[]>('tasks/cleaning');
  const cleanup = cleanups.find(({ taskId }) => taskId.id === id);
  expect(cleanup).toMatchObject({
    cleanupType: 'DECOMISSIONING',
    message: expect.stringContaining('too old') as string,
  });
  expect((await change('decommission', 's2', 400)).message).toContain('at most 1');
  await becomes('s3', 'DECOMMISSIONED');
  const ended = await waitFor('the task to be killed', async () => {
    const { taskUpdates } = await api.history(id);
    return taskUpdates.some(({ taskState }) => taskState === 'TASK_KILLED') && taskUpdates;
  });
  expect(ended.map(({ statusMessage }) => statusMessage ?? '').join('\n')).toContain('DECOMMISSION_TIMEOUT');
  expect((await history('s3')).slice(0, 3).map(({ state }) => state)).toEqual([
    'DECOMMISSIONED',
    'DECOMMISSIONING',
    'STARTING_DECOMMISSION',
  ]);
  for (const verb of ['decommission', 'decommission/plan', 'freeze'] as const) {
    expect((await change(verb, 's3', 409)).message).toContain('it is DECOMMISSIONED');
  }
  await change('activate', 's3', 200);
  const [next] = await api.running('leaving', 1);
  expect(next!.taskId.id).not.toBe(id);
}, 60_000);

test('an action that is switched off changes no slave', async () => {
  const { api } = operations;
  for (const [verb, action] of [
    ['freeze', 'FREEZE_SLAVE'],
    ['activate', 'ACTIVATE_SLAVE'],
    ['decommission', 'DECOMMISSION_SLAVE'],
    ['decommission/plan', 'DECOMMISSION_SLAVE'],
  ] as const) {
    await api.post(`disasters/disabled-actions/${action}`, { message: 'month end' });
    expect((await change(verb, 's1', 409)).message).toBe(`Action ${action} is disabled: month end`);
    await api.call('DELETE', `disasters/disabled-actions/${action}`);
  }
  expect(await stateOf('s1')).toBe('ACTIVE');
});

test('slaves are found by the names of newer clients, too', async () => {
  const { api } = operations;
  expect(await api.get('agents')).toEqual(await slaves());
  expect(await api.get('agents?state=DEAD')).toEqual([]);
  expect(await api.get('agents/agent/s1')).toEqual(await history('s1'));
  const params = { slaveId: 's1' };
  const details = await operations.call('GET /api/slaves/slave/{slaveId}/details', 200, { params });
  expect(await api.get('agents/agent/s1/details')).toEqual(details);
  await api.post('agents/agent/s1/freeze', { durationMillis: 600_000, revertToState: 'ACTIVE' });
  expect(await api.get('agents/expiring')).toEqual(await expiring());
  await api.call('DELETE', 'agents/agent/s1/expiring');
  expect([await expiring(), await stateOf('s1')]).toEqual([[], 'FROZEN']);
  await api.post('agents/agent/s1/decommission');
  await becomes('s1', 'DECOMMISSIONED');
  await api.post('agents/agent/s1/activate');
  expect(await stateOf('s1')).toBe('ACTIVE');
});

test('a slave that is forgotten and still there is a new one; all that are DEAD are forgotten at once', async () => {
  const params = { slaveId: 's2' };
  const [before] = (await slaves()).filter(({ id }) => id === 's2');
  await change('freeze', 's2', 200);
  await operations.call('DELETE /api/slaves/slave/{slaveId}', 200, { params });
  await operations.api.call('DELETE', 'agents/agent/s1');
  const after = await waitFor('s2 to be seen again', async () => (await slaves()).find(({ id }) => id === 's2'));
  expect(after.firstSeenAt).toBeGreaterThan(before!.firstSeenAt);
  expect(await history('s2')).toMatchObject([{ state: 'ACTIVE', timestamp: after.firstSeenAt }]);

  await fleet.present(s1);
  for (const id of ['s2', 's3']) await becomes(id, 'DEAD');
  for (const action of ['decommission', 'freeze', 'activate'] as const)
    expect((await change(action, 's2', 409)).message).toContain('it is DEAD');
  await operations.call('DELETE /api/slaves/dead', 200, { body: { id: 'somebody', name: 'Some Body' } });
  expect((await slaves()).map(({ id }) => id)).toEqual(['s1']);
  expect(await history('s3')).toEqual([]);
  await operations.api.call('DELETE', 'agents/dead');
  expect((await slaves()).map(({ id }) => id)).toEqual(['s1']);
}, 60_000);

everyOperationWasCalled(operations);
