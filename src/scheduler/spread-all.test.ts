import { afterEach, expect, test } from 'vitest';
import { SchedulerWorld } from '../../test/support/scheduler-world.js';
import { MachineChanges } from '../modules/slaves/machine-changes.service.js';
import { MachinesPoller } from '../modules/slaves/machines.poller.js';
import { RequestsModule } from '../modules/requests/requests.module.js';
import { SpreadAllPoller } from '../modules/requests/spread-all.poller.js';
import { CleanupModule } from '../modules/tasks/cleanup/cleanup.module.js';
import { CleanupPoller } from '../modules/tasks/cleanup/cleanup.poller.js';
import { builtInCaller } from '../platform/http/caller.js';

let world: SchedulerWorld;
afterEach(() => world.close());

const seconds = async (count: number) => {
  for (let n = 0; n < count; n++) {
    await world.get(SpreadAllPoller).runOnce(world.now);
    await world.get(MachinesPoller).decommission(world.now);
    await world.get(CleanupPoller).runOnce(world.now);
    await world.run(1);
  }
};
const places = async () => (await world.active()).map((task) => task.slaveId).toSorted();

test('a request spread over all slaves runs once on each of them, also when one comes or goes', async () => {
  const settings = { spreadAllSlavesEnabled: true };
  world = await SchedulerWorld.start({ machines: 2, settings, modules: [RequestsModule, CleanupModule] });
  await world.cluster.advance(0);
  await world.deployed({ id: 'agent', requestType: 'SERVICE', slavePlacement: 'SPREAD_ALL_SLAVES' });
  await seconds(3);
  expect(await places()).toEqual(['slave-1', 'slave-2']);

  world.cluster.addMachine({ slaveId: 'slave-3' });
  await seconds(3);
  expect(await places()).toEqual(['slave-1', 'slave-2', 'slave-3']);

  await world.get(MachineChanges).change('SLAVE', 'slave-1', 'STARTING_DECOMMISSION', {}, builtInCaller);
  await seconds(20);
  expect(await places()).toEqual(['slave-2', 'slave-3']);
});

test.each(['FROZEN', 'DEAD', 'STARTING_DECOMMISSION'])(
  'a slave that is %s ends no task on another one',
  async (state) => {
    const settings = { spreadAllSlavesEnabled: true };
    world = await SchedulerWorld.start({ machines: 3, settings, modules: [RequestsModule, CleanupModule] });
    await world.cluster.advance(0);
    await world.deployed({ id: 'agent', requestType: 'SERVICE', slavePlacement: 'SPREAD_ALL_SLAVES' });
    await seconds(3);
    const begun = await world.active();
    const first = begun.find(({ taskId }) => taskId.instanceNo === 1)!;
    await world.query(`UPDATE slave SET state = $1 WHERE id = $2`, [state, first.slaveId]);
    await seconds(state === 'STARTING_DECOMMISSION' ? 20 : 4);
    const others = begun.filter(({ slaveId }) => slaveId !== first.slaveId).map(({ taskId }) => taskId.id);
    const now = (await world.active()).map(({ taskId }) => taskId.id);
    expect(now.toSorted()).toEqual(
      [...others, ...(state === 'STARTING_DECOMMISSION' ? [] : [first.taskId.id])].toSorted(),
    );
  },
);
