import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { makeMachine, start } from '../../../test/support/builders.js';
import { testSettings } from '../../../test/support/test-app.js';
import { createTestDatabase, type TestDatabase } from '../../../test/support/test-database.js';
import { waitFor } from '../../../test/support/wait-for.js';
import type { MachineSnapshot } from '../../cluster/cluster-driver.js';
import { MachineStore } from './machine-store.service.js';
import { Machines } from './machines.service.js';
import { shareFleet } from './fleet-lock.js';

let db: TestDatabase;
const store = new MachineStore(testSettings({ maxMachineHistoryEntries: 3 }));
const machines = new Machines(store);

beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());
beforeEach(() => db.source.query('TRUNCATE slave, rack, machine_history'));

const seen = (machine: Partial<MachineSnapshot>, now = start) =>
  db.database.leaderTransaction((tx) => machines.seen(tx, makeMachine(machine), now));
const down = (slaveId: string, now = start) =>
  db.database.leaderTransaction((tx) => machines.down(tx, slaveId, 'agent-1 says so', now));
const states = async () => {
  const tx = db.database.manager;
  const all = [...(await store.find(tx, 'SLAVE')), ...(await store.find(tx, 'RACK'))];
  return Object.fromEntries(all.map((machine) => [machine.id, machine.currentState.state]));
};

test('an unknown slave and its rack are stored ACTIVE, with all that the cluster said', async () => {
  expect(
    await seen({
      attributes: { disk: 'ssd' },
      portRanges: [
        { begin: 1, end: 5 },
        { begin: 9, end: 9 },
      ],
    }),
  ).toEqual({});
  expect(await machines.list(db.database.manager)).toEqual([
    {
      id: 's1',
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
  expect(await store.history(db.database.manager, 'SLAVE', 's1')).toEqual([
    { objectId: 's1', state: 'ACTIVE', timestamp: start },
  ]);
  expect(await machines.activeCount(db.database.manager)).toBe(1);
});

test('a slave that is seen again keeps what an operator decided, and takes what changed', async () => {
  await seen({});
  await db.database.transaction((tx) =>
    store.setState(tx, 'SLAVE', { objectId: 's1', state: 'FROZEN', timestamp: start + 1 }),
  );
  expect(await seen({ cpus: 4, attributes: { a: 'b' } }, start + 2)).toEqual({});
  const [slave] = await machines.list(db.database.manager);
  expect(slave).toMatchObject({
    firstSeenAt: start,
    currentState: { state: 'FROZEN' },
    resources: { cpus: 4 },
    attributes: { a: 'b' },
  });
  expect(await machines.activeCount(db.database.manager)).toBe(0);
});

test('another incarnation is told once', async () => {
  await seen({});
  expect(await seen({ incarnation: 'i2' })).toEqual({ formerIncarnation: 'i1' });
  expect(await seen({ incarnation: 'i2' })).toEqual({});
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
  expect(await store.history(db.database.manager, 'SLAVE', 's1')).toMatchObject([
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
  expect(await store.history(db.database.manager, 'SLAVE', 's1')).toHaveLength(2);
});

test('the history keeps the newest entries', async () => {
  await seen({});
  for (let at = 1; at <= 6; at++) await (at % 2 ? down('s1', start + at) : seen({}, start + at));
  const kept = await store.history(db.database.manager, 'SLAVE', 's1');
  expect(kept.map((entry) => entry.timestamp - start)).toEqual([6, 5, 4]);
});

test('a change of state waits for a placement that uses the fleet', async () => {
  await seen({});
  let inUse!: () => void;
  const used = new Promise<void>((resolve) => (inUse = resolve));
  let release!: () => void;
  const released = new Promise<void>((resolve) => (release = resolve));
  const placing = db.database.transaction(async (tx) => {
    await shareFleet(tx);
    inUse();
    await released;
  });
  await used;
  let changed = false;
  const change = down('s1').then(() => (changed = true));
  await waitFor('the change to wait for the lock', async () => {
    const waiting = await db.source.query(`SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`);
    return waiting.length === 1;
  });
  expect(changed).toBe(false);
  release();
  await Promise.all([placing, change]);
  expect(await states()).toMatchObject({ s1: 'DEAD' });
});
