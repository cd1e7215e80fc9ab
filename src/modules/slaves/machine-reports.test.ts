import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { insertTask, makeMachine, start } from '../../../test/support/builders.js';
import { startRooms, type RoomApp } from '../../../test/support/room-app.js';
import { waitFor } from '../../../test/support/wait-for.js';
import type { MachineSnapshot } from '../../cluster/cluster-driver.js';
import type { Database } from '../../platform/database/database.js';
import { InactiveHostRepository } from './inactive-hosts/inactive-host.repository.js';
import { MachineHistoryRepository } from './machine-history.repository.js';
import { MachinesPoller } from './machines.poller.js';
import { MachineRemoval } from './machine-removal.service.js';
import { MachineReports } from './machine-reports.service.js';
import { SlaveRepository } from './slave.repository.js';
import { SlavesModule } from './slaves.module.js';

const hour = 3_600_000;

let rooms: RoomApp;
let db: Database;
let store: SlaveRepository;
let histories: MachineHistoryRepository;
let machines: MachineReports;

beforeAll(async () => {
  const settings = { checkSchedulerEverySeconds: 0, maxMachineHistoryEntries: 3, commonHostnameSuffixToOmit: '.local' };
  rooms = await startRooms({ modules: [SlavesModule], settings });
  db = rooms.database;
  store = rooms.app.get(SlaveRepository, { strict: false });
  histories = rooms.app.get(MachineHistoryRepository, { strict: false });
  machines = rooms.app.get(MachineReports, { strict: false });
});
afterAll(() => rooms.close());
beforeEach(() => db.pool.query('TRUNCATE slave, rack, machine_history, inactive_host, expiring_action, task'));

const seen = (machine: Partial<MachineSnapshot>, now = start) =>
  db.leaderTransaction((tx) => machines.seen(tx, makeMachine(machine), now));
const down = (slaveId: string, now = start) =>
  db.leaderTransaction((tx) => machines.down(tx, slaveId, 'agent-1 says so', now));
const setState = (id: string, state: string, at = start) =>
  db.pool.query('UPDATE slave SET state = $2, state_at = $3 WHERE id = $1', [id, state, new Date(at)]);
const tidy = (now: number) => rooms.app.get(MachineRemoval, { strict: false }).forgetOld(now);
const mark = (host: string, now = start) =>
  rooms.app.get(InactiveHostRepository, { strict: false }).mark(db.pool, host, now);
const inactive = (now: number) => rooms.app.get(InactiveHostRepository, { strict: false }).list(db.pool, now);
const history = (id: string) => histories.of(db.pool, 'SLAVE', id);
const states = async () => {
  const all = [...(await store.standings(db.pool, 'SLAVE')), ...(await store.standings(db.pool, 'RACK'))];
  return Object.fromEntries(all.map((machine) => [machine.id, machine.currentState.state]));
};

test('an unknown slave and its rack are stored ACTIVE, with all that the cluster said', async () => {
  await seen({
    attributes: { disk: 'ssd' },
    portRanges: [
      { begin: 1, end: 5 },
      { begin: 9, end: 9 },
    ],
  });
  expect(await store.list(db.pool)).toEqual([
    {
      id: 's1',
      hostIsInactive: false,
      firstSeenAt: start,
      currentState: { objectId: 's1', state: 'ACTIVE', timestamp: start },
      host: 'host-1',
      rackId: 'rack-1',
      attributes: { disk: 'ssd' },
      resources: { cpus: 8, mem: 16_000, disk: 100_000, ports: '[1-5, 9-9]' },
      rackState: 'ACTIVE',
      agentId: 'agent-1',
      incarnation: 'i1',
      seenAt: start,
    },
  ]);
  expect(await histories.of(db.pool, 'SLAVE', 's1')).toEqual([{ objectId: 's1', state: 'ACTIVE', timestamp: start }]);
  expect(await store.activeCount(db.pool)).toBe(1);
});

test('a slave that is seen again keeps what an operator decided, and takes what changed', async () => {
  await seen({});
  await setState('s1', 'FROZEN');
  await seen({ cpus: 4, attributes: { a: 'b' } }, start + 2);
  const [slave] = await store.list(db.pool);
  expect(slave).toMatchObject({
    firstSeenAt: start,
    currentState: { state: 'FROZEN' },
    resources: { cpus: 4 },
    attributes: { a: 'b' },
  });
  expect(await store.activeCount(db.pool)).toBe(0);
});

test('a rack is DEAD when its last active slave is, and both come back', async () => {
  await seen({ slaveId: 's1' });
  await seen({ slaveId: 's2' });
  await down('s1');
  expect(await states()).toEqual({ s1: 'DEAD', s2: 'ACTIVE', 'rack-1': 'ACTIVE' });
  await down('s2');
  expect(await states()).toEqual({ s1: 'DEAD', s2: 'DEAD', 'rack-1': 'DEAD' });
  await seen({ slaveId: 's1' }, start + 5);
  expect(await states()).toEqual({ s1: 'ACTIVE', s2: 'DEAD', 'rack-1': 'ACTIVE' });
  expect(await histories.of(db.pool, 'SLAVE', 's1')).toMatchObject([
    { state: 'ACTIVE', timestamp: start + 5 },
    { state: 'DEAD', message: 'agent-1 says so' },
    { state: 'ACTIVE' },
  ]);
});

test('the loss of an unknown or dead slave changes nothing', async () => {
  await seen({});
  await down('s1');
  await down('s1', start + 1);
  await down('nobody');
  expect(await histories.of(db.pool, 'SLAVE', 's1')).toHaveLength(2);
});

