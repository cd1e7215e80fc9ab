import { afterEach, beforeEach, expect, test } from 'vitest';
import { SchedulerWorld } from '../../test/support/scheduler-world.js';
import { builtInUser } from '../core/authorization/access-rules.js';
import type { DeployTasks } from '../core/model/deploy.js';
import type { TaskHistory } from '../core/model/task.js';
import { HistoryMover } from '../modules/history/history-mover.service.js';
import { LiveTaskHistoryRepository } from '../modules/history/live-task-history.repository.js';
import { ExplainService } from './explain/explain.service.js';

/* Programs around the main one of a task, as the leader learns of them from a simulated machine. */

let world: SchedulerWorld;
/** From its start until it ends, by the name of a program. Others take 5 ms. */
let lives: Record<string, { runFor?: number; exitCode?: number }> = {};

beforeEach(async () => {
  lives = {};
  world = await SchedulerWorld.start();
  world.cluster.onLaunch(() => ({
    runFor: 5_000,
    programs: ({ name }) => lives[name] ?? (name.startsWith('beside') ? { runFor: Infinity } : {}),
  }));
});
afterEach(() => world.close());

const program = (name: string) => ({ name, command: 'true' });
const tasks: DeployTasks = {
  init: [program('one'), program('two')],
  sidecars: [program('beside')],
  post: [program('last')],
};
async function start(): Promise<string> {
  await world.deployed({ id: 'job', requestType: 'ON_DEMAND' }, { tasks }, { pendingType: 'ONEOFF' });
  await world.run();
  const [task] = await world.query<{ id: string }>(
    'SELECT task_id AS id FROM task UNION SELECT task_id FROM task_history',
  );
  return task!.id;
}
const live = async (taskId: string): Promise<TaskHistory | undefined> =>
  (await world.get(LiveTaskHistoryRepository).find(world.db.pool, [taskId])).get(taskId);
const states = (history: TaskHistory | undefined) =>
  history?.programs?.map(({ name, state, starts }) => `${name} ${state} ${starts}`);
async function ended(taskId: string): Promise<TaskHistory | undefined> {
  await world.get(HistoryMover).move([taskId]);
  const [row] = await world.query<{ data: TaskHistory }>('SELECT data FROM task_history WHERE task_id = $1', [taskId]);
  return row?.data;
}

test('their states are in the history of the task while it lives, and when it has ended', async () => {
  const taskId = await start();
  await world.cluster.advance(100);
  expect(states(await live(taskId))).toEqual(['one SUCCEEDED 1', 'two SUCCEEDED 1', 'beside RUNNING 1']);
  await world.cluster.advance(10_000);
  const history = await ended(taskId);
  expect(states(history)).toEqual(['one SUCCEEDED 1', 'two SUCCEEDED 1', 'beside SUCCEEDED 1', 'last SUCCEEDED 1']);
  expect(history?.programs?.[0]).toEqual({
    name: 'one',
    role: 'INIT',
    state: 'SUCCEEDED',
    starts: 1,
    exitCode: 0,
    timestamp: expect.any(Number),
  });
  expect(history?.taskUpdates.map(({ taskState }) => taskState)).toEqual([
    'TASK_LAUNCHED',
    'TASK_STARTING',
    'TASK_RUNNING',
    'TASK_KILLING',
    'TASK_FINISHED',
  ]);
  expect(await world.query('SELECT * FROM task_program')).toEqual([]);
});

test('the history of a task that has none says nothing of any', async () => {
  await world.deployed({ id: 'job', requestType: 'ON_DEMAND' }, {}, { pendingType: 'ONEOFF' });
  await world.run();
  expect(await live((await world.active('job'))[0]!.taskId.id)).not.toHaveProperty('programs');
});

test('a step that runs and a program that failed are explained', async () => {
  lives = { two: { runFor: 60_000 }, beside: { runFor: 1, exitCode: 9 } };
  const taskId = await start();
  const programs = async () =>
    (await world.get(ExplainService).request('job', builtInUser)).programs?.map((about) => [
      about.taskId.id,
      about.name,
      about.state,
      about.exitCode,
    ]);
  await world.cluster.advance(1_000);
  expect(await programs()).toEqual([[taskId, 'two', 'RUNNING', undefined]]);
  await world.cluster.advance(60_000);
  expect(await programs()).toEqual([[taskId, 'beside', 'FAILED', 9]]);
});

test('what is told late or again does not change what is known', async () => {
  world.cluster.faults = { duplicateUpdates: 1, reorderUpdates: 1 };
  const taskId = await start();
  await world.cluster.advance(900);
  expect(states(await live(taskId))).toEqual(['one SUCCEEDED 1', 'two SUCCEEDED 1', 'beside RUNNING 1']);
});

test.each(['one', 'two', 'beside', 'last'])(
  'a leader that dies while %s runs is followed by one that learns the rest; nothing starts twice',
  async (name) => {
    lives = { [name]: { runFor: name === 'beside' ? Infinity : 30_000 } };
    const taskId = await start();
    await world.cluster.advance(name === 'last' ? 5_000 : 100);
    expect(states(await live(taskId))).toContain(`${name} RUNNING 1`);
    await world.crash();
    await world.cluster.advance(60_000);
    expect(states(await ended(taskId))).toEqual([
      'one SUCCEEDED 1',
      'two SUCCEEDED 1',
      'beside SUCCEEDED 1',
      'last SUCCEEDED 1',
    ]);
    expect(world.cluster.starts.get(taskId)).toBe(1);
  },
);

test('a failed init step is the failure of the task, with its reason', async () => {
  lives = { one: { exitCode: 3 } };
  const taskId = await start();
  await world.cluster.advance(1_000);
  const history = await ended(taskId);
  expect(history?.taskUpdates.at(-1)).toMatchObject({
    taskState: 'TASK_FAILED',
    statusMessage: 'Init step one ended with exit code 3',
  });
  expect(states(history)).toEqual(['one FAILED 1']);
  expect(world.cluster.starts.get(taskId)).toBeUndefined();
});
