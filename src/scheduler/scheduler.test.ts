import { afterEach, describe, expect, test } from 'vitest';
import { SchedulerWorld, type WorldOptions } from '../../test/support/scheduler-world.js';
import { lockAwaited } from '../../test/support/lock-waits.js';
import { Metrics } from '../platform/metrics/metrics.js';
import { Wake } from '../platform/wake/wake.js';
import { JobPoller } from './pollers/job.poller.js';
import { Reconciliation } from './reconciliation/reconciliation.service.js';

let world: SchedulerWorld;
const start = async (options?: WorldOptions) => (world = await SchedulerWorld.start(options));
afterEach(() => world.close());

const states = async (requestId?: string) => (await world.active(requestId)).map((task) => task.state);

describe('from the queue to a running task', () => {
  test('a service gets its instances, each once', async () => {
    await start({ machines: 2 });
    await world.deployed({ id: 'svc', requestType: 'SERVICE', instances: 3 });
    await world.run();
    const tasks = await world.active();
    expect(tasks.map((task) => [task.taskId.instanceNo, task.state, task.slaveId])).toEqual([
      [1, 'TASK_RUNNING', 'slave-1'],
      [2, 'TASK_RUNNING', 'slave-2'],
      [3, 'TASK_RUNNING', 'slave-1'],
    ]);
    expect(tasks[0]!.answeredAt).toBeDefined();
    expect(tasks[0]!.directory).toContain(tasks[0]!.taskId.id);
    expect([...world.cluster.starts.values()]).toEqual([1, 1, 1]);
    expect(await world.get(Metrics).registry.metrics()).toContain('muster_placements_total 3');
    expect(await world.query('SELECT * FROM pending_request')).toEqual([]);
    expect(await world.query('SELECT * FROM pending_task')).toEqual([]);
  });

  test('the launch tells why, by whom and what for, and the record what was asked', async () => {
    await start();
    await world.deployed(
      { id: 'job', requestType: 'ON_DEMAND' },
      {},
      {
        pendingType: 'ONEOFF',
        user: 'me',
        message: 'because',
        runId: 'r1',
        cmdLineArgsList: ['a'],
        envOverrides: { A: 'b' },
      },
    );
    await world.pass();
    const [update] = await world.query(`SELECT state, message FROM task_update WHERE state = 'TASK_LAUNCHED'`);
    expect(update).toEqual({ state: 'TASK_LAUNCHED', message: 'ONEOFF by me - because' });
    const [launch] = world.cluster.runningTasks();
    expect(launch).toMatchObject({
      command: { shell: false, value: 'run', arguments: ['a'] },
      environment: { A: 'b', STARTED_BY_USER: 'me' },
    });
    const [row] = await world.query('SELECT document FROM task_launch');
    expect(row).toMatchObject({ document: { request: { id: 'job' }, pendingTask: { runId: 'r1' } } });
  });

  test('what does not fit waits, and starts when there is room', async () => {
    await start({ machines: 0 });
    world.cluster.addMachine({ slaveId: 's', cpus: 1 });
    await world.cluster.advance(0);
    await world.deployed({ id: 'svc', requestType: 'SERVICE', instances: 2 });
    await world.run();
    expect(await states()).toEqual(['TASK_RUNNING']);
    world.cluster.addMachine({ slaveId: 's2', cpus: 1 });
    await world.run(2);
    expect(await states()).toEqual(['TASK_RUNNING', 'TASK_RUNNING']);
  });

  test('nothing is placed while PROCESS_OFFERS is disabled, and tasks say so', async () => {
    await start();
    await world.query(
      `INSERT INTO disabled_action (action, message, automatically_clearable) VALUES ('PROCESS_OFFERS', 'no', false)`,
    );
    world.get(Wake).signal('actions');
    await world.deployed({ id: 'svc', requestType: 'SERVICE' });
    await world.pass();
    expect(await world.active()).toEqual([]);
    expect(await world.query('SELECT reason FROM waiting_reason')).toEqual([{ reason: 'PLACEMENT_DISABLED' }]);
    await world.query('DELETE FROM disabled_action');
    world.get(Wake).signal('actions');
    await world.pass();
    expect(await world.active()).toHaveLength(1);
  });

  test('tasks below the level of a priority freeze wait, the others are placed', async () => {
    await start();
    await world.query(`INSERT INTO priority_freeze (minimum_priority_level, kill_tasks, kill_wanted, action_id, started_at)
      VALUES (0.6, false, false, 'a', now())`);
    await world.deployed({ id: 'service', requestType: 'SERVICE' });
    await world.deployed({ id: 'worker', requestType: 'WORKER' });
    await world.pass();
    expect((await world.active()).map(({ taskId }) => taskId.requestId)).toEqual(['service']);
    expect(await world.query('SELECT reason FROM waiting_reason')).toEqual([{ reason: 'PRIORITY_FREEZE' }]);
    await world.query('DELETE FROM priority_freeze');
    await world.pass();
    expect(await world.active()).toHaveLength(2);
  });

  test.each(['in a batch', 'after a wait for its row'])(
    'launches that cannot be stored are set aside and told, those behind them start (%s)',
    async (way) => {
      await start();
      await world.query(`ALTER TABLE task_launch ADD CONSTRAINT poison CHECK (task_id NOT LIKE 'poisoned-%')`);
      await world.deployed({ id: 'a', requestType: 'ON_DEMAND' }, {}, { pendingType: 'ONEOFF', runId: 'first' });
      await world.deployed({ id: 'poisoned', requestType: 'SERVICE', instances: 3 });
      await world.deployed({ id: 'z', requestType: 'SERVICE', instances: 2 });
      if (way !== 'in a batch') {
        let passing: Promise<void> | undefined;
        await world.db.transaction(async (tx) => {
          await tx.query(`SELECT 1 FROM request WHERE id = 'poisoned' FOR NO KEY UPDATE`);
          passing = world.pass();
          await lockAwaited(world);
        });
        await passing;
      }
      await world.run(4);
      expect((await world.active()).map(({ taskId }) => taskId.requestId).sort()).toEqual(['a', 'z', 'z']);
      const message = expect.stringContaining('constraint "poison"') as unknown;
      const why = { reason: 'CANNOT_BE_STORED', message };
      expect(await world.query('SELECT reason, message FROM waiting_reason')).toEqual([why, why, why]);
      await world.query('ALTER TABLE task_launch DROP CONSTRAINT poison');
      await world.cluster.advance(60_000);
      await world.run();
      expect(await world.active('poisoned')).toHaveLength(3);
      expect(await world.query('SELECT * FROM waiting_reason')).toEqual([]);
    },
  );

  test('a request that another transaction holds waits for the next pass, which comes soon, and the others do not', async () => {
    await start();
    await world.deployed({ id: 'held', requestType: 'SERVICE' });
    await world.deployed({ id: 'free', requestType: 'SERVICE' });
    await world.db.transaction(async (tx) => {
      await tx.query(`SELECT 1 FROM request WHERE id = 'held' FOR NO KEY UPDATE`);
      await world.pass();
      expect((await world.active()).map((task) => task.taskId.requestId)).toEqual(['free']);
      // Soon, and not at the next tick of a timer, at which others may hold it again.
      expect(await world.scheduler.runOnce(world.now)).toBeLessThanOrEqual(world.now + 100);
    });
    expect(await world.scheduler.runOnce(world.now)).toBeUndefined();
    expect(await world.active('held')).toHaveLength(1);
  });

  test('a frozen machine gets nothing new', async () => {
    await start({ machines: 2 });
    await world.query(`UPDATE slave SET state = 'FROZEN' WHERE id = 'slave-1'`);
    await world.deployed({ id: 'svc', requestType: 'SERVICE', instances: 2 });
    await world.run();
    expect((await world.active()).map((task) => task.slaveId)).toEqual(['slave-2', 'slave-2']);
  });

  test('pending tasks of a request that was paused meanwhile vanish', async () => {
    await start({ machines: 0 });
    await world.deployed({ id: 'svc', requestType: 'SERVICE' });
    await world.pass();
    expect(await world.query('SELECT 1 FROM pending_task')).toHaveLength(1);
    await world.changeRequest('svc', {}, 'PAUSED');
    await world.pass();
    expect(await world.query('SELECT 1 FROM pending_task')).toEqual([]);
  });

  test('ports are never given twice', async () => {
    await start({ machines: 0 });
    world.cluster.addMachine({ slaveId: 's', portRanges: [{ begin: 31_000, end: 31_005 }] });
    await world.cluster.advance(0);
    await world.deployed(
      { id: 'svc', requestType: 'SERVICE', instances: 2 },
      { resources: { cpus: 0.1, memoryMb: 1, numPorts: 2 } },
    );
    await world.run();
    await world.deployed(
      { id: 'other', requestType: 'SERVICE', instances: 2 },
      { resources: { cpus: 0.1, memoryMb: 1, numPorts: 2 } },
    );
    await world.run();
    const ports = (await world.active()).flatMap((task) => task.ports);
    expect(ports).toHaveLength(6);
    expect(new Set(ports).size).toBe(6);
  });

  test('more tasks than fit in one transaction are all placed', async () => {
    await start({ machines: 10, machinesPerAgent: 10 });
    await world.deployed(
      { id: 'svc', requestType: 'SERVICE', instances: 1_100 },
      { resources: { cpus: 0.1, memoryMb: 1 } },
    );
    await world.run();
    expect(await world.active()).toHaveLength(1_100);
    expect(world.cluster.runningTasks()).toHaveLength(1_100);
  });
});

