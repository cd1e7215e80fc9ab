import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { SchedulerWorld } from '../../../test/support/scheduler-world.js';
import { LeaderMemory } from './leader-memory.service.js';
import { MemoryCheck } from './memory-check.service.js';
import { UsageMetricsLoader } from './usage-metrics.service.js';
import { WorkingSetLoader } from './working-set-loader.service.js';

let world: SchedulerWorld;
beforeEach(async () => {
  world = await SchedulerWorld.start({ machines: 3 });
});
afterEach(() => world.close());

const service = (id: string, instances = 2) => ({ id, requestType: 'SERVICE' as const, instances });
const differences = async () => {
  await world.get(LeaderMemory).refresh(world.now);
  return world.get(MemoryCheck).compareAll(world.now);
};

describe('the memory equals the rows', () => {
  const changes: [string, () => Promise<unknown>][] = [
    ['tasks were placed', () => world.run(2)],
    [
      'tasks ended',
      async () => {
        await world.run(2);
        for (const task of world.cluster.runningTasks()) world.cluster.finish(task.taskId, 'TASK_FAILED');
        await world.cluster.advance(1_000);
      },
    ],
    ['a request changed', () => world.changeRequest('svc', { instances: 5 })],
    ['a request is gone', () => world.query(`DELETE FROM request WHERE id = 'svc'`)],
    ['a pending task is unwanted', () => world.query('UPDATE pending_task SET delete_requested = true')],
    [
      'a task has to go',
      async () => {
        await world.run(1);
        await world.query(`INSERT INTO task_cleanup (task_id, request_id, cleanup_type, created_at)
        SELECT task_id, request_id, 'BOUNCING', now() FROM task LIMIT 1`);
      },
    ],
    [
      'a kill was ordered',
      async () => {
        await world.run(1);
        const [task] = await world.active();
        await world.kill(task!.taskId.id);
      },
    ],
    ['a slave is frozen', () => world.query(`UPDATE slave SET state = 'FROZEN' WHERE id = 'slave-1'`)],
    ['a rack is frozen', () => world.query(`UPDATE rack SET state = 'FROZEN'`)],
    [
      'a slave appeared',
      async () => {
        world.cluster.addMachine({ slaveId: 'new' });
        await world.cluster.advance(0);
      },
    ],
    [
      'a slave is gone',
      async () => {
        await world.run(2);
        world.cluster.removeMachine('slave-2');
        await world.cluster.advance(0);
      },
    ],
    [
      'a slave began anew',
      async () => {
        await world.run(2);
        world.cluster.reincarnate('slave-1');
        await world.cluster.advance(0);
      },
    ],
    [
      'a launch was taken back',
      async () => {
        world.cluster.onLaunch((spec) => ({ portInUse: spec.ports[0]! }));
        await world.deployed(service('ports'), { resources: { cpus: 1, memoryMb: 1, numPorts: 1 } });
        await world.pass();
      },
    ],
    ['another leader took over', () => world.crash()],
  ];
  test.each(changes)('after %s', async (_name, change) => {
    await world.deployed(service('svc'));
    await world.deployed({ ...service('other', 1), requestType: 'WORKER' });
    await world.pass();
    await change();
    expect(await differences()).toEqual([]);
  });
});

test('a note is taken once, and only by the leader', async () => {
  await world.deployed(service('svc'));
  const former = await world.overtake();
  await world.pass();
  await world.changeRequest('svc', { instances: 3 });
  await expect(former.scheduler.runOnce(world.now)).rejects.toThrow(/no longer leads|epoch|lease/i);
  expect(await world.query(`SELECT kind, key FROM leader_change WHERE kind = 'request'`)).toEqual([
    { kind: 'request', key: 'svc' },
  ]);
});

describe('while it is loaded', () => {
  /** Begins to load, and stops at its last part until it is told to go on. */
  async function loading() {
    await world.deployed(service('svc'));
    await world.run(2);
    world.get(LeaderMemory).drop();
    const usage = world.get(UsageMetricsLoader);
    const load = usage.load.bind(usage);
    let goOn = (): void => undefined;
    const told = new Promise<void>((resolve) => (goOn = resolve));
    const asked = vi.spyOn(usage, 'load').mockImplementationOnce(async () => {
      await told;
      return load();
    });
    const loaded = world.get(LeaderMemory).refresh(world.now);
    await vi.waitFor(() => expect(asked).toHaveBeenCalled());
    return { goOn, loaded };
  }

  test('an end that is told in its last part is in it', async () => {
    const { goOn, loaded } = await loading();
    world.cluster.finish(world.cluster.runningTasks()[0]!.taskId, 'TASK_FAILED');
    await world.cluster.advance(0);
    goOn();
    await loaded;
    expect(await differences()).toEqual([]);
  });

  test('a drop has it loaded once more', async () => {
    const read = vi.spyOn(world.get(WorkingSetLoader), 'load');
    const { goOn, loaded } = await loading();
    read.mockClear();
    world.get(LeaderMemory).drop();
    goOn();
    await loaded;
    expect(read).toHaveBeenCalledTimes(1);
  });
});

test('a batch whose fate is unknown is looked up in the rows', async () => {
  await world.deployed(service('svc'));
  await world.pass();
  world.get(LeaderMemory).drop();
  await world.pass();
  expect(await world.active()).toHaveLength(2);
  expect(await differences()).toEqual([]);
});

describe('the memory is compared with the rows', () => {
  const comparisons = () => vi.spyOn(world.get(LeaderMemory), 'compare');
  const ofTime = (millis: number) => world.cluster.advance(millis).then(() => world.pass());

  test('what differs three times in a row has everything loaded anew', async () => {
    await world.deployed(service('svc'));
    await world.pass();
    const [task] = await world.active();
    world.get(LeaderMemory).ended([task!.taskId]);
    const dropped = vi.spyOn(world.get(LeaderMemory), 'drop');
    await ofTime(10_000);
    expect(await differences()).not.toEqual([]);
    await ofTime(1);
    expect(dropped).not.toHaveBeenCalled();
    await ofTime(1);
    expect(dropped).toHaveBeenCalledOnce();
    expect(await differences()).toEqual([]);
  });

  test('each request and slave has its turn within an hour, a part at a time', async () => {
    await world.deployed(service('svc'));
    for (let n = 0; n < 120; n++) world.cluster.addMachine({ slaveId: `more-${n}` });
    await ofTime(0);
    const compare = comparisons();
    for (let part = 0; part < 360; part++) await ofTime(10_000);
    const parts = compare.mock.calls.map(([part]) => part);
    expect(new Set(parts.flatMap(({ requests }) => requests))).toEqual(new Set(['svc']));
    expect(new Set(parts.flatMap(({ slaves }) => slaves)).size).toBe(123);
    expect(Math.max(...parts.map(({ slaves }) => slaves.length))).toBe(50);
  });
});
