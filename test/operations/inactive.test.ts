import { beforeAll, expect, test } from 'vitest';
import type { MachineStateHistoryUpdate } from '../../src/core/model/machine.js';
import { waitFor } from '../support/wait-for.js';
import { Fleet } from './fleet.js';
import { everyOperationWasCalled, operationsOf } from './operations.js';

const operations = operationsOf(['Inactive machines'], { command: ['scheduler'] });
const fleet = new Fleet(operations);
const s1 = { id: 's1', rackId: 'rack1', hostname: 'host1' };
const s2 = { id: 's2', rackId: 'rack1', hostname: 'host2' };

const hosts = () => operations.call<string[]>('GET /api/inactive', 200);
const mark = (host: string) => operations.call('POST /api/inactive', 204, { query: { host } });
const unmark = (host: string) => operations.call('DELETE /api/inactive', 204, { query: { host } });
const becomes = (slaveId: string, state: string) =>
  waitFor(`${slaveId} to be ${state}`, async () => {
    const history = await operations.api.get<MachineStateHistoryUpdate[]>(`slaves/slave/${slaveId}`);
    return history[0]?.state === state && history;
  });

beforeAll(async () => {
  await fleet.present(s1, s2);
  for (const { id } of [s1, s2]) await becomes(id, 'ACTIVE');
});

test('hosts are marked and unmarked, however often', async () => {
  expect(await hosts()).toEqual([]);
  for (const host of ['web2', 'web1', 'web1']) expect(await mark(host)).toBeUndefined();
  expect(await hosts()).toEqual(['web1', 'web2']);
  for (const _again of [1, 2]) expect(await unmark('web1')).toBeUndefined();
  expect(await hosts()).toEqual(['web2']);
});

test('all hosts are unmarked at once', async () => {
  for (const host of ['web1', 'web2']) await mark(host);
  expect(await operations.call('DELETE /api/inactive/all', 204, { body: { id: 'somebody' } })).toBeUndefined();
  expect(await hosts()).toEqual([]);
  await operations.call('DELETE /api/inactive/all', 204);
});

test.each(['POST /api/inactive', 'DELETE /api/inactive'] as const)(
  '%s without a host is refused',
  async (operation) => {
    for (const query of [{}, { host: '' }] as Record<string, string>[]) {
      const refused = await operations.call<{ message: string }>(operation, 400, { query });
      expect(refused.message).toContain('host');
    }
  },
);

test('a slave that comes back to a marked host is decommissioned; those that were there stay as they are', async () => {
  await fleet.present(s1);
  await becomes('s2', 'DEAD');
  for (const host of ['host1', 'host2']) await mark(host);
  await fleet.present(s1, s2);
  const history = await becomes('s2', 'DECOMMISSIONED');
  expect(history.map(({ state }) => state)).toEqual(['DECOMMISSIONED', 'STARTING_DECOMMISSION', 'DEAD', 'ACTIVE']);
  expect(history[1]!.message).toContain(`'host2' is marked inactive`);
  await becomes('s1', 'ACTIVE');

  // Who forgets the slave takes its host off the list.
  await operations.api.call('DELETE', 'slaves/slave/s2');
  expect(await hosts()).toEqual(['host1']);
  await becomes('s2', 'ACTIVE');
}, 60_000);

everyOperationWasCalled(operations);
