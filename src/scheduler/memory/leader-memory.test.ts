import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { SchedulerWorld } from '../../../test/support/scheduler-world.js';
import { LeaderMemory } from './leader-memory.service.js';

let world: SchedulerWorld;
beforeEach(async () => {
  world = await SchedulerWorld.start({ machines: 3 });
});
afterEach(() => world.close());

const service = (id: string, instances = 2) => ({ id, requestType: 'SERVICE' as const, instances });
const difference = () => world.get(LeaderMemory).verify(world.now);

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
    expect(await difference()).toBeUndefined();
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

test('a batch whose fate is unknown is looked up in the rows', async () => {
  await world.deployed(service('svc'));
  await world.pass();
  world.get(LeaderMemory).drop();
  await world.pass();
  expect(await world.active()).toHaveLength(2);
  expect(await difference()).toBeUndefined();
});