describe('the history', () => {
  test('begins with the first discovery and shows the newest entries, which are all that tidying leaves', async () => {
    await seen({});
    expect(await history('s1')).toEqual([{ objectId: 's1', state: 'ACTIVE', timestamp: start }]);
    for (let at = 1; at <= 6; at++) await (at % 2 ? down('s1', start + at) : seen({}, start + at));
    const times = async () => (await history('s1')).map((entry) => entry.timestamp - start);
    expect(await times()).toEqual([6, 5, 4]);
    await tidy(start);
    expect(await times()).toEqual([6, 5, 4]);
    expect(
      await db.pool.query(`SELECT machine_id, count(*)::int AS n FROM machine_history GROUP BY 1 ORDER BY 1`),
    ).toEqual([
      { machine_id: 'rack-1', n: 3 },
      { machine_id: 's1', n: 3 },
    ]);
  });

  test('is in the order in which things happened, also when the clock was set back', async () => {
    await seen({});
    await down('s1', start - 10);
    expect((await history('s1')).map((entry) => entry.state)).toEqual(['DEAD', 'ACTIVE']);
  });
});

describe('an inactive host', () => {
  test('a slave that appears on it is decommissioned straight away, with the reason', async () => {
    await mark('host-1');
    await seen({}, start + 1);
    expect(await history('s1')).toEqual([
      {
        objectId: 's1',
        state: 'STARTING_DECOMMISSION',
        timestamp: start + 1,
        message: "Nothing is to run on its host: 'host-1' is marked inactive",
      },
    ]);
    expect(await states()).toEqual({ s1: 'STARTING_DECOMMISSION', 'rack-1': 'ACTIVE' });
  });

  test('so is one that comes back', async () => {
    await seen({});
    await down('s1');
    await mark('host-1');
    await seen({}, start + 1);
    expect(await states()).toMatchObject({ s1: 'STARTING_DECOMMISSION' });
  });

  test('one that never went away stays', async () => {
    await seen({});
    await mark('host-1');
    await seen({ cpus: 3 }, start + 1);
    expect(await states()).toMatchObject({ s1: 'ACTIVE' });
  });

  test('is one by its whole name and by the one that slaves show', async () => {
    await mark('host-1');
    await seen({ hostname: 'host-1.local' });
    await mark('host-2.local');
    await seen({ slaveId: 's2', hostname: 'host-2.local' });
    expect(await states()).toMatchObject({ s1: 'STARTING_DECOMMISSION', s2: 'STARTING_DECOMMISSION' });
  });

  test('is none any more after a day', async () => {
    await mark('host-1');
    expect(await inactive(start + 24 * hour - 1)).toEqual(['host-1']);
    expect(await inactive(start + 24 * hour)).toEqual([]);
    await seen({}, start + 24 * hour);
    expect(await states()).toMatchObject({ s1: 'ACTIVE' });
    await rooms.app.get(MachinesPoller, { strict: false }).expire(start + 24 * hour);
    expect(await db.pool.query('SELECT * FROM inactive_host')).toEqual([]);
  });
});

describe('slaves that are gone for long', () => {
  const week = 168 * hour;

  test.each(['DEAD', 'MISSING_ON_STARTUP'])(
    '%s for more than a week: the record goes with its history',
    async (state) => {
      await seen({});
      await setState('s1', state);
      await mark('host-1', start + week);
      await tidy(start + week);
      expect(await states()).toEqual({ s1: state, 'rack-1': 'ACTIVE' });
      await tidy(start + week + 1);
      expect(await states()).toEqual({ 'rack-1': 'ACTIVE' });
      expect(await history('s1')).toEqual([]);
      expect(await inactive(start + week + 1)).toEqual([]);
    },
  );

  test.each(['ACTIVE', 'FROZEN', 'DECOMMISSIONED'])('%s: stays', async (state) => {
    await seen({});
    await setState('s1', state);
    await tidy(start + 2 * week);
    expect(await states()).toMatchObject({ s1: state });
  });

  test('are kept while a task that may still run there counts as active', async () => {
    await seen({});
    await setState('s1', 'MISSING_ON_STARTUP');
    await insertTask(db.pool);
    await tidy(start + 2 * week);
    expect(await states()).toMatchObject({ s1: 'MISSING_ON_STARTUP' });
  });

  test('racks are never removed', async () => {
    await seen({});
    await down('s1');
    await tidy(start + 2 * week);
    expect(await states()).toEqual({ 'rack-1': 'DEAD' });
  });
});

test('a suffix that all hosts have in common is not shown', async () => {
  await seen({ hostname: 'host-1.local' });
  expect((await store.list(db.pool))[0]!.host).toBe('host-1');
});

test('a change of state waits for a placement that uses the fleet', async () => {
  await seen({});
  let inUse!: () => void;
  const used = new Promise<void>((resolve) => (inUse = resolve));
  let release!: () => void;
  const released = new Promise<void>((resolve) => (release = resolve));
  const placing = db.transaction(async (tx) => {
    await store.shareFleet(tx);
    inUse();
    await released;
  });
  await used;
  let changed = false;
  const change = down('s1').then(() => (changed = true));
  await waitFor('the change to wait for the lock', async () => {
    const waiting = await db.pool.query(`SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`);
    return waiting.length === 1;
  });
  expect(changed).toBe(false);
  release();
  await Promise.all([placing, change]);
  expect(await states()).toMatchObject({ s1: 'DEAD' });
});
