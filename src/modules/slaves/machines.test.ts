import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { insertRequest, insertTask, makeMachine, start, type TaskRow } from '../../../test/support/builders.js';
import { startRooms, type RoomApp } from '../../../test/support/room-app.js';
import { waitFor } from '../../../test/support/wait-for.js';
import type { MachineSnapshot } from '../../cluster/cluster-driver.js';
import type { MachineState } from '../../core/model/enums.js';
import type { MachineStateHistoryUpdate, Rack } from '../../core/model/machine.js';
import { Clock } from '../../platform/clock.js';
import { MachinesPoller } from './machines.poller.js';
import { MachineReports } from './machine-reports.service.js';
import { SlavesModule } from './slaves.module.js';

let now = start;
const clock = new (class extends Clock {
  override now = () => now;
})();
let rooms: RoomApp;
let poller: MachinesPoller;

beforeAll(async () => {
  // The timers are off: passes are made by the test, and by what wakes the poller.
  const settings = {
    checkSchedulerEverySeconds: 0,
    checkExpiringUserActionEveryMillis: 0,
    maxDecommissioningSlaves: 2,
  };
  rooms = await startRooms({ modules: [SlavesModule], settings, clock });
  poller = rooms.app.get(MachinesPoller);
});
afterAll(() => rooms.close());
beforeEach(async () => {
  now = start;
  await rooms.database.pool.query(
    `TRUNCATE slave, rack, machine_history, expiring_action, task, task_launch, task_update, task_cleanup, killed_task,
       request, pending_request`,
  );
  for (const slaveId of ['s1', 's2', 's3']) await seen({ slaveId, rackId: slaveId === 's3' ? 'rack-2' : 'rack-1' });
});

const seen = (machine: Partial<MachineSnapshot>) =>
  rooms.database.leaderTransaction((tx) => rooms.app.get(MachineReports).seen(tx, makeMachine(machine), now));
const act = (path: string, body?: unknown) => rooms.call('POST', `/api/${path}`, body);
const freeze = (id: string, body?: unknown) => act(`slaves/slave/${id}/freeze`, body);
const activate = (id: string) => act(`slaves/slave/${id}/activate`);
const decommission = (id: string, body?: unknown) => act(`slaves/slave/${id}/decommission`, body);
const updateDecommission = (id: string, body?: unknown) => act(`agents/agent/${id}/decommission/update`, body);
const stateOf = async (id: string): Promise<MachineState | undefined> => {
  const found = [...(await rooms.get<Rack[]>('/api/slaves')).body, ...(await rooms.get<Rack[]>('/api/racks')).body];
  return found.find((machine) => machine.id === id)?.currentState.state;
};
const slaveIds = async () => (await rooms.get<Rack[]>('/api/slaves')).body.map((slave) => slave.id);
const newestState = async (id: string) =>
  (await rooms.get<MachineStateHistoryUpdate[]>(`/api/slaves/slave/${id}`)).body[0];
const setState = (id: string, state: MachineState, table: 'slave' | 'rack' = 'slave') =>
  rooms.database.pool.query(`UPDATE ${table} SET state = $2 WHERE id = $1`, [id, state]);
const insert = (row: TaskRow) =>
  insertTask(rooms.database.pool, { ...row, updates: row.updates ?? [['TASK_RUNNING', start]] });
const cleanups = () =>
  rooms.database.pool.query('SELECT task_id, cleanup_type, user_name, message FROM task_cleanup ORDER BY task_id');

