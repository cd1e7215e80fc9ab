import { afterEach, expect, test } from 'vitest';
import { SchedulerWorld } from '../../../test/support/scheduler-world.js';
import type { OperatorState } from '../../core/model/machine.js';
import { MachineChanges } from '../../modules/slaves/machine-changes.service.js';
import { HeldMachines } from './held-machines.service.js';

let world: SchedulerWorld;
afterEach(() => world.close());

test('the cluster is told which machines operators keep tasks from, themselves or with their rack', async () => {
  world = await SchedulerWorld.start({ machines: 3 });
  world.cluster.addMachine({ slaveId: 'far', rackId: 'R2' });
  await world.cluster.advance(0);
  const told: string[][] = [];
  Object.assign(world.driver, { hold: async (ids: ReadonlySet<string>) => void told.push([...ids].toSorted()) });
  const change = (kind: 'SLAVE' | 'RACK', id: string, state: OperatorState) =>
    world.get(MachineChanges).change(kind, id, state, {}, { id: 'ann', email: 'ann@example.com' });
  const held = async () => {
    await world.get(HeldMachines).runOnce();
    return told.at(-1);
  };
  expect(await held()).toEqual([]);
  await change('SLAVE', 'slave-1', 'FROZEN');
  await change('SLAVE', 'slave-2', 'STARTING_DECOMMISSION');
  await change('RACK', 'R2', 'FROZEN');
  expect(await held()).toEqual(['far', 'slave-1', 'slave-2']);
  await world.query(`UPDATE slave SET state = 'DECOMMISSIONED' WHERE id = 'slave-2'`);
  expect(await held()).toEqual(['far', 'slave-1', 'slave-2']);
  await change('SLAVE', 'slave-1', 'ACTIVE');
  await change('RACK', 'R2', 'ACTIVE');
  expect(await held()).toEqual(['slave-2']);
  await world.query(`UPDATE slave SET state = 'DEAD' WHERE id = 'slave-2'`);
  expect(await held()).toEqual([]);
});
