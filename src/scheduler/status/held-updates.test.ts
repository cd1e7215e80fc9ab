import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { SchedulerWorld } from '../../../test/support/scheduler-world.js';
import type { StatusUpdate } from '../../cluster/cluster-driver.js';
import { Reconciliation } from '../reconciliation/reconciliation.service.js';
import { HeldStatusUpdateRepository } from './held-status-update.repository.js';
import { HeldUpdatesPoller } from './held-updates.poller.js';
import { HeldUpdates } from './held-updates.service.js';
import { StatusUpdates } from './status-updates.service.js';

let world: SchedulerWorld;
let taskIds: string[];
beforeEach(async () => {
  world = await SchedulerWorld.start();
  world.cluster.onLaunch(() => ({ startAfter: 1_000_000 }));
  await world.deployed({ id: 'job', requestType: 'ON_DEMAND' }, {}, { pendingType: 'ONEOFF', runId: 'a' });
  await world.enqueue({ requestId: 'job', pendingType: 'ONEOFF', runId: 'b' });
  await world.pass();
  taskIds = (await world.active()).map((task) => task.taskId.id);
  // Something in the database refuses this one, until it is mended.
  await world.query(`ALTER TABLE task_update ADD CONSTRAINT refused CHECK (message <> 'refused')`);
});
afterEach(() => world.close());

const mend = () => world.query('ALTER TABLE task_update DROP CONSTRAINT refused');
const update = (number: number, state: StatusUpdate['state'], own: Partial<StatusUpdate> = {}): StatusUpdate => ({
  agentId: 'agent-1',
  incarnation: 'incarnation-1',
  number,
  taskId: taskIds[0]!,
  slaveId: 'slave-1',
  state,
  timestamp: world.now + number,
  ...own,
});
const report = (...updates: StatusUpdate[]) => world.get(StatusUpdates).reported(updates);
const refused = () => update(1, 'TASK_RUNNING', { message: 'refused' });
const held = () => world.query('SELECT task_id, attempts, last_error FROM held_status_update ORDER BY id');
const retry = (afterMillis: number) => world.get(HeldUpdatesPoller).runOnce(world.now + afterMillis);
const stateOf = async (taskId: string) => (await world.active()).find((task) => task.taskId.id === taskId)?.state;

test('an update that cannot be stored is kept and acknowledged, and all others are stored', async () => {
  const others = Array.from({ length: 20 }, (_, index) => update(index + 3, 'TASK_RUNNING', { taskId: 'x' }));
  await report(refused(), update(2, 'TASK_RUNNING', { taskId: taskIds[1]! }), ...others);
  expect(await stateOf(taskIds[1]!)).toBe('TASK_RUNNING');
  expect(await held()).toEqual([
    { task_id: taskIds[0], attempts: 0, last_error: expect.stringContaining('constraint "refused"') },
  ]);
  expect(await world.query('SELECT applied_update FROM agent_cursor')).toEqual([{ applied_update: 22 }]);
});

test('later updates of its task wait behind it, and are stored in order once it can be', async () => {
  await report(refused());
  await report(update(2, 'TASK_FINISHED'));
  expect(await stateOf(taskIds[0]!)).toBe('TASK_LAUNCHED');
  await mend();
  await retry(1_000);
  const [row] = await world.query<{ states: string[] }>(
    `SELECT jsonb_path_query_array(data, '$.taskUpdates[*].taskState') AS states FROM task_history`,
  );
  expect(row!.states).toEqual(['TASK_LAUNCHED', 'TASK_RUNNING', 'TASK_FINISHED']);
  expect(await held()).toEqual([]);
});

test('one that comes behind it while those before are released is stored before all later ones', async () => {
  await report(refused());
  await mend();
  const rows = world.get(HeldStatusUpdateRepository);
  const insert = rows.insert.bind(rows);
  let goOn = (): void => undefined;
  const told = new Promise<void>((resolve) => (goOn = resolve));
  const inserted = vi.fn<() => void>();
  vi.spyOn(rows, 'insert').mockImplementationOnce(async (...args) => {
    await insert(...args);
    inserted();
    await told;
  });
  const second = report(update(2, 'TASK_KILLING'));
  await vi.waitFor(() => expect(inserted).toHaveBeenCalled());
  await retry(1_000);
  expect(await stateOf(taskIds[0]!)).toBe('TASK_RUNNING');
  goOn();
  await second;
  expect(world.get(HeldUpdates).has(taskIds[0]!)).toBe(true);
  await report(update(3, 'TASK_FINISHED'));
  await retry(1_000);
  const [row] = await world.query<{ states: string[] }>(
    `SELECT jsonb_path_query_array(data, '$.taskUpdates[*].taskState') AS states FROM task_history`,
  );
  expect(row!.states).toEqual(['TASK_LAUNCHED', 'TASK_RUNNING', 'TASK_KILLING', 'TASK_FINISHED']);
  expect(world.get(HeldUpdates).has(taskIds[0]!)).toBe(false);
});

test('it is tried again with growing waits, and fails the poller meanwhile so that it is seen', async () => {
  await report(refused());
  await expect(retry(999)).rejects.toThrow(`1 status updates are held, the oldest of task '${taskIds[0]}'`);
  expect((await held())[0]).toMatchObject({ attempts: 0 });
  await expect(retry(1_000)).rejects.toThrow('refused');
  expect((await held())[0]).toMatchObject({ attempts: 1 });
  await expect(retry(1_999)).rejects.toThrow('are held');
  expect((await held())[0]).toMatchObject({ attempts: 1 });
  await expect(retry(2_000)).rejects.toThrow('are held');
  expect((await held())[0]).toMatchObject({ attempts: 2 });
  await mend();
  await retry(4_000);
  expect(await stateOf(taskIds[0]!)).toBe('TASK_RUNNING');
});

test('the next leader goes on with what the last one held', async () => {
  await report(refused());
  await world.crash();
  await report(update(9, 'TASK_KILLING'));
  expect(await held()).toHaveLength(2);
  await mend();
  await retry(1_000);
  expect(await stateOf(taskIds[0]!)).toBe('TASK_KILLING');
});

test('a task of which updates are held is not taken for lost although its machine has forgotten it', async () => {
  await report(update(1, 'TASK_FINISHED', { message: 'refused' }));
  world.cluster.findAgent('slave-1')!.forget(taskIds[0]!);
  world.get(Reconciliation).request();
  await world.get(Reconciliation).runWhenDue(world.now);
  expect(await stateOf(taskIds[0]!)).toBe('TASK_LAUNCHED');
  await mend();
  await retry(1_000);
  expect(await world.ends('job')).toEqual(['TASK_FINISHED']);
});
