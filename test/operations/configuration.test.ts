import { beforeAll, expect, test } from 'vitest';
import type { Slave } from '../../src/core/model/machine.js';
import type { TaskCounts } from '../../src/core/model/request.js';
import { waitFor } from '../support/wait-for.js';
import { Fleet } from './fleet.js';
import { everyOperationWasCalled, operationsOf } from './operations.js';
import { deployed } from './running-tasks.js';

const operations = operationsOf(['Configuration'], {
  command: ['scheduler'],
  settings: { maxDecommissioningSlaves: 3 },
});
const fleet = new Fleet(operations);
beforeAll(async () => {
  await fleet.present({ id: 's1', rackId: 'rack1', hostname: 'host1' });
  await waitFor('the slave', async () => (await operations.api.get<Slave[]>('slaves')).length === 1);
});

const set = 'POST /api/configuration/placement-strategy/override/set/{strategy}';
const placement = () => operations.call('GET /api/configuration/placement', 200);

test('the limits that clients ask for are those of the settings', async () => {
  expect(await operations.call('GET /api/configuration/singularity-limits', 200)).toEqual({
    maxDecommissioningAgents: 3,
  });
});

test('a strategy for all requests holds from the next placement on, until it is cleared', async () => {
  const { api } = operations;
  expect(await placement()).toEqual({ ignoresRackSensitivity: false });
  const params = { strategy: 'separate-by-request' };
  expect(await operations.call(set, 200, { params })).toBeUndefined();
  expect(await placement()).toEqual({ slavePlacement: 'SEPARATE_BY_REQUEST', ignoresRackSensitivity: false });
  await deployed(api, { id: 'greedy', instances: 2, slavePlacement: 'GREEDY' });
  await waitFor('the second task to be kept from the machine of the first', async () => {
    const counts = await api.get<TaskCounts>('tasks/counts/request/greedy');
    const why = await api.get<object>('requests/request/greedy/explain');
    return counts.active === 1 && counts.pending === 1 && JSON.stringify(why).includes('SLAVE_SATURATED');
  });
  await operations.call('POST /api/configuration/placement-strategy/override/clear', 200);
  await api.running('greedy', 2);
  const refused = await operations.call<{ message: string }>(set, 400, { params: { strategy: 'ANYWHERE' } });
  expect(refused.message).toContain('strategy must be one of');
}, 60_000);

test('rackSensitive of requests counts, or does not', async () => {
  const { api } = operations;
  await operations.call('POST /api/configuration/rack-sensitive/disable', 200);
  expect(await placement()).toEqual({ ignoresRackSensitivity: true });
  await operations.call('POST /api/configuration/rack-sensitive/enable', 200);
  expect(await placement()).toEqual({ ignoresRackSensitivity: false });
  expect(await api.get('configuration/placement')).toEqual({ ignoresRackSensitivity: false });
});

everyOperationWasCalled(operations);
