import { afterEach, describe, expect, test, vi } from 'vitest';
import type { MachineChangeRequest, MachineKind } from '../../core/model/machine.js';
import type { Request } from '../../core/model/request.js';
import { MachineChanges } from '../../modules/slaves/machine-changes.service.js';
import { MachineReads } from '../../modules/slaves/machine-reads.service.js';
import { MachinesPoller } from '../../modules/slaves/machines.poller.js';
import { CleanupModule } from '../../modules/tasks/cleanup/cleanup.module.js';
import { CleanupPoller } from '../../modules/tasks/cleanup/cleanup.poller.js';
import { SchedulerWorld } from '../../../test/support/scheduler-world.js';
import { ExplainLoader } from '../explain/explain-loader.service.js';
import { DecommissionPlans } from './decommission-plans.service.js';
import type { DecommissionPlanDto } from './dto/decommission-plan.dto.js';
import { PlanModule } from './plan.module.js';

const ann = { id: 'ann' };

let world: SchedulerWorld;
afterEach(() => world.close());

type MachineOfTest = { slaveId: string; rackId?: string; cpus?: number };
const start = async (...machines: MachineOfTest[]) => {
  world = await SchedulerWorld.start({ machines: 0, modules: [PlanModule, CleanupModule] });
  for (const machine of machines) world.cluster.addMachine(machine);
  await world.cluster.advance(0);
};
const second = async () => {
  await world.get(MachinesPoller).expire(world.now);
  await world.get(MachinesPoller).decommission(world.now);
  await world.get(CleanupPoller).runOnce(world.now);
  await world.run();
};
const seconds = async (count: number) => {
  for (let n = 0; n < count; n++) await second();
};
const serving = async (id: string, instances: number, request: Partial<Request> = {}) => {
  await world.deployed({ id, requestType: 'SERVICE', instances, ...request });
  await seconds(2);
};
const plan = (kind: MachineKind, id: string, asked: MachineChangeRequest = {}) =>
  world.get(DecommissionPlans).plan(kind, id, asked);
const decommission = (kind: MachineKind, id: string) =>
  world.get(MachineChanges).change(kind, id, 'STARTING_DECOMMISSION', {}, ann);
const placesOf = async () =>
  (await world.active())
    .filter(({ cleaning }) => cleaning === undefined)
    .map(({ taskId, slaveId }) => `${taskId.requestId} ${taskId.instanceNo} on ${slaveId}`)
    .toSorted();
const targets = ({ moves }: DecommissionPlanDto) =>
  moves.flatMap(({ taskId, to }) => (to ? [`${taskId.requestId} ${taskId.instanceNo} on ${to.slaveId}`] : []));
const outcomes = ({ moves }: DecommissionPlanDto) =>
  moves.map(({ taskId, outcome }) => `${taskId.requestId} ${taskId.instanceNo} ${outcome}`).toSorted();

describe('what is planned is what happens', () => {
  /** Of the `web` tasks, which stand apart, those of a slave or two find none that is free. */
  test.each<{ name: string; kind: MachineKind; id: string; waiting: number }>([
    { name: 'to a slave', kind: 'SLAVE', id: 's1', waiting: 1 },
    { name: 'to all slaves of a rack', kind: 'RACK', id: 'r-1', waiting: 2 },
  ])('$name', async ({ kind, id, waiting }) => {
    await start(
      { slaveId: 's1', rackId: 'r-1' },
      { slaveId: 's2', rackId: 'r-1' },
      { slaveId: 's3', rackId: 'r-2' },
      { slaveId: 's4', rackId: 'r-2' },
    );
    await serving('web', 4, { slavePlacement: 'SEPARATE' });
    await serving('db', 4);
    const before = await placesOf();
    const planned = await plan(kind, id);
    expect([planned.fits, planned.waiting]).toEqual([false, waiting]);
    expect(planned.moving).toBe(planned.moves.length - waiting);
    expect(targets(planned).length).toBeGreaterThan(0);
    expect(await placesOf()).toEqual(before);
    expect(await world.query('SELECT * FROM task_cleanup')).toEqual([]);
    await decommission(kind, id);
    await seconds(3);
    const stays = before.filter((place) => !planned.moves.some(({ taskId }) => isAt(place, taskId)));
    expect(await placesOf()).toEqual([...stays, ...targets(planned)].toSorted());
  });

  const isAt = (place: string, { requestId, instanceNo }: { requestId: string; instanceNo: number }): boolean =>
    place.startsWith(`${requestId} ${instanceNo} `);
});

