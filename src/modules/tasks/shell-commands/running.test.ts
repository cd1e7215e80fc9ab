import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { SchedulerWorld } from '../../../../test/support/scheduler-world.js';
import { testSettings } from '../../../../test/support/test-settings.js';
import type { CommandScript } from '../../../../test/support/simulated-cluster/script.js';
import type { RequestCleanup } from '../../../core/model/request.js';
import type { RequestType } from '../../../core/model/enums.js';
import type { TaskHistory } from '../../../core/model/task.js';
import { TaskHistoryRepository } from '../../history/task-history.repository.js';
import { RequestCleanupRepository } from '../../requests/request-cleanup.repository.js';
import { CleanupModule } from '../cleanup/cleanup.module.js';
import { CleanupPoller } from '../cleanup/cleanup.poller.js';
import { TaskKills } from '../task-kills.service.js';
import { TasksModule } from '../tasks.module.js';
import { ShellCommandPoller } from './shell-command.poller.js';
import { ShellCommands } from './shell-commands.service.js';
import { ShellCommandsModule } from './shell-commands.module.js';

const { ui } = testSettings();
const settings = { ui: { ...ui, shellCommands: [{ name: 'jstack', description: '', options: [] }] } };
const caller = { id: 'ann', email: 'ann@example.org' };

let world: SchedulerWorld;
let script: CommandScript;
beforeEach(async () => {
  script = {};
  world = await SchedulerWorld.start({
    settings,
    modules: [ShellCommandsModule, CleanupModule, TasksModule],
    machines: 3,
  });
  world.cluster.onLaunch(() => ({ commands: () => script }));
});
afterEach(() => world.close());

async function serving(instances = 1, requestType: RequestType = 'SERVICE'): Promise<string[]> {
  await world.deployed({ id: 'svc', requestType, instances });
  await world.run(2);
  return (await world.active()).map((task) => task.taskId.id);
}
const ask = (taskId: string) => world.get(ShellCommands).run(taskId, { name: 'jstack' }, caller);
/** Everything that is to be sent is, and a second goes by. */
async function pass(): Promise<void> {
  await world.get(CleanupPoller).runOnce(world.now);
  await world.get(ShellCommandPoller).runOnce();
  await world.get(ShellCommandPoller).settled();
  await world.run();
}
const updatesOf = async (taskId: string) =>
  (await world.get(ShellCommands).ofTask(taskId)).map(({ shellUpdates }) =>
    shellUpdates.map(({ updateType }) => updateType).join(),
  );
const isActive = async (taskId: string) => (await world.active()).some((task) => task.taskId.id === taskId);
const queued = async () => (await world.get(ShellCommands).queued()).length;