describe('answers to launches', () => {
  test('an answer that got lost is asked for again; the task starts once', async () => {
    await start({ faults: { loseLaunchAnswer: 1 } });
    await world.deployed({ id: 'svc', requestType: 'SERVICE' });
    await world.run(3);
    expect((await world.active())[0]).toMatchObject({ state: 'TASK_RUNNING', answeredAt: undefined });
    world.cluster.faults = {};
    await world.run(2);
    expect((await world.active())[0]!.answeredAt).toBeDefined();
    expect([...world.cluster.starts.values()]).toEqual([1]);
  });

  test('a lost launch is sent again under the same id', async () => {
    await start({ faults: { loseLaunch: 1 } });
    await world.deployed({ id: 'svc', requestType: 'SERVICE' });
    await world.run(2);
    const [before] = await world.active();
    expect(before!.state).toBe('TASK_LAUNCHED');
    world.cluster.faults = {};
    await world.run(2);
    expect(await world.active()).toEqual([expect.objectContaining({ taskId: before!.taskId, state: 'TASK_RUNNING' })]);
  });

  test('a port in use: placed again under another id and without that port', async () => {
    await start();
    const taken: number[] = [];
    world.cluster.onLaunch((spec) => {
      if (taken.length > 0) return {};
      taken.push(spec.ports[0]!);
      return { portInUse: spec.ports[0]! };
    });
    await world.deployed(
      { id: 'svc', requestType: 'SERVICE' },
      { resources: { cpus: 1, memoryMb: 1, numPorts: 1_000 } },
    );
    await world.run(2);
    expect(await world.active()).toEqual([]);
    expect(await world.query('SELECT 1 FROM pending_task')).toHaveLength(1);
    await world.query(`UPDATE deploy_history SET data = jsonb_set(data, '{deploy,resources,numPorts}', '999')`);
    await world.changeRequest('svc', {});
    await world.run(2);
    const [task] = await world.active();
    expect(task).toMatchObject({ state: 'TASK_RUNNING' });
    expect(task!.ports).not.toContain(taken[0]);
    expect(await world.query('SELECT task_id FROM task_update GROUP BY 1')).toEqual([{ task_id: task!.taskId.id }]);
  });

  test('a disk that is almost full: placed again under another id, and no failure is counted', async () => {
    await start();
    const refused: string[] = [];
    world.cluster.onLaunch(({ taskId }) => {
      if (refused.length === 3) return {};
      refused.push(taskId);
      return { diskFull: true };
    });
    await world.deployed({ id: 'svc', requestType: 'SERVICE' });
    await world.run(6);
    const [task] = await world.active();
    expect(task).toMatchObject({ state: 'TASK_RUNNING' });
    expect(new Set([...refused, task!.taskId.id]).size).toBe(4);
    expect(await world.ends('svc')).toEqual([]);
  });

  test('a launch that is not admitted waits ever longer, is told, counts as no failure, and starts when it is', async () => {
    await start();
    const triedAt: number[] = [];
    world.cluster.onLaunch(() => {
      triedAt.push(world.now);
      return { notAdmitted: 'exceeded quota: pods' };
    });
    await world.deployed({ id: 'svc', requestType: 'SERVICE' });
    await world.pass();
    await world.run(2);
    expect(triedAt).toHaveLength(1);
    const message = expect.stringMatching(/does not admit it now.*: exceeded quota: pods$/) as unknown;
    expect(await world.query('SELECT reason, message FROM waiting_reason')).toEqual([
      { reason: 'NOT_ADMITTED', message },
    ]);
    for (let second = 0; second < 300; second++) {
      await world.cluster.advance(1_000);
      await world.pass();
    }
    const pauses = triedAt.slice(1).map((at, index) => Math.round((at - triedAt[index]!) / 1_000));
    expect(pauses.slice(0, 6)).toEqual([5, 10, 20, 40, 60, 60]);
    expect(await world.ends('svc')).toEqual([]);
    world.cluster.onLaunch(() => ({}));
    await world.cluster.advance(60_000);
    await world.run(2);
    expect(await world.active('svc')).toEqual([expect.objectContaining({ state: 'TASK_RUNNING' })]);
    expect(await world.query('SELECT * FROM waiting_reason')).toEqual([]);
  });

  test('a port in use of a task that has to go anyway: it ends, and nothing is placed again', async () => {
    await start({ faults: { loseLaunch: 1, loseKill: 1 } });
    await world.deployed({ id: 'job', requestType: 'ON_DEMAND' }, {}, { pendingType: 'ONEOFF' });
    await world.pass();
    await world.kill((await world.active())[0]!.taskId.id);
    world.cluster.faults = { loseKill: 1 };
    world.cluster.onLaunch(() => ({ portInUse: 31_000 }));
    await world.run(3);
    expect(await world.ends('job')).toEqual(['TASK_KILLED']);
    expect(await world.query('SELECT 1 FROM pending_task')).toEqual([]);
  });

  test('a refused task ends lost and is replaced; refused again and again, the request cools down', async () => {
    await start();
    world.cluster.onLaunch(() => ({ refuse: 'no' }));
    await world.deployed({ id: 'svc', requestType: 'SERVICE' });
    await world.run(8);
    expect(await world.ends('svc')).toEqual(Array.from({ length: 5 }, () => 'TASK_LOST'));
    expect(await world.query('SELECT state FROM request')).toEqual([{ state: 'SYSTEM_COOLDOWN' }]);
  });
});