describe('reading', () => {
  test('slaves, racks, their details and their past', async () => {
    expect(await slaveIds()).toEqual(['s1', 's2', 's3']);
    const slave = {
      id: 's1',
      firstSeenAt: start,
      currentState: { objectId: 's1', state: 'ACTIVE', timestamp: start },
      host: 'host-1',
      rackId: 'rack-1',
      attributes: {},
      resources: { cpus: 8, mem: 16_000, disk: 100_000, ports: '[31000-31999]' },
    };
    expect((await rooms.get('/api/slaves/slave/s1/details')).body).toEqual(slave);
    expect((await rooms.get('/api/agents/agent/s1/details')).body).toEqual(slave);
    expect((await rooms.get('/api/racks/')).body).toEqual([
      { id: 'rack-1', firstSeenAt: start, currentState: { objectId: 'rack-1', state: 'ACTIVE', timestamp: start } },
      { id: 'rack-2', firstSeenAt: start, currentState: { objectId: 'rack-2', state: 'ACTIVE', timestamp: start } },
    ]);
    expect((await rooms.get('/api/racks/rack/rack-1')).body).toEqual([
      { objectId: 'rack-1', state: 'ACTIVE', timestamp: start },
    ]);
  });

  test('by state', async () => {
    await freeze('s2');
    expect((await rooms.get('/api/slaves?state=frozen')).body).toMatchObject([{ id: 's2' }]);
    expect((await rooms.get('/api/slaves?state=')).body).toHaveLength(3);
    expect((await rooms.get('/api/racks?state=DEAD')).body).toEqual([]);
    for (const path of ['slaves', 'racks']) {
      expect(await rooms.get(`/api/${path}?state=TIRED`)).toMatchObject({
        status: 400,
        body: { errors: [{ field: 'state', rule: 'oneOf' }] },
      });
    }
  });

  test('what was never seen has no past and no details', async () => {
    expect(await rooms.get('/api/slaves/slave/nope')).toMatchObject({ status: 200, body: [] });
    expect(await rooms.get('/api/racks/rack/nope')).toMatchObject({ status: 200, body: [] });
    expect(await rooms.get('/api/slaves/slave/nope/details')).toMatchObject({
      status: 404,
      body: { code: 'MACHINE_NOT_FOUND' },
    });
  });
});