describe('a queued command', () => {
  test('is sent to the machine of its task, and what becomes of it is stored', async () => {
    const [taskId] = await serving();
    expect(await ask(taskId!)).toMatchObject({ user: caller.email, shellCommand: { name: 'jstack' } });
    expect(await queued()).toBe(1);
    await pass();
    expect(await updatesOf(taskId!)).toEqual(['ACKED,STARTED,FINISHED']);
    expect(await queued()).toBe(0);
  });

  test('stays queued while its machine cannot be reached, and holds up no other', async () => {
    const [first, second] = await serving(2);
    const away = (await world.active())[0]!;
    world.cluster.setReachable(away.slaveId, false);
    for (const taskId of [first!, second!]) await ask(taskId);
    await pass();
    expect(await updatesOf(away.taskId.id)).toEqual([]);
    expect(await updatesOf(second!)).toEqual(['ACKED,STARTED,FINISHED']);
    expect(await queued()).toBe(1);
    world.cluster.setReachable(away.slaveId, true);
    await pass();
    expect(await updatesOf(away.taskId.id)).toEqual(['ACKED,STARTED,FINISHED']);
  });

  test.each([{ fault: 'loseCommand' }, { fault: 'loseCommandAnswer' }] as const)(
    'runs once although the network does $fault',
    async ({ fault }) => {
      const [taskId] = await serving();
      world.cluster.faults = { [fault]: 1 };
      await ask(taskId!);
      await pass();
      world.cluster.faults = {};
      await pass();
      expect(await updatesOf(taskId!)).toEqual(['ACKED,STARTED,FINISHED']);
      expect(await queued()).toBe(0);
    },
  );

  test('survives the leader that had sent it, and the one that had not', async () => {
    const [taskId] = await serving();
    await ask(taskId!);
    await world.crash();
    expect(await queued()).toBe(1);
    script = { runFor: 5_000 };
    await pass();
    expect(await updatesOf(taskId!)).toEqual(['ACKED,STARTED']);
    await world.crash();
    for (let second = 0; second < 5; second++) await pass();
    expect(await updatesOf(taskId!)).toEqual(['ACKED,STARTED,FINISHED']);
  });

  test('is stored once although its updates come twice and in another order', async () => {
    const [taskId] = await serving();
    world.cluster.faults = { duplicateUpdates: 1, reorderUpdates: 1 };
    await ask(taskId!);
    for (let second = 0; second < 3; second++) await pass();
    expect(await updatesOf(taskId!)).toEqual(['ACKED,STARTED,FINISHED']);
  });

  test('is not sent to a task that has ended: it is INVALID', async () => {
    const [taskId] = await serving();
    await ask(taskId!);
    world.cluster.finish(taskId!, 'TASK_FAILED');
    await world.run();
    expect(await updatesOf(taskId!)).toEqual(['INVALID']);
    expect(await queued()).toBe(0);
  });

  test('is INVALID where its machine does not know the task any more', async () => {
    const [taskId] = await serving();
    await ask(taskId!);
    // Ended, and the end is still on its way.
    world.cluster.faults = { delayUpdates: 1 };
    world.cluster.finish(taskId!, 'TASK_FAILED');
    await pass();
    expect(await isActive(taskId!)).toBe(true);
    expect(await updatesOf(taskId!)).toEqual(['INVALID']);
  });

  test('that runs when its task ends has FAILED, in the history of the task', async () => {
    const [taskId] = await serving();
    script = { runFor: Infinity };
    await ask(taskId!);
    await pass();
    world.cluster.finish(taskId!, 'TASK_FINISHED');
    await world.run();
    const history = (await world.get(TaskHistoryRepository).find(world.db.pool, taskId!))!.history as TaskHistory;
    expect(history.taskUpdates.at(-1)!.taskState).toBe('TASK_FINISHED');
    expect(history.shellCommandHistory).toMatchObject([
      {
        shellRequest: { user: caller.email },
        shellUpdates: [{ updateType: 'ACKED' }, { updateType: 'STARTED' }, { updateType: 'FAILED' }],
      },
    ]);
  });

  test('that ran on a machine that began anew has FAILED with its task', async () => {
    const [taskId] = await serving();
    script = { runFor: Infinity };
    await ask(taskId!);
    await pass();
    world.cluster.reincarnate((await world.active())[0]!.slaveId);
    await world.run(2);
    expect(await isActive(taskId!)).toBe(false);
    expect(await updatesOf(taskId!)).toEqual(['ACKED,STARTED,FAILED']);
  });
});