describe('what tasks report', () => {
  test('a run that ends is history, with its statistics', async () => {
    await start();
    world.cluster.onLaunch(() => ({ runFor: 500, message: 'done' }));
    await world.deployed({ id: 'job', requestType: 'ON_DEMAND' }, {}, { pendingType: 'ONEOFF', runId: 'r1' });
    await world.run(2);
    expect(await world.active()).toEqual([]);
    const [row] = await world.query<{ data: { taskUpdates: { taskState: string; statusMessage?: string }[] } }>(
      `SELECT data FROM task_history WHERE run_id = 'r1' AND last_task_status = 'TASK_FINISHED'`,
    );
    expect(row!.data.taskUpdates.map(({ taskState }) => taskState)).toEqual([
      'TASK_LAUNCHED',
      'TASK_STARTING',
      'TASK_RUNNING',
      'TASK_FINISHED',
    ]);
    expect(row!.data.taskUpdates.at(-1)!.statusMessage).toBe('done');
    expect(await world.query('SELECT num_tasks, num_success, last_task_state FROM deploy_statistics')).toEqual([
      { num_tasks: 1, num_success: 1, last_task_state: 'TASK_FINISHED' },
    ]);
    expect(await world.query('SELECT 1 FROM task_update')).toEqual([]);
  });

  test('a dead task of a service is replaced under its number', async () => {
    await start();
    await world.deployed({ id: 'svc', requestType: 'SERVICE', instances: 2 });
    await world.run();
    const [first] = await world.active();
    world.cluster.finish(first!.taskId.id, 'TASK_FAILED', 'boom');
    await world.run(2);
    const after = (await world.active()).toSorted((a, b) => a.taskId.instanceNo - b.taskId.instanceNo);
    expect(after.map((task) => [task.taskId.instanceNo, task.state])).toEqual([
      [1, 'TASK_RUNNING'],
      [2, 'TASK_RUNNING'],
    ]);
    expect(after.some((task) => task.taskId.id === first!.taskId.id)).toBe(false);
    expect(await world.ends('svc')).toEqual(['TASK_FAILED']);
  });

  test('failing too fast delays the next start, and the cooldown ends when that has aged out', async () => {
    await start();
    world.cluster.onLaunch(() => ({ runFor: 10, exit: 'TASK_FAILED' }));
    await world.deployed({ id: 'svc', requestType: 'SERVICE' });
    await world.run(30);
    expect(await world.ends('svc')).toHaveLength(5);
    expect(await world.query('SELECT state FROM request')).toEqual([{ state: 'SYSTEM_COOLDOWN' }]);
    world.cluster.onLaunch(() => ({}));
    await world.run(100);
    expect(await states('svc')).toEqual(['TASK_RUNNING']);
    await world.enqueue({ requestId: 'svc' });
    await world.run();
    expect(await world.query('SELECT event_type FROM request_history ORDER BY created_at')).toEqual([
      { event_type: 'ENTERED_COOLDOWN' },
      { event_type: 'EXITED_COOLDOWN' },
    ]);
  });

  test('failed runs are tried again, two at once as well, each with its own arguments', async () => {
    await start();
    const seen: string[] = [];
    world.cluster.onLaunch((spec) => {
      seen.push(spec.command.arguments[0]!);
      return { runFor: 10, exit: 'TASK_FAILED' };
    });
    await world.deployed(
      { id: 'job', requestType: 'ON_DEMAND', numRetriesOnFailure: 2 },
      {},
      { pendingType: 'ONEOFF', runId: 'a', cmdLineArgsList: ['a'] },
    );
    await world.enqueue({ requestId: 'job', pendingType: 'ONEOFF', runId: 'b', cmdLineArgsList: ['b'] });
    await world.run(5);
    expect(seen.slice(0, 4).toSorted()).toEqual(['a', 'a', 'b', 'b']);
    expect(await world.query('SELECT 1 FROM pending_request')).toEqual([]);
  });

  test('webhooks hear of every state', async () => {
    await start();
    await world.query(
      `INSERT INTO webhook (id, uri, webhook_type, created_at) VALUES ('w', 'http://127.0.0.1:9/', 'TASK', now())`,
    );
    world.cluster.onLaunch(() => ({ runFor: 10 }));
    await world.deployed({ id: 'job', requestType: 'ON_DEMAND' }, {}, { pendingType: 'ONEOFF' });
    await world.run(2);
    const sent = await world.query<{ state: string }>(
      `SELECT listed->>'taskState' AS state FROM webhook_update ORDER BY id`,
    );
    expect(sent.map(({ state }) => state)).toEqual(['TASK_LAUNCHED', 'TASK_STARTING', 'TASK_RUNNING', 'TASK_FINISHED']);
  });
});

