import { expect, test } from 'vitest';
import { Machines } from './machines.js';
import { SlaveSetting } from '../../platform/settings/local-settings.js';

test.each([
  ['the rack that its setting names', { rackId: 'r1', attributes: { zone: 'east' } }, 'r1'],
  ['else the one that its attribute names', { attributes: { zone: 'east' } }, 'east'],
  ['else the one of machines that name none', {}, 'somewhere'],
])('a slave stands in %s', (_name, setting, rackId) => {
  const slave = SlaveSetting.parse({ id: 's1', cpus: 1, memoryMb: 1, ...setting });
  const machines = new Machines('a', 'i', [slave], { rackIdAttributeKey: 'zone', defaultRackId: 'somewhere' });
  expect(machines.snapshots(0)).toMatchObject([{ slaveId: 's1', rackId }]);
});