describe('a plan of a decommission', () => {
  test('says who stays for want of room, and why', async () => {
    await start({ slaveId: 's1', cpus: 1 }, { slaveId: 's2', cpus: 1 });
    await serving('web', 2);
    const planned = await plan('SLAVE', 's1');
    expect(planned).toMatchObject({ id: 's1', fits: false, moving: 0, waiting: 1 });
    const [move] = planned.moves;
    expect(move).toMatchObject({ outcome: 'WAITS', message: expect.stringContaining('No slave of 2 can take it') });
    expect(move!.rejections).toMatchObject([
      { reason: expect.any(String), slaves: 1 },
      { reason: expect.any(String), slaves: 1 },
    ]);
  });

  test('is of one time: what changes while it is read does not count', async () => {
    await start({ slaveId: 's1' }, { slaveId: 's2' });
    await serving('web', 1, { slavePlacement: 'GREEDY' });
    const { slaveId } = (await world.active())[0]!;
    const loader = world.get(ExplainLoader);
    const scene = loader.scene.bind(loader);
    const read = vi.spyOn(loader, 'scene').mockImplementation(async (...asked) => {
      await world.query(`UPDATE slave SET state = 'FROZEN'`);
      return scene(...asked);
    });
    expect(await plan('SLAVE', slaveId)).toMatchObject({ fits: true, moving: 1 });
    expect(read).toHaveBeenCalledTimes(1);
    expect(await plan('SLAVE', slaveId)).toMatchObject({ fits: false, waiting: 1 });
    read.mockRestore();
  });

  test('of a rack leaves the share of its tasks to the racks that stay', async () => {
    await start({ slaveId: 's1', rackId: 'r-1' }, { slaveId: 's2', rackId: 'r-2' });
    await serving('web', 2, { rackSensitive: true });
    const planned = await plan('RACK', 'r-1');
    expect(planned).toMatchObject({ id: 'r-1', fits: true, moving: 1, moves: [{ to: { rackId: 'r-2' } }] });
  });

  test('two requests do not both get the last room', async () => {
    await start({ slaveId: 's1', cpus: 2 });
    await serving('web', 1);
    await serving('db', 1);
    world.cluster.addMachine({ slaveId: 's2', cpus: 1 });
    await world.cluster.advance(0);
    await second();
    const planned = await plan('SLAVE', 's1');
    expect([planned.fits, planned.moving, planned.waiting]).toEqual([false, 1, 1]);
  });

  test('a run ends where it is, a paused request wants none back, and what leaves already is left out', async () => {
    await start({ slaveId: 's1' });
    await world.deployed({ id: 'job', requestType: 'ON_DEMAND' }, {}, { pendingType: 'ONEOFF', runId: 'r1' });
    await serving('web', 2);
    await serving('idle', 1);
    await world.changeRequest('idle', {}, 'PAUSED');
    const [gone] = await world.active('web');
    await world.query(
      `INSERT INTO task_cleanup (task_id, request_id, cleanup_type, created_at) VALUES ($1, 'web', 'BOUNCING', now())`,
      [gone!.taskId.id],
    );
    const planned = await plan('SLAVE', 's1');
    const left = gone!.taskId.instanceNo === 1 ? 2 : 1;
    expect(outcomes(planned)).toEqual(['idle 1 NOT_REPLACED', 'job 1 RUNS_TO_END', `web ${left} WAITS`]);
  });

  test('of a machine without tasks is empty and fits', async () => {
    await start({ slaveId: 's1' }, { slaveId: 's2' });
    await second();
    expect(await plan('SLAVE', 's2')).toEqual({ id: 's2', fits: true, moving: 0, waiting: 0, moves: [] });
  });

  test('is refused as the decommission would be', async () => {
    await start({ slaveId: 's1' }, { slaveId: 's2' });
    await second();
    await expect(plan('SLAVE', 'nope')).rejects.toThrow(`No slave with id 'nope'`);
    await expect(plan('RACK', 'nope')).rejects.toThrow(`No rack with id 'nope'`);
    await expect(plan('SLAVE', 's1', { durationMillis: 1 })).rejects.toThrow('revertToState');
    await decommission('SLAVE', 's1');
    await expect(plan('SLAVE', 's1')).rejects.toThrow(/The slave 's1' (is|cannot become)/);
    expect((await world.get(MachineReads).slaves()).map(({ currentState }) => currentState.state)).toEqual([
      'STARTING_DECOMMISSION',
      'ACTIVE',
    ]);
  });
});