describe('changing the state', () => {
  test('is kept with its reason, and answered with nothing', async () => {
    now += 5;
    expect(await freeze('s1', { message: 'disk' })).toMatchObject({ status: 200, body: '' });
    expect((await rooms.get('/api/slaves/slave/s1')).body).toEqual([
      { objectId: 's1', state: 'FROZEN', timestamp: start + 5, message: 'disk' },
      { objectId: 's1', state: 'ACTIVE', timestamp: start },
    ]);
    expect(await activate('s1')).toMatchObject({ status: 200 });
    expect(await stateOf('s1')).toBe('ACTIVE');
    expect(await act('racks/rack/rack-1/freeze')).toMatchObject({ status: 200, body: '' });
    expect(await stateOf('rack-1')).toBe('FROZEN');
  });

  test.each([
    ['FROZEN', 'freeze', 'is FROZEN already'],
    ['ACTIVE', 'activate', 'is ACTIVE already'],
    ['DECOMMISSIONED', 'freeze', 'cannot become FROZEN: it is DECOMMISSIONED'],
    ['DECOMMISSIONING', 'decommission', 'cannot become STARTING_DECOMMISSION: it is DECOMMISSIONING'],
    ['DEAD', 'decommission', 'cannot become STARTING_DECOMMISSION: it is DEAD'],
    ['DEAD', 'freeze', 'cannot become FROZEN: it is DEAD'],
    ['DEAD', 'activate', 'cannot become ACTIVE: it is DEAD'],
    ['MISSING_ON_STARTUP', 'freeze', 'cannot become FROZEN: it is MISSING_ON_STARTUP'],
    ['MISSING_ON_STARTUP', 'activate', 'cannot become ACTIVE: it is MISSING_ON_STARTUP'],
  ] as const)('a %s machine: %s is a conflict', async (state, action, what) => {
    await setState('s1', state);
    await setState('rack-1', state, 'rack');
    for (const [path, name] of [
      ['slaves/slave/s1', "slave 's1'"],
      ['racks/rack/rack-1', "rack 'rack-1'"],
    ]) {
      expect(await act(`${path}/${action}`)).toMatchObject({
        status: 409,
        body: { code: 'MACHINE_STATE', message: `The ${name} ${what}` },
      });
    }
    expect([await stateOf('s1'), await stateOf('rack-1')]).toEqual([state, state]);
  });

  test.each(['freeze', 'activate', 'decommission'])('%s of an unknown machine is not found', async (action) => {
    expect(await act(`slaves/slave/nope/${action}`)).toMatchObject({
      status: 404,
      body: { code: 'MACHINE_NOT_FOUND' },
    });
    expect(await act(`racks/rack/nope/${action}`)).toMatchObject({ status: 404 });
  });

  test('needs no body, and answers to the names that newer clients use', async () => {
    expect(await act('agents/agent/s1/freeze')).toMatchObject({ status: 200, body: '' });
    expect((await rooms.get('/api/agents?state=FROZEN')).body).toMatchObject([{ id: 's1' }]);
    expect((await rooms.get('/api/agents/agent/s1')).body).toMatchObject([{ state: 'FROZEN' }, { state: 'ACTIVE' }]);
    expect((await rooms.get('/api/agents/expiring')).body).toEqual([]);
    expect(await act('agents/agent/s1/activate', {})).toMatchObject({ status: 200, body: '' });
    expect(await act('agents/agent/s1/decommission', { message: null })).toMatchObject({ status: 200, body: '' });
    expect(await rooms.call('DELETE', '/api/agents/agent/s1/expiring')).toMatchObject({ status: 200, body: '' });
    expect(await rooms.call('DELETE', '/api/agents/dead')).toMatchObject({ status: 200, body: '' });
    expect(await rooms.call('DELETE', '/api/agents/agent/s1')).toMatchObject({ status: 200, body: '' });
  });

  test('a lapsing change is judged first, then the number of decommissions, then the machine', async () => {
    const lapsing = { durationMillis: 5 };
    expect(await decommission('nope', lapsing)).toMatchObject({ status: 400 });
    for (const slaveId of ['s1', 's2']) {
      await insert({ slaveId, instanceNo: Number(slaveId.slice(1)) });
      await decommission(slaveId);
    }
    expect(await decommission('nope')).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST' } });
    expect(await freeze('nope')).toMatchObject({ status: 404 });
  });

  test.each([
    [{ durationMillis: 5 }, 'revertToState', 'required'],
    [{ durationMillis: 5, revertToState: 'DEAD' }, 'revertToState', 'reserved'],
    [{ durationMillis: 5, revertToState: 'MISSING_ON_STARTUP' }, 'revertToState', 'reserved'],
    [{ durationMillis: 5, revertToState: 'DECOMMISSIONING' }, 'revertToState', 'reserved'],
    [{ durationMillis: 5, revertToState: 'DECOMMISSIONED' }, 'revertToState', 'transition'],
    [{ durationMillis: 5, revertToState: 'FOO' }, 'revertToState', 'oneOf'],
    [{ durationMillis: -5, revertToState: 'ACTIVE' }, 'durationMillis', 'min'],
    [{ durationMillis: '5', revertToState: 'ACTIVE' }, 'durationMillis', 'integer'],
    [{ message: 7 }, 'message', 'type'],
  ])('%j is refused', async (body, field, rule) => {
    expect(await freeze('s1', body)).toMatchObject({ status: 400, body: { errors: [{ field, rule }] } });
    expect(await stateOf('s1')).toBe('ACTIVE');
  });
});