describe('runs and schedules', () => {
  test('a cron job runs at its second, and again', async () => {
    await start({ startAt: Date.parse('2026-01-05T12:00:30Z') });
    world.cluster.onLaunch(() => ({ runFor: 100 }));
    await world.deployed({
      id: 'cron',
      requestType: 'SCHEDULED',
      schedule: '* * * * *',
      quartzSchedule: '0 * * * * ?',
    });
    await world.run(29);
    expect(await world.ends('cron')).toEqual([]);
    await world.run(70);
    const runs = await world.query<{ started_at: Date }>('SELECT started_at FROM task_history ORDER BY started_at');
    expect(runs.map((run) => run.started_at.toISOString())).toEqual([
      '2026-01-05T12:01:00.000Z',
      '2026-01-05T12:02:00.000Z',
    ]);
    expect(await world.query('SELECT next_run_at FROM pending_task')).toEqual([
      { next_run_at: new Date('2026-01-05T12:03:00Z') },
    ]);
  });

  test('a schedule without further runs finishes the request', async () => {
    await start();
    await world.deployed({ id: 'cron', requestType: 'SCHEDULED', quartzSchedule: '0 0 0 1 1 ? 2020' });
    await world.pass();
    expect(await world.query('SELECT state FROM request')).toEqual([{ state: 'FINISHED' }]);
    expect(await world.query('SELECT event_type FROM request_history')).toEqual([{ event_type: 'FINISHED' }]);
  });

  test('runs on demand wait while as many as allowed are active', async () => {
    await start();
    world.cluster.onLaunch(() => ({ runFor: 1_500 }));
    await world.deployed(
      { id: 'job', requestType: 'ON_DEMAND', instances: 1 },
      {},
      { pendingType: 'ONEOFF', runId: 'a' },
    );
    await world.enqueue({ requestId: 'job', pendingType: 'ONEOFF', runId: 'b' });
    await world.run();
    expect((await world.active()).map((task) => task.runId)).toEqual(['a']);
    await world.run(2);
    expect((await world.active()).map((task) => task.runId)).toEqual(['b']);
  });

  test('a run that takes too long is told to go', async () => {
    await start();
    await world.deployed(
      { id: 'job', requestType: 'ON_DEMAND', taskExecutionTimeLimitMillis: 5_000 },
      {},
      { pendingType: 'ONEOFF' },
    );
    await world.run(5);
    await world.get(JobPoller).runOnce(world.now - 1);
    expect(await world.query('SELECT 1 FROM task_cleanup')).toEqual([]);
    await world.get(JobPoller).runOnce(world.now);
    expect(await world.query('SELECT cleanup_type FROM task_cleanup')).toEqual([
      { cleanup_type: 'TASK_EXCEEDED_TIME_LIMIT' },
    ]);
  });
});

