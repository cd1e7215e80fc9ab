import { afterEach, expect, test } from 'vitest';
import { Life } from '../../test/support/life.js';
import { InactiveMachines } from '../modules/slaves/inactive-hosts/inactive-machines.service.js';
import { MachinesPoller } from '../modules/slaves/machines.poller.js';
import { SlaveRepository } from '../modules/slaves/slave.repository.js';
import { builtInUser } from '../core/authorization/access-rules.js';
import { ExplainService } from './explain/explain.service.js';

let life: Life;
afterEach(() => life.close());

const places = async (id: string) => (await life.world.active(id)).map(({ slaveId }) => slaveId).toSorted();
const hosts = () => life.get(InactiveMachines);
const hostOf = async (slaveId: string) => (await life.get(SlaveRepository).hosts(life.world.db.pool, [slaveId]))[0]!;
/** The first pass loads the leader's memory: what follows has to reach it. */
const running = async (settings = {}) => {
  life = await Life.begin({ machines: 2, settings });
  await life.save('web', { instances: 2, slavePlacement: 'SEPARATE' });
  await life.deploy('web', 'd1');
  await life.run(10);
  expect(await places('web')).toEqual(['slave-1', 'slave-2']);
  await life.save('more', { instances: 4 });
};

test('a slave whose host is marked inactive while it is there keeps its tasks and gets none, until the mark is taken away', async () => {
  await running();
  const host = await hostOf('slave-1');
  await hosts().mark(host);
  await life.deploy('more', 'd1');
  await life.run(10);
  expect(new Set(await places('more'))).toEqual(new Set(['slave-2']));
  expect(await places('web')).toEqual(['slave-1', 'slave-2']);
  await life.save('web', { instances: 2, slavePlacement: 'SEPARATE_BY_REQUEST' });
  await life.world.query(`UPDATE slave SET state = 'FROZEN' WHERE id = 'slave-2'`);
  await life.save('last', { instances: 1 });
  await life.deploy('last', 'd1');
  await life.run(3);
  const [waiting] = (await life.get(ExplainService).request('last', builtInUser)).pendingTasks;
  expect(waiting).toMatchObject({
    message: 'No slave of 2 can take it: 1 on a host that is marked inactive, 1 frozen',
    rejections: [{ reason: 'HOST_INACTIVE' }, { reason: 'SLAVE_FROZEN' }],
  });
  expect(await life.world.query('SELECT message FROM v_waiting_task')).toEqual([{ message: waiting!.message }]);
  await hosts().unmark(host);
  await life.run(1);
  expect(await places('last')).toEqual(['slave-1']);
});

test('the mark may name the whole host where records leave out a common suffix, and lapses by itself', async () => {
  await running({ commonHostnameSuffixToOmit: '.example.com', cleanInactiveHostListEveryHours: 1 });
  await hosts().mark(`${await hostOf('slave-1')}.example.com`);
  await life.deploy('more', 'd1');
  await life.run(10);
  expect(new Set(await places('more'))).toEqual(new Set(['slave-2']));
  expect(await life.get(SlaveRepository).activeCount(life.world.db.pool)).toBe(1);
  const poller = life.get(MachinesPoller);
  const endsAt = await poller.expire(life.world.now);
  await poller.expire(endsAt! - 1);
  expect(await life.get(SlaveRepository).activeCount(life.world.db.pool)).toBe(1);
  expect(await poller.expire(endsAt!)).toBeUndefined();
  await life.save('last', { instances: 1 });
  await life.deploy('last', 'd1');
  await life.run(1);
  expect(await places('last')).toEqual(['slave-1']);
});
