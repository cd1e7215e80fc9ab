import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { toldEvents } from '../../../test/support/told-events.js';
import { SchedulerWorld } from '../../../test/support/scheduler-world.js';
import { lockAwaited } from '../../../test/support/lock-waits.js';
import type { StatusUpdate } from '../../cluster/cluster-driver.js';
import type { TaskState } from '../../core/model/enums.js';
import { Database } from '../../platform/database/database.js';
import { StatusUpdates } from './status-updates.service.js';

let world: SchedulerWorld;
let taskIds: string[];
beforeEach(async () => {
  world = await SchedulerWorld.start();
  // Nothing comes from the machine by itself: each test says what is reported.
  world.cluster.onLaunch(() => ({ startAfter: 1_000_000 }));
  await world.deployed({ id: 'job', requestType: 'ON_DEMAND' }, {}, { pendingType: 'ONEOFF', runId: 'a' });
  await world.enqueue({ requestId: 'job', pendingType: 'ONEOFF', runId: 'b' });
  await world.pass();
  taskIds = (await world.active()).map((task) => task.taskId.id);
});
afterEach(() => world.close());

const update = (number: number, state: TaskState, own: Partial<StatusUpdate> = {}): StatusUpdate => ({
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
const cursor = async () =>
  (await world.query(`SELECT applied_update FROM agent_cursor WHERE agent_id = 'agent-1'`))[0]?.['applied_update'];
const recorded = async () =>
  (
    await world.query<{ state: string }>(`SELECT state FROM task_update WHERE task_id = $1 ORDER BY at`, [taskIds[0]])
  ).map(({ state }) => state);

test('each is applied once, and how far it got is stored with it', async () => {
  await report(update(1, 'TASK_STARTING'), update(2, 'TASK_RUNNING', { directory: '/x' }));
  await report(update(1, 'TASK_STARTING', { message: 'again' }), update(2, 'TASK_RUNNING'));
  expect(await cursor()).toBe(2);
  expect(await recorded()).toEqual(['TASK_LAUNCHED', 'TASK_STARTING', 'TASK_RUNNING']);
  const [task] = await world.active();
  expect(task).toMatchObject({ state: 'TASK_RUNNING', stateAt: world.now, runningAt: world.now });
});

test('whatever the clock of the machine says, it is neither before the launch nor in the future', async () => {
  const task = async () => (await world.active()).find(({ taskId }) => taskId.id === taskIds[0])!;
  const { taskId } = await task();
  await report(update(1, 'TASK_STARTING', { timestamp: taskId.startedAt - 600_000 }));
  expect(await task()).toMatchObject({ stateAt: taskId.startedAt });
  await report(update(2, 'TASK_RUNNING', { timestamp: world.now + 600_000 }));
  expect(await task()).toMatchObject({ stateAt: world.now, runningAt: world.now });
});

test('a machine that tells whole seconds puts no state before the one that it follows', async () => {
  const ofTask = async () => (await world.active()).find(({ taskId }) => taskId.id === taskIds[0])!;
  await world.cluster.advance(5_000);
  const { startedAt } = (await ofTask()).taskId;
  await world.query(`UPDATE task SET state_at = started_at + interval '400 ms'`);
  await report(update(9, 'TASK_RUNNING', { timestamp: startedAt + 100 }));
  const stateAt = startedAt + 400;
  expect(await ofTask()).toMatchObject({ state: 'TASK_RUNNING', stateAt, runningAt: stateAt });
});

test('whatever part of a millisecond a difference of clocks leaves, times are whole', async () => {
  const { startedAt } = (await world.active()).find(({ taskId }) => taskId.id === taskIds[0])!.taskId;
  await world.cluster.advance(1_000);
  const [running, finished] = [startedAt + 200.25, startedAt + 500.75];
  await report(update(8, 'TASK_RUNNING', { timestamp: running }), update(9, 'TASK_FINISHED', { timestamp: finished }));
  const [row] = await world.query<{ times: number[] }>(
    `SELECT jsonb_path_query_array(data, '$.taskUpdates[*].timestamp') AS times FROM task_history`,
  );
  expect(row!.times.slice(-2)).toEqual([startedAt + 200, startedAt + 500]);
});

test('out of order within a batch they are put in order', async () => {
  await report(update(3, 'TASK_FINISHED'), update(2, 'TASK_RUNNING'), update(1, 'TASK_STARTING'));
  const [row] = await world.query<{ states: string[] }>(
    `SELECT jsonb_path_query_array(data, '$.taskUpdates[*].taskState') AS states FROM task_history`,
  );
  expect(row!.states).toEqual(['TASK_LAUNCHED', 'TASK_STARTING', 'TASK_RUNNING', 'TASK_FINISHED']);
});

test('one that comes late is recorded but takes nothing back', async () => {
  await report(update(1, 'TASK_RUNNING'));
  await report(update(2, 'TASK_STARTING', { timestamp: world.now }));
  expect(await recorded()).toContain('TASK_STARTING');
  expect((await world.active())[0]).toMatchObject({ state: 'TASK_RUNNING' });
});

test('the message of a task that is starting is the newest, in the entry that there is, and told where it is another', async () => {
  const entries = () =>
    world.query(`SELECT message, at, previous FROM task_update WHERE task_id = $1 AND state = 'TASK_STARTING'`, [
      taskIds[0],
    ]);
  const told = async () => {
    const events = await toldEvents(world, 'TASK');
    return events.filter(({ taskId, taskState }) => taskId === taskIds[0] && taskState === 'TASK_STARTING').length;
  };
  const at = new Date(world.now);
  await report(update(0, 'TASK_STARTING'), update(0, 'TASK_STARTING', { message: 'no image' }));
  expect(await entries()).toEqual([{ message: 'no image', at, previous: [] }]);
  const before = await told();
  for (const message of ['no image', undefined, 'no image']) await report(update(0, 'TASK_STARTING', { message }));
  expect(await told()).toBe(before);
  await world.cluster.advance(1_000);
  await report(update(0, 'TASK_STARTING', { message: 'no\0 secret' }));
  expect(await entries()).toEqual([{ message: 'no\ufffd secret', at, previous: [] }]);
  expect(await told()).toBe(before + 1);
  // It has begun: what comes late takes nothing back.
  await report(update(0, 'TASK_RUNNING', { message: 'up' }), update(0, 'TASK_RUNNING', { message: 'again' }));
  await report(update(0, 'TASK_STARTING', { message: 'late' }));
  expect(await entries()).toEqual([{ message: 'no\ufffd secret', at, previous: [] }]);
  expect(await recorded()).toEqual(['TASK_LAUNCHED', 'TASK_STARTING', 'TASK_RUNNING']);
});

test('of another incarnation nothing is believed about tasks of this one', async () => {
  await report(update(1, 'TASK_FAILED', { incarnation: 'incarnation-0' }));
  expect(await recorded()).toEqual(['TASK_LAUNCHED']);
  await report(update(1, 'TASK_RUNNING'));
  expect(await recorded()).toEqual(['TASK_LAUNCHED', 'TASK_RUNNING']);
});

test('those without a number do not move the cursor', async () => {
  await report(update(0, 'TASK_RUNNING'));
  expect(await cursor()).toBeUndefined();
  expect(await recorded()).toEqual(['TASK_LAUNCHED', 'TASK_RUNNING']);
});

test('the end of a task takes the orders about it along', async () => {
  await world.kill(taskIds[0]!);
  await report(update(1, 'TASK_KILLED'));
  expect(await world.query('SELECT 1 FROM killed_task')).toEqual([]);
  expect(await world.ends('job')).toEqual(['TASK_KILLED']);
});

test('tasks of a deploy in progress stay live after their end: the deploy is judged by them', async () => {
  await world.query(`UPDATE request SET active_deploy_id = NULL, pending_deploy_id = 'd1'`);
  await report(update(1, 'TASK_FAILED'));
  expect(await world.query(`SELECT state FROM task WHERE task_id = $1 AND ended_at IS NOT NULL`, [taskIds[0]])).toEqual(
    [{ state: 'TASK_FAILED' }],
  );
});

test('the updates of many agents share a transaction, and each agent has its own place', async () => {
  const transactions = vi.spyOn(world.get(Database), 'leaderTransaction');
  const agents = Array.from({ length: 300 }, (_, index) => `agent-${index + 10}`);
  await Promise.all(
    agents.map((agentId) => world.get(StatusUpdates).reported([update(7, 'TASK_RUNNING', { agentId, taskId: 'x' })])),
  );
  expect(transactions.mock.calls.length).toBeLessThanOrEqual(3);
  transactions.mockRestore();
  const [stored] = await world.query(
    `SELECT count(*)::integer AS agents FROM agent_cursor WHERE applied_update = 7 AND agent_id <> 'agent-1'`,
  );
  expect(stored).toEqual({ agents: 300 });
});

test('what an agent reports next is stored after what it reported first, though others come in between', async () => {
  const next = ['TASK_STARTING', 'TASK_RUNNING', 'TASK_KILLING', 'TASK_FINISHED'] as const;
  const all = next.map((state, index) => report(update(index + 1, state)));
  const others = Array.from({ length: 50 }, (_, index) =>
    report(update(1, 'TASK_RUNNING', { agentId: `other-${index}`, taskId: 'x' })),
  );
  await Promise.all([...all, ...others]);
  expect(await world.ends('job')).toEqual(['TASK_FINISHED']);
  expect(await cursor()).toBe(4);
});

test('a text with a NUL in it is stored with a mark in its place', async () => {
  await report(update(1, 'TASK_RUNNING', { message: 'a\0b' }));
  expect(await world.query(`SELECT message FROM task_update WHERE state = 'TASK_RUNNING'`)).toEqual([
    { message: 'a\u{fffd}b' },
  ]);
});

test('one without a slave is left out, and counts as applied', async () => {
  await report(update(1, 'TASK_RUNNING', { slaveId: '' }));
  expect([await recorded(), await cursor()]).toEqual([['TASK_LAUNCHED'], 1]);
});

test('webhooks hear of a status once, however often it is reported', async () => {
  await world.query(
    `INSERT INTO webhook (id, uri, webhook_type, created_at) VALUES ('w', 'http://127.0.0.1:9/', 'TASK', now())`,
  );
  await report(update(0, 'TASK_STARTING'), update(0, 'TASK_RUNNING'));
  await world.query('DELETE FROM webhook_update');
  await report(update(0, 'TASK_STARTING'), update(0, 'TASK_RUNNING'));
  expect(await world.query('SELECT 1 FROM webhook_update')).toEqual([]);
});

test('a status does not wait for a transaction that holds its request; an end does, because it changes the request', async () => {
  await world.db.transaction(async (tx) => {
    await tx.query('SELECT 1 FROM request FOR NO KEY UPDATE');
    await report(update(1, 'TASK_RUNNING'));
  });
  let letGo = (): void => undefined;
  const released = new Promise<void>((resolve) => (letGo = resolve));
  let isLocked = (): void => undefined;
  const locked = new Promise<void>((resolve) => (isLocked = resolve));
  const held = world.db.transaction(async (tx) => {
    await tx.query('SELECT 1 FROM request FOR NO KEY UPDATE');
    isLocked();
    await released;
  });
  await locked;
  let ended = false;
  const end = report(update(2, 'TASK_FINISHED')).then(() => (ended = true));
  await lockAwaited(world);
  expect(ended).toBe(false);
  letGo();
  await Promise.all([held, end]);
});