describe('kills', () => {
  test('are sent until accepted; the end arrives as an update', async () => {
    await start({ faults: { loseKill: 1 } });
    await world.deployed({ id: 'job', requestType: 'ON_DEMAND' }, {}, { pendingType: 'ONEOFF' });
    await world.run();
    const [task] = await world.active();
    await world.kill(task!.taskId.id);
    await world.run(2);
    expect(await world.query('SELECT sent_at FROM killed_task')).toEqual([{ sent_at: null }]);
    world.cluster.faults = {};
    await world.run(2);
    expect(await world.ends('job')).toEqual(['TASK_KILLED']);
    expect(await world.query('SELECT 1 FROM killed_task')).toEqual([]);
  });

  test('a task that was never launched ends lost, and a late launch of it starts nothing', async () => {
    await start({ faults: { delayLaunch: 1, launchDelayMillis: 30_000 } });
    await world.deployed({ id: 'job', requestType: 'ON_DEMAND' }, {}, { pendingType: 'ONEOFF' });
    await world.pass();
    const [task] = await world.active();
    await world.kill(task!.taskId.id);
    world.cluster.faults = {};
    await world.run(3);
    expect(await world.ends('job')).toEqual(['TASK_LOST']);
    await world.run(40);
    expect(world.cluster.starts.size).toBe(0);
  });
});