describe('a task with a command before its kill', () => {
  const runShellCommandBeforeKill = { name: 'jstack' };
  const order = (cleanup: Partial<RequestCleanup> & Pick<RequestCleanup, 'cleanupType'>) =>
    world.db.transaction((tx) =>
      world
        .get(RequestCleanupRepository)
        .create(tx, { requestId: 'svc', timestamp: world.now, runShellCommandBeforeKill, ...cleanup }),
    );
  const kill = (taskId: string, options: object = {}) =>
    world.get(TaskKills).kill(taskId, { runShellCommandBeforeKill, ...options }, caller);

  test.each<{ end: CommandScript['end'] }>([{ end: 'INVALID' }, { end: 'FINISHED' }, { end: 'FAILED' }])(
    'is killed when the command is $end',
    async ({ end }) => {
      const [taskId] = await serving();
      script = { end };
      await kill(taskId!);
      await pass();
      await pass();
      expect(await isActive(taskId!)).toBe(false);
      expect((await updatesOf(taskId!))[0]).toContain(end);
    },
  );

  test('is not killed while the command is only ACKED and STARTED, whatever leader looks', async () => {
    const [taskId] = await serving();
    script = { runFor: 20_000 };
    await kill(taskId!);
    for (let second = 0; second < 10; second++) await pass();
    await world.crash();
    for (let second = 0; second < 5; second++) await pass();
    expect([await isActive(taskId!), await updatesOf(taskId!)]).toEqual([true, ['ACKED,STARTED']]);
    for (let second = 0; second < 10; second++) await pass();
    expect(await isActive(taskId!)).toBe(false);
    expect(await updatesOf(taskId!)).toEqual(['ACKED,STARTED,FINISHED']);
  });

  test('is killed after the time that the kill may wait, though its machine never says how the command ended', async () => {
    const [taskId] = await serving();
    script = { runFor: Infinity };
    await kill(taskId!);
    await pass();
    await world.cluster.advance(298_000);
    await pass();
    expect(await isActive(taskId!)).toBe(true);
    await pass();
    await pass();
    expect(await isActive(taskId!)).toBe(false);
  });

  test('waits for it even when it is to be destroyed', async () => {
    const [taskId] = await serving();
    script = { runFor: 3_000 };
    await kill(taskId!, { override: true });
    await pass();
    expect(await isActive(taskId!)).toBe(true);
    for (let second = 0; second < 4; second++) await pass();
    expect(await isActive(taskId!)).toBe(false);
  });

  test('is killed at once when a later order without a command overrides the first', async () => {
    const [taskId] = await serving();
    script = { runFor: Infinity };
    await kill(taskId!);
    await pass();
    await kill(taskId!, { override: true, runShellCommandBeforeKill: undefined });
    await pass();
    await pass();
    expect(await isActive(taskId!)).toBe(false);
    expect(await updatesOf(taskId!)).toEqual(['ACKED,STARTED,FAILED']);
  });

  test('of a pause: every task runs it, and goes when its own has ended', async () => {
    const taskIds = await serving(2);
    script = { runFor: 3_000 };
    await world.changeRequest('svc', {}, 'PAUSED');
    await order({ cleanupType: 'PAUSING', killTasks: true });
    await pass();
    await pass();
    expect(await world.active()).toHaveLength(2);
    const cleanups = await world.query('SELECT cleanup_type, run_before_kill FROM task_cleanup');
    expect(cleanups).toMatchObject(
      [1, 2].map(() => ({ cleanup_type: 'PAUSING', run_before_kill: { name: 'jstack' } })),
    );
    for (let second = 0; second < 5; second++) await pass();
    expect(await world.active()).toHaveLength(0);
    for (const taskId of taskIds) expect(await updatesOf(taskId)).toEqual(['ACKED,STARTED,FINISHED']);
  });

  test('of a bounce: only tasks of its deploy that have no other order run it', async () => {
    const [first, second] = await serving(2);
    await world.get(TaskKills).kill(first!, { waitForReplacementTask: true }, caller);
    await order({ cleanupType: 'BOUNCE', deployId: 'd1', actionId: 'b1' });
    await pass();
    expect([await updatesOf(first!), await updatesOf(second!)]).toEqual([[], ['ACKED,STARTED,FINISHED']]);
    expect(await world.query('SELECT task_id, cleanup_type FROM task_cleanup ORDER BY 1')).toEqual([
      { task_id: first, cleanup_type: 'USER_REQUESTED_TASK_BOUNCE' },
      { task_id: second, cleanup_type: 'BOUNCING' },
    ]);
  });
});
