import { expect, test } from 'vitest';
import { idOf } from './deploys.js';
import { differences } from './differences.js';

const resources = { cpus: 0.1, memoryMb: 16 };
test.each([
  { name: 'nothing', wanted: { id: 'a', instances: 2 }, present: { id: 'a', instances: 2 }, differs: [] },
  {
    name: 'what the server fills in',
    wanted: { resources },
    present: { resources: { ...resources, numPorts: 0, diskMb: 0 } },
    differs: [],
  },
  {
    name: 'empty lists and maps',
    wanted: { owners: [] },
    present: { env: {}, objstoreUploaderAdditionalFiles: [] },
    differs: [],
  },
  { name: 'one instance', wanted: { instances: 1 }, present: {}, differs: [] },
  {
    name: 'a derived schedule',
    wanted: { schedule: '* * * * *' },
    present: { schedule: '* * * * *', scheduleType: 'CRON', quartzSchedule: '0 * * * * ?' },
    differs: [],
  },
  {
    name: 'numbers where the server has text',
    wanted: { env: { PORT: 80 } },
    present: { env: { PORT: '80' } },
    differs: [],
  },
  { name: 'a variable that is empty', wanted: { env: { A: '' } }, present: {}, differs: ['env.A'] },
  { name: 'a variable that is 0 as text', wanted: { env: { A: 0 } }, present: { env: {} }, differs: ['env.A'] },
  { name: 'a member that is not wanted any more', wanted: {}, present: { group: 'web' }, differs: ['group'] },
  {
    name: 'a list in another order',
    wanted: { arguments: ['a', 'b'] },
    present: { arguments: ['b', 'a'] },
    differs: ['arguments'],
  },
  {
    name: 'one deep inside',
    wanted: { healthcheck: { uri: '/a' } },
    present: { healthcheck: { uri: '/b' } },
    differs: ['healthcheck.uri'],
  },
])('$name: $differs', ({ wanted, present, differs }) => expect(differences(wanted, present)).toEqual(differs));

test('an id that is made is the same for the same content, in whatever order its members stand', () => {
  const one = idOf({ requestId: 'a', command: 'b', env: { X: '1', Y: '2' } });
  expect(idOf({ env: { Y: '2', X: '1' }, command: 'b', requestId: 'a' })).toBe(one);
  expect(idOf({ requestId: 'a', command: 'c', env: { X: '1', Y: '2' } })).not.toBe(one);
  expect(one).toMatch(/^[0-9a-f]{12}$/);
});