describe('machines', () => {
  test('tasks of a machine that began anew are lost and replaced', async () => {
    await start({ machines: 2 });
    await world.deployed({ id: 'svc', requestType: 'SERVICE', instances: 4 });
    await world.run();
    world.cluster.reincarnate('slave-1');
    await world.run(2);
    expect(await states('svc')).toEqual(Array.from({ length: 4 }, () => 'TASK_RUNNING'));
    expect(await world.ends('svc')).toEqual(['TASK_LOST', 'TASK_LOST']);
    expect(world.cluster.runningTasks()).toHaveLength(4);
  });

  test('tasks of a machine that is gone run elsewhere', async () => {
    await start({ machines: 2 });
    await world.deployed({ id: 'svc', requestType: 'SERVICE', instances: 4 });
    await world.run();
    world.cluster.removeMachine('slave-1');
    await world.run(2);
    expect((await world.active('svc')).map((task) => task.slaveId)).toEqual(Array.from({ length: 4 }, () => 'slave-2'));
    expect(await world.query(`SELECT id, state FROM slave ORDER BY id`)).toEqual([
      { id: 'slave-1', state: 'DEAD' },
      { id: 'slave-2', state: 'ACTIVE' },
    ]);
  });

  test('tasks of a machine that cannot be reached are left alone', async () => {
    await start({ machines: 2 });
    await world.deployed({ id: 'svc', requestType: 'SERVICE', instances: 2 });
    await world.run();
    world.cluster.setReachable('slave-1', false);
    await world.run(30);
    expect(await states('svc')).toEqual(['TASK_RUNNING', 'TASK_RUNNING']);
    expect(world.cluster.starts.size).toBe(2);
  });
});

describe('reconciliation', () => {
  const compare = async () => {
    world.get(Reconciliation).request();
    await world.run(2);
  };

  test('a task that its machine does not have is lost and replaced', async () => {
    await start();
    await world.deployed({ id: 'svc', requestType: 'SERVICE' });
    await world.run();
    const [task] = await world.active();
    world.cluster.findAgent('slave-1')!.forget(task!.taskId.id);
    await compare();
    expect(await world.ends('svc')).toEqual(['TASK_LOST']);
    expect(await states('svc')).toEqual(['TASK_RUNNING']);
  });

  test('an unknown task is killed', async () => {
    await start();
    await world.deployed({ id: 'job', requestType: 'ON_DEMAND' }, {}, { pendingType: 'ONEOFF' });
    await world.run();
    await world.query('DELETE FROM task');
    await compare();
    expect(world.cluster.runningTasks()).toEqual([]);
  });

  test('an unanswered launch is never taken for lost', async () => {
    await start({ faults: { loseLaunch: 1 } });
    await world.deployed({ id: 'svc', requestType: 'SERVICE' });
    await world.run();
    await compare();
    expect(await states('svc')).toEqual(['TASK_LAUNCHED']);
  });
});
