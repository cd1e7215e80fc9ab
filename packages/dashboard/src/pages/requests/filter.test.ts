import { expect, test } from 'vitest';
import type { RequestParent, RequestUtilization } from 'muster-client';
import { filtered, healthOf, type Context, type Filters } from './filter';

const parent = (
  id: string,
  more: Partial<RequestParent> = {},
  request: Partial<RequestParent['request']> = {},
): RequestParent => ({
  state: 'ACTIVE',
  request: { id, requestType: 'SERVICE', ...request },
  ...more,
});
const active = (requestId: string, user: string) => ({
  requestDeployState: { requestId, activeDeploy: { requestId, deployId: 'v1', timestamp: 1, user } },
});
const rows = [
  parent('web', active('web', 'ann'), { group: 'shop' }),
  parent('worker', { state: 'PAUSED' }, { requestType: 'WORKER' }),
  parent(
    'nightly',
    { ...active('nightly', 'bob'), state: 'SYSTEM_COOLDOWN' },
    { requestType: 'SCHEDULED', readWriteGroups: ['ops'] },
  ),
];
const context: Context = {
  starred: new Set(['worker']),
  groups: new Set(['ops']),
  pending: new Set(['web']),
  cleaning: new Set(['worker']),
  usage: new Map([
    ['web', { numTasks: 1, cpuUsed: 2, cpuReserved: 1, memBytesUsed: 1, memBytesReserved: 9 } as RequestUtilization],
  ]),
  troublesOf: ({ state }) => (state === 'SYSTEM_COOLDOWN' ? [{ kind: 'cooling down', text: '' }] : []),
};

test.each<[Filters, string[]]>([
  [{}, ['web', 'worker', 'nightly']],
  [{ state: 'all', type: 'all' }, ['web', 'worker', 'nightly']],
  [{ state: 'PAUSED' }, ['worker']],
  [{ state: 'failing' }, ['nightly']],
  [{ state: 'pending' }, ['web']],
  [{ state: 'cleaning' }, ['worker']],
  [{ state: 'noDeploy' }, ['worker']],
  [{ state: 'cpuOver' }, ['web']],
  [{ state: 'cpuUnder' }, []],
  [{ state: 'memoryUnder' }, ['web']],
  [{ state: 'activeDeploy' }, ['web', 'nightly']],
  [{ type: 'WORKER,SCHEDULED' }, ['worker', 'nightly']],
  [{ group: 'shop' }, ['web']],
  [{ mine: 'true' }, ['worker', 'nightly']],
  [{ q: 'w' }, ['web', 'worker']],
  [{ q: 'bob' }, ['nightly']],
  [{ q: 'w', state: 'PAUSED' }, ['worker']],
])('%j', (filters, ids) => expect(filtered(rows, filters, context).map(({ request }) => request.id)).toEqual(ids));

test('instances are known once a row was read with its tasks', () => {
  const none = { healthy: [], notYetHealthy: [], pending: [], cleaning: [], loadBalanced: [], killed: [] };
  expect(healthOf(parent('web'))).toBeUndefined();
  expect(healthOf(parent('web', { taskIds: none }, { instances: 3 }))).toEqual({ healthy: 0, wanted: 3 });
});
