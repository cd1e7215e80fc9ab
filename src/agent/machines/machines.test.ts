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

test('a slave runs no containers before it is known that it does, and gives a reason only when it is known that it does not', () => {
  const slave = SlaveSetting.parse({ id: 's1', cpus: 1, memoryMb: 1 });
  const machines = new Machines('a', 'i', [slave], { rackIdAttributeKey: 'zone', defaultRackId: 'somewhere' });
  const said = () =>
    machines.snapshots(0).map(({ runsContainers, containersRefusal }) => [runsContainers, containersRefusal]);
  expect(said()).toEqual([[false, undefined]]);
  machines.noteContainers('podman is not installed');
  expect(said()).toEqual([[false, 'podman is not installed']]);
  machines.noteContainers('');
  expect(said()).toEqual([[true, undefined]]);
});