describe('a change that lapses', () => {
  const forAMinute = { durationMillis: 60_000, revertToState: 'ACTIVE', message: 'for now', actionId: 'mine' };

  test('is listed until it does', async () => {
    await freeze('s1', forAMinute);
    expect((await rooms.get('/api/slaves/expiring')).body).toEqual([
      {
        machineId: 's1',
        startMillis: start,
        actionId: 'mine',
        expiringAPIRequestObject: { ...forAMinute, killTasksOnDecommissionTimeout: false },
        revertToState: 'ACTIVE',
        killTasksOnDecommissionTimeout: false,
      },
    ]);
    expect((await rooms.get('/api/racks/expiring')).body).toEqual([]);
    expect(await poller.expire(start + 60_000)).toBe(start + 60_001);
    expect(await stateOf('s1')).toBe('FROZEN');
    await poller.expire(start + 60_001);
    expect(await newestState('s1')).toEqual({
      objectId: 's1',
      state: 'ACTIVE',
      timestamp: start + 60_001,
      message: 'Updated due to expiring action',
    });
    expect((await rooms.get('/api/slaves/expiring')).body).toEqual([]);
  });

  test('ends by itself, at its time', async () => {
    await freeze('s1', { durationMillis: 80, revertToState: 'ACTIVE' });
    expect(await stateOf('s1')).toBe('FROZEN');
    now += 81;
    await waitFor('the end of the freeze', async () => (await stateOf('s1')) === 'ACTIVE');
  });

  test('stands in the way of a second one, and can be made permanent', async () => {
    await freeze('s1', forAMinute);
    expect(await decommission('s1', forAMinute)).toMatchObject({ status: 409, body: { code: 'MACHINE_STATE' } });
    expect(await rooms.call('DELETE', '/api/slaves/slave/s1/expiring')).toMatchObject({ status: 200, body: '' });
    expect(await rooms.call('DELETE', '/api/slaves/slave/s1/expiring')).toMatchObject({ status: 200 });
    await poller.expire(start + 100_000);
    expect(await stateOf('s1')).toBe('FROZEN');
  });

  test('is dropped when the machine goes where it cannot come back from, or where it would end', async () => {
    await freeze('s1', forAMinute);
    await activate('s1');
    expect((await rooms.get('/api/slaves/expiring')).body).toEqual([]);
    await freeze('s2', { durationMillis: 5, revertToState: 'STARTING_DECOMMISSION' });
    await decommission('s2');
    expect((await rooms.get('/api/slaves/expiring')).body).toEqual([]);
  });

  test('is dropped when the machine is lost, and with the last of its slaves that of a rack', async () => {
    await freeze('s3', forAMinute);
    await activate('s3');
    await freeze('s3', { ...forAMinute, revertToState: 'STARTING_DECOMMISSION' });
    await act('racks/rack/rack-2/freeze', forAMinute);
    await rooms.database.leaderTransaction((tx) => rooms.app.get(MachineReports).down(tx, 's3', 'fire', now));
    expect([await stateOf('s3'), await stateOf('rack-2')]).toEqual(['DEAD', 'DEAD']);
    expect((await rooms.get('/api/slaves/expiring')).body).toEqual([]);
    expect((await rooms.get('/api/racks/expiring')).body).toEqual([]);
  });

  test('stays when the machine goes where it still can come back from', async () => {
    await freeze('s1', forAMinute);
    await decommission('s1');
    await poller.decommission(now);
    expect(await stateOf('s1')).toBe('DECOMMISSIONED');
    await poller.expire(start + 60_001);
    expect(await stateOf('s1')).toBe('ACTIVE');
  });

  test('of a decommission needs the flag that kills what is left to end as DECOMMISSIONED', async () => {
    const body = { durationMillis: 5, revertToState: 'DECOMMISSIONED' };
    expect(await decommission('s1', body)).toMatchObject({ status: 400, body: { errors: [{ rule: 'killTasks' }] } });
  });

  test('of a rack, and not of a machine that is gone', async () => {
    await act('racks/rack/rack-1/freeze', { durationMillis: 5, revertToState: 'ACTIVE' });
    await freeze('s3', { durationMillis: 5, revertToState: 'ACTIVE' });
    await setState('s3', 'DEAD');
    await poller.expire(start + 6);
    expect([await stateOf('rack-1'), await stateOf('s3')]).toEqual(['ACTIVE', 'DEAD']);
  });
});

describe('decommission', () => {
  test('sends the tasks away and asks for replacements elsewhere', async () => {
    await insertRequest(rooms.database.pool, { activeDeployId: 'd1', pendingDeployId: 'd2' });
    const first = await insert({ slaveId: 's1', rackId: 'rack-1' });
    const second = await insert({ slaveId: 's1', rackId: 'rack-1', instanceNo: 2 });
    await insert({ slaveId: 's2', rackId: 'rack-1', instanceNo: 3 });
    await insert({ slaveId: 's1', rackId: 'rack-1', instanceNo: 4, updates: [['TASK_FAILED', start]] });
    expect(await decommission('s1', { message: 'old' })).toMatchObject({ status: 200, body: '' });
    now += 7;
    await poller.decommission(now);
    expect(await stateOf('s1')).toBe('DECOMMISSIONING');
    const message = `The slave 's1' is decommissioned - old`;
    expect(await cleanups()).toEqual(
      [first, second].map(({ id }) => ({ task_id: id, cleanup_type: 'DECOMISSIONING', user_name: null, message })),
    );
    expect(await rooms.database.pool.query('SELECT request_id, deploy_id, pending_type FROM pending_request')).toEqual([
      { request_id: 'web', deploy_id: 'd1', pending_type: 'DECOMISSIONED_SLAVE_OR_RACK' },
    ]);
    await poller.decommission(now);
    expect(await stateOf('s1')).toBe('DECOMMISSIONING');
    await rooms.database.pool.query('UPDATE task SET ended_at = now()');
    await poller.decommission(now);
    expect(await newestState('s1')).toMatchObject({
      state: 'DECOMMISSIONED',
      message: 'old',
    });
  });

  test('of an empty machine is done at once', async () => {
    await decommission('s1');
    await poller.decommission(now);
    expect(await stateOf('s1')).toBe('DECOMMISSIONED');
  });

  test('of a rack sends the tasks of all its slaves away', async () => {
    const first = await insert({ slaveId: 's1', rackId: 'rack-1' });
    const second = await insert({ slaveId: 's2', rackId: 'rack-1', instanceNo: 2 });
    await insert({ slaveId: 's3', rackId: 'rack-2', instanceNo: 3 });
    await act('racks/rack/rack-1/decommission');
    await poller.decommission(now);
    expect(await stateOf('rack-1')).toBe('DECOMMISSIONING');
    expect((await cleanups()).map((row: { task_id: string }) => row.task_id)).toEqual([first.id, second.id]);
  });

  test('only so many slaves at once', async () => {
    for (const slaveId of ['s1', 's2']) {
      await insert({ slaveId, rackId: 'rack-1', instanceNo: Number(slaveId.slice(1)) });
      await decommission(slaveId);
    }
    for (const path of ['slaves/slave/s3', 'racks/rack/rack-2']) {
      expect(await act(`${path}/decommission`)).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST' } });
    }
    await poller.decommission(now);
    await rooms.database.pool.query('UPDATE task SET ended_at = now()');
    await poller.decommission(now);
    expect(await decommission('s3')).toMatchObject({ status: 200 });
  });

  test.each(['activate', 'remove'])('%s takes it back, but for tasks that have to go all the same', async (way) => {
    const kept = await insert({ slaveId: 's1', rackId: 'rack-1' });
    const killed = await insert({ slaveId: 's1', rackId: 'rack-1', instanceNo: 2 });
    const otherwise = await insert({ slaveId: 's1', rackId: 'rack-1', instanceNo: 3 });
    await rooms.database.pool.query(
      `INSERT INTO task_cleanup (task_id, request_id, cleanup_type, created_at) VALUES ($1, 'web', 'BOUNCING', now())`,
      [otherwise.id],
    );
    await decommission('s1');
    await poller.decommission(now);
    await rooms.database.pool.query(
      `INSERT INTO killed_task (task_id, request_id, killed_at, first_killed_at) VALUES ($1, 'web', now(), now())`,
      [killed.id],
    );
    await (way === 'activate' ? activate('s1') : rooms.call('DELETE', '/api/slaves/slave/s1'));
    const left = (await cleanups()).map((row: { task_id: string }) => row.task_id);
    expect(left).toEqual([killed.id, otherwise.id]);
    expect(left).not.toContain(kept.id);
  });

  test("of a slave goes on when only its rack's is taken back", async () => {
    const both = await insert({ slaveId: 's1', rackId: 'rack-1' });
    await insert({ slaveId: 's2', rackId: 'rack-1', instanceNo: 2 });
    await decommission('s1');
    await act('racks/rack/rack-1/decommission');
    await poller.decommission(now);
    await act('racks/rack/rack-1/activate');
    expect((await cleanups()).map((row: { task_id: string }) => row.task_id)).toEqual([both.id]);
  });

  test('that lapses into DECOMMISSIONED kills what is left', async () => {
    const { id } = await insert({ slaveId: 's1', rackId: 'rack-1' });
    const body = { durationMillis: 10, revertToState: 'DECOMMISSIONED', killTasksOnDecommissionTimeout: true };
    expect(await decommission('s1', body)).toMatchObject({ status: 200 });
    await poller.decommission(now);
    await poller.expire(now + 11);
    expect(await stateOf('s1')).toBe('DECOMMISSIONED');
    expect(await cleanups()).toMatchObject([{ task_id: id, cleanup_type: 'DECOMMISSION_TIMEOUT' }]);
  });
});

describe('a decommission that goes on', () => {
  const minute = { durationMillis: 60_000, revertToState: 'ACTIVE' };
  const lapsing = async () => (await rooms.get<{ startMillis: number }[]>('/api/slaves/expiring')).body;

  test('is given another end, one for the first time, or none', async () => {
    await decommission('s1');
    expect(await updateDecommission('s1', minute)).toMatchObject({ status: 200, body: '' });
    expect(await lapsing()).toMatchObject([{ machineId: 's1', startMillis: start, revertToState: 'ACTIVE' }]);
    now = start + 30_000;
    await updateDecommission('s1', {
      ...minute,
      revertToState: 'DECOMMISSIONED',
      killTasksOnDecommissionTimeout: true,
    });
    expect(await lapsing()).toMatchObject([{ startMillis: now, killTasksOnDecommissionTimeout: true }]);
    now = start + 60_001;
    await poller.expire(now);
    expect(await stateOf('s1')).not.toBe('ACTIVE');
    await updateDecommission('s1');
    expect(await lapsing()).toEqual([]);
  });

  test('is judged like the end of a new one, and has to be there', async () => {
    await decommission('s1', minute);
    const refusals: [string, object, number, string][] = [
      ['s1', { durationMillis: 1 }, 400, 'INVALID_REQUEST'],
      ['s1', { durationMillis: 1, revertToState: 'FROZEN' }, 400, 'INVALID_REQUEST'],
      ['s2', minute, 409, 'MACHINE_STATE'],
      ['s9', minute, 404, 'MACHINE_NOT_FOUND'],
    ];
    for (const [id, body, status, code] of refusals) {
      expect(await updateDecommission(id, body), id).toMatchObject({ status, body: { code } });
    }
    expect(await lapsing()).toMatchObject([{ machineId: 's1' }]);
    expect(await lapsing()).toHaveLength(1);
  });
});

describe('removal', () => {
  test('erases record, past and lapsing change; unknown is not found', async () => {
    await freeze('s1', { durationMillis: 5, revertToState: 'ACTIVE' });
    expect(await rooms.call('DELETE', '/api/slaves/slave/s1')).toMatchObject({ status: 200, body: '' });
    expect(await stateOf('s1')).toBeUndefined();
    expect((await rooms.get('/api/slaves/slave/s1')).body).toEqual([]);
    expect((await rooms.get('/api/slaves/expiring')).body).toEqual([]);
    for (const path of ['slaves/slave/s1', 'racks/rack/nope']) {
      expect(await rooms.call('DELETE', `/api/${path}`)).toMatchObject({ status: 404 });
    }
    expect(await rooms.call('DELETE', '/api/racks/rack/rack-2')).toMatchObject({ status: 200 });
    expect(await stateOf('rack-2')).toBeUndefined();
  });

  test('of the dead takes only them', async () => {
    await setState('s1', 'DEAD');
    await setState('s2', 'MISSING_ON_STARTUP');
    expect(await rooms.call('DELETE', '/api/slaves/dead')).toMatchObject({ status: 200, body: '' });
    expect(await slaveIds()).toEqual(['s2', 's3']);
  });
});
