import { afterEach, describe, expect, test, vi } from 'vitest';
import { MachineUnreachableError } from '../../cluster/cluster-driver.js';
import { SchedulerWorld, type WorldOptions } from '../../../test/support/scheduler-world.js';
import type { Request } from '../../core/model/request.js';
import type { TaskState } from '../../core/model/enums.js';
import { ScheduledTasks } from '../../modules/tasks/scheduled-tasks.service.js';
import { TasksModule } from '../../modules/tasks/tasks.module.js';
import { HistoryModule } from '../../modules/history/history.module.js';
import { HistoryPoller } from '../../modules/history/history-mover.service.js';
import { FollowUps } from '../../modules/flows/follow-ups.service.js';
import { Database } from '../../platform/database/database.js';
import { builtInUser } from '../../core/authorization/access-rules.js';
import { ExplainService } from '../explain/explain.service.js';
import { FlowOutputs } from './flow-outputs.poller.js';
import { FlowReleases } from './flow-releases.service.js';
import { FlowPoller } from './flow.poller.js';

let world: SchedulerWorld;
afterEach(() => world.close());

type Environment = Record<string, string>;
/** Environments of the tasks that have started, by request, in their order. */
let started: Map<string, Environment[]>;
/** Ends of the tries of a request one after the other, the last one again and again. TASK_FINISHED unless given. */
let ends: Record<string, TaskState[]>;
const start = async (options: WorldOptions = {}) => {
  started = new Map();
  ends = {};
  world = await SchedulerWorld.start(options);
  world.cluster.onLaunch(({ taskId, environment }) => {
    const requestId = taskId.split('-')[0]!;
    const tries = [...(started.get(requestId) ?? []), environment];
    started.set(requestId, tries);
    const exits = ends[requestId] ?? ['TASK_FINISHED'];
    return { runFor: 1_000, exit: exits[Math.min(tries.length, exits.length) - 1] as 'TASK_FINISHED' };
  });
};
const count = (requestId: string) => started.get(requestId)?.length ?? 0;
const counts = (...ids: string[]) => ids.map(count);
const job = (id: string, own: Partial<Request> = {}) => world.deployed({ id, requestType: 'ON_DEMAND', ...own });
const follows = (id: string, parents: Record<string, 'SUCCESS' | 'FAILURE' | 'END'>, own: Partial<Request> = {}) =>
  job(id, { after: Object.entries(parents).map(([requestId, on]) => ({ requestId, on })), ...own });
const run = (requestId: string, own = {}) =>
  world.enqueue({ requestId, pendingType: 'ONEOFF', runId: `${requestId} run`, trigger: 'RUN_NOW', ...own });
/** Runs of flows: request, state of the last task, parents by their requests. */
const flowRuns = () =>
  world.query<{ request_id: string; state: string | null; parents: number; flow_id: string }>(
    `SELECT request_id, state, cardinality(parent_runs) AS parents, flow_id FROM flow_run ORDER BY created_at, request_id`,
  );

describe('the end of a run', () => {
  test('makes runs of those that wait for such an end, in one flow whose id all have', async () => {
    await start();
    await job('a');
    await follows('good', { a: 'SUCCESS' });
    await follows('bad', { a: 'FAILURE' });
    await follows('last', { good: 'END' });
    await run('a');
    await world.run(8);
    expect(counts('a', 'good', 'bad', 'last')).toEqual([1, 1, 0, 1]);
    const [a, good, last] = ['a', 'good', 'last'].map((id) => started.get(id)![0]!);
    expect(new Set([a, good, last].map((environment) => environment!['TASK_FLOW_ID']))).toEqual(
      new Set([expect.stringMatching(/^[0-9a-f-]{36}$/)]),
    );
    expect([good!['TASK_TRIGGER'], good!['TASK_PARENT_RUNS'], last!['TASK_PARENT_RUNS']]).toEqual([
      'AFTER',
      a!['TASK_ID'],
      good!['TASK_ID'],
    ]);
  });

  test('that fails is followed when its last try has failed, by those that wait for that', async () => {
    await start();
    ends = { a: ['TASK_FAILED'] };
    await job('a', { numRetriesOnFailure: 1 });
    await follows('good', { a: 'SUCCESS' });
    await follows('bad', { a: 'FAILURE' });
    await run('a');
    await world.run(8);
    expect(counts('a', 'good', 'bad')).toEqual([2, 0, 1]);
    expect(started.get('bad')![0]!['TASK_PARENT_RUNS']).toBe(started.get('a')![1]!['TASK_ID']);
  });

  test('by the next run of its schedule is followed by those that wait for any end', async () => {
    await start();
    await job('a', { requestType: 'SCHEDULED', quartzSchedule: '0/10 * * * * ?', overlapPolicy: 'REPLACE' });
    await follows('good', { a: 'SUCCESS' });
    await follows('bad', { a: 'FAILURE' });
    await follows('any', { a: 'END' });
    world.cluster.onLaunch(({ taskId, environment }) => {
      const requestId = taskId.split('-')[0]!;
      started.set(requestId, [...(started.get(requestId) ?? []), environment]);
      return { runFor: requestId === 'a' ? 60_000 : 500 };
    });
    for (let second = 0; second < 40 && count('any') < 2; second++) {
      await world.killCleaned();
      await world.run(1);
    }
    expect(counts('good', 'bad', 'any')).toEqual([0, 0, 2]);
    // Each time begins a flow of its own, whose id it has.
    const flowIds = (id: string) => started.get(id)!.map(({ TASK_FLOW_ID }) => TASK_FLOW_ID);
    expect(flowIds('any')).toEqual(flowIds('a').slice(0, 2));
    expect(new Set(flowIds('a')).size).toBe(count('a'));
  });

  test('that succeeds at the second try is followed once', async () => {
    await start();
    ends = { a: ['TASK_FAILED', 'TASK_FINISHED'] };
    await job('a', { numRetriesOnFailure: 1 });
    await follows('good', { a: 'SUCCESS' });
    await follows('bad', { a: 'FAILURE' });
    await run('a');
    await world.run(8);
    expect(counts('a', 'good', 'bad')).toEqual([2, 1, 0]);
  });

  test('of a run that is to run alone is followed by none, and begins no flow', async () => {
    await start();
    await job('a');
    await follows('b', { a: 'END' });
    await run('a', { triggersFollowers: false });
    await world.run(6);
    expect([counts('a', 'b'), await flowRuns()]).toEqual([[1, 0], []]);
    expect(started.get('a')![0]).not.toHaveProperty('TASK_FLOW_ID');
  });

  test('of a request that nobody follows leaves nothing behind', async () => {
    await start();
    await job('a');
    await run('a');
    await world.run(4);
    expect([count('a'), await flowRuns(), await world.query('SELECT 1 FROM flow')]).toEqual([1, [], []]);
    expect(started.get('a')![0]).not.toHaveProperty('TASK_FLOW_ID');
  });

  test('of a job with a schedule is followed each time', async () => {
    await start({ startAt: Date.parse('2026-01-05T12:00:30Z') });
    await world.deployed({ id: 'cron', requestType: 'SCHEDULED', quartzSchedule: '0 * * * * ?' });
    await follows('b', { cron: 'SUCCESS' });
    await world.run(95);
    expect(counts('cron', 'b')).toEqual([2, 2]);
    expect(new Set((await flowRuns()).map((row) => row.flow_id)).size).toBe(2);
  });

  test('passes its arguments on to one that takes them', async () => {
    await start();
    await job('a');
    await follows('takes', { a: 'END' }, { argsFrom: 'PARENT' });
    await follows('leaves', { a: 'END' });
    await run('a', { cmdLineArgsList: ['--day', '1'] });
    await world.run(3);
    const asked = await world.query(
      `SELECT request_id AS id, asked->'cmdLineArgsList' AS args FROM flow_run ORDER BY 1`,
    );
    expect(asked).toEqual([
      { id: 'a', args: ['--day', '1'] },
      { id: 'leaves', args: null },
      { id: 'takes', args: ['--day', '1'] },
    ]);
  });
});

describe('what a run tells its followers', () => {
  const tell = (files: Record<string, string>) => {
    world.driver.sandbox = (() =>
      Promise.resolve({
        root: '/',
        read: (path: string) =>
          Promise.resolve(files[path] === undefined ? undefined : { data: Buffer.from(files[path]), size: 0 }),
      })) as never;
  };
  const told = async (files: Record<string, string>) => {
    await start();
    await job('a');
    await follows('b', { a: 'SUCCESS' });
    tell(files);
    await run('a');
    await world.run(6);
    return Object.fromEntries(
      Object.entries(started.get('b')![0]!).filter(([name]) => name.startsWith('TASK_PARENT_')),
    );
  };
  test('is in their variables', async () =>
    expect(await told({ 'outputs.json': '{"rows":"12"}' })).toMatchObject({ TASK_PARENT_ROWS: '12' }));
  test('is found in the working directory of an executor task as well', async () =>
    expect(await told({ 'app/outputs.json': '{"rows":"12"}' })).toMatchObject({ TASK_PARENT_ROWS: '12' }));
  test('is nothing where it cannot be read, and the reason is kept', async () => {
    expect(Object.keys(await told({ 'outputs.json': '{"rows":12}' }))).toEqual(['TASK_PARENT_RUNS']);
    expect(await world.query(`SELECT outputs_problem AS why FROM flow_run WHERE request_id = 'a'`)).toEqual([
      { why: 'outputs.json has a member that is no text: rows' },
    ]);
  });
  test('is waited for while its machine is away, but not for long', async () => {
    await start({ machines: 2 });
    await job('a');
    await follows('b', { a: 'SUCCESS' });
    const away = world.driver.sandbox;
    world.driver.sandbox = (_taskId, slaveId) => Promise.reject(new MachineUnreachableError(slaveId));
    await run('a');
    await world.run(20);
    expect(counts('a', 'b')).toEqual([1, 0]);
    await world.run(60);
    expect(count('b')).toBe(1);
    world.driver.sandbox = away;
  });
  test('of a machine that is away is asked for again after ten seconds', async () => {
    await start();
    await job('a');
    await follows('b', { a: 'SUCCESS' });
    const asked: number[] = [];
    world.driver.sandbox = (_taskId, slaveId) => {
      asked.push(world.now);
      return Promise.reject(new MachineUnreachableError(slaveId));
    };
    await run('a');
    await world.run(40);
    expect(asked.length).toBeGreaterThan(1);
    const pauses = asked.slice(1).map((at, index) => at - asked[index]!);
    expect(pauses.filter((millis) => millis < 10_000)).toEqual([]);
  });
  test('is stored together, on however many machines they ran', async () => {
    const machines = 12;
    await start({ machines });
    const ids = Array.from({ length: machines }, (_, index) => `a${index}`);
    for (const id of ids) {
      await job(id);
      await follows(`b${id}`, { [id]: 'SUCCESS' });
      await run(id);
    }
    const outputs = world.get(FlowOutputs);
    const none = vi.spyOn(outputs, 'runOnce').mockResolvedValue();
    await world.run(3);
    none.mockRestore();
    expect(await world.query('SELECT DISTINCT slave_id FROM task_history')).not.toHaveLength(1);
    const transactions = vi.spyOn(world.get(Database), 'leaderTransaction');
    await outputs.runOnce(world.now);
    expect(transactions).toHaveBeenCalledTimes(1);
    transactions.mockRestore();
    await world.run(3);
    expect(counts(...ids.map((id) => `b${id}`))).toEqual(ids.map(() => 1));
  });
  test('of one that cannot be read holds up no other of its machine', async () => {
    await start();
    for (const id of ['a', 'c']) await job(id);
    await follows('b', { a: 'SUCCESS' });
    await follows('d', { c: 'SUCCESS' });
    const there = world.driver.sandbox.bind(world.driver);
    world.driver.sandbox = (taskId, ...more) =>
      taskId.startsWith('a-') ? Promise.reject(new Error('a broken file')) : there(taskId, ...more);
    await run('a');
    await world.run(4);
    await run('c');
    await world.run(6);
    expect(counts('a', 'b', 'c', 'd')).toEqual([1, 0, 1, 1]);
  });
});

describe('a follower of several', () => {
  test('runs once for all of them, also when they end in one batch', async () => {
    await start({ machines: 3 });
    await job('a');
    for (const id of ['b1', 'b2', 'b3']) await follows(id, { a: 'SUCCESS' });
    await follows('all', { b1: 'SUCCESS', b2: 'SUCCESS', b3: 'END' });
    await follows('any', { b1: 'END', b2: 'END', b3: 'END' }, { afterMode: 'ANY' });
    await run('a');
    await world.run(10);
    expect(counts('a', 'b1', 'b2', 'b3', 'all', 'any')).toEqual([1, 1, 1, 1, 1, 3]);
    expect(started.get('all')![0]!['TASK_PARENT_RUNS']).toBe(
      ['b1', 'b2', 'b3'].map((id) => started.get(id)![0]!['TASK_ID']).join(' '),
    );
  });

  test('counts each flow for itself', async () => {
    await start({ machines: 3 });
    await job('a');
    await follows('b', { a: 'SUCCESS' });
    await follows('c', { a: 'SUCCESS' });
    await follows('all', { b: 'SUCCESS', c: 'SUCCESS' });
    await run('a', { runId: '1' });
    await run('a', { runId: '2' });
    await world.run(10);
    expect(counts('a', 'b', 'c', 'all')).toEqual([2, 2, 2, 2]);
  });

  test('two transactions that store the ends of its parents at one time make its run once', async () => {
    await start();
    for (const id of ['a', 'b']) await job(id);
    await follows('all', { a: 'SUCCESS', b: 'SUCCESS' });
    const followUps = world.get(FollowUps);
    const endOf = (requestId: string) => ({
      taskId: { id: `${requestId}-task`, requestId },
      state: 'TASK_FINISHED' as const,
      endedAt: world.now,
      pendingTask: { flowId: 'f', runId: requestId } as never,
    });
    // Each is written before the other one is committed.
    let both = 0;
    let release = () => undefined as void;
    const written = new Promise<void>((resolve) => (release = resolve));
    const store = (requestId: string) =>
      world.db.transaction(async (tx) => {
        const done = followUps.after(tx, [endOf(requestId)], world.now);
        if ((both += 1) === 2) release();
        await written;
        await done;
      });
    await Promise.all([store('a'), store('b')]);
    const made = await world.query(`SELECT 1 FROM flow_run WHERE request_id = 'all'`);
    expect(made).toHaveLength(1);
  });
});

describe('a run that follows', () => {
  test('waits for a request that is paused, and comes when it goes on', async () => {
    await start();
    await job('a');
    await follows('b', { a: 'SUCCESS' });
    await world.changeRequest('b', {}, 'PAUSED');
    await run('a', { runId: '1' });
    await run('a', { runId: '2' });
    await world.run(6);
    expect(counts('a', 'b')).toEqual([2, 0]);
    const explained = () => world.get(ExplainService).request('b', builtInUser);
    expect(await explained()).toMatchObject({ state: 'PAUSED', waitingFlowRuns: 2 });
    await world.changeRequest('b', {}, 'ACTIVE');
    await world.run(4);
    expect(count('b')).toBe(2);
    expect(await explained()).not.toHaveProperty('waitingFlowRuns');
    await world.query(`DELETE FROM request WHERE id = 'a'`);
    expect((await explained()).message).toBe("It follows 'a', which was removed: no run of it comes");
  });

  test('waits without a transaction of its own while the queue of its request is full', async () => {
    await start({ settings: { maxPendingRunsPerRequest: 1 } });
    await job('a');
    await follows('b', { a: 'SUCCESS' });
    await world.query(`UPDATE slave SET state = 'FROZEN'`);
    await world.query(
      `INSERT INTO flow (id, request_id, started_at, changed_at, runs) VALUES ('f', 'a', now(), now(), 1)`,
    );
    await world.query(`INSERT INTO flow_run (flow_id, request_id, run_id, cause, trigger, parent_runs, asked, created_at)
      SELECT 'f', 'b', 'r' || n, 'a-task' || n, 'AFTER', '{a-task}', '{}', now() FROM generate_series(1, 3) n`);
    await world.run(2);
    expect(await world.query('SELECT run_id FROM pending_task')).toEqual([{ run_id: 'r1' }]);
    const transactions = vi.spyOn(world.get(Database), 'leaderTransaction');
    expect(await world.get(FlowReleases).runOnce(world.now)).toBe(false);
    expect(transactions).not.toHaveBeenCalled();
    transactions.mockRestore();
    await world.query(`UPDATE slave SET state = 'ACTIVE'`);
    await world.run(10);
    expect(count('b')).toBe(3);
  });

  /** Runs that wait for `b` and `c`. */
  const waiting = (...runs: [requestId: string, runId: string][]) =>
    world.query(
      `INSERT INTO flow_run (flow_id, request_id, run_id, cause, trigger, parent_runs, asked, created_at)
       SELECT 'f', id, run_id, 'a-task ' || run_id, 'AFTER', '{a-task}', '{}', now() FROM unnest($1::text[], $2::text[]) AS r (id, run_id)`,
      [runs.map(([id]) => id), runs.map(([, runId]) => runId)],
    );

  test('goes into its queue together with those of other requests', async () => {
    await start();
    const ids = Array.from({ length: 12 }, (_, index) => `b${index}`);
    for (const id of ids) await job(id);
    await waiting(...ids.flatMap((id): [string, string][] => [`${id} 1`, `${id} 2`].map((runId) => [id, runId])));
    const transactions = vi.spyOn(world.get(Database), 'leaderTransaction');
    expect(await world.get(FlowReleases).runOnce(world.now)).toBe(false);
    expect(transactions).toHaveBeenCalledTimes(1);
    transactions.mockRestore();
    await world.run(3);
    expect(counts(...ids)).toEqual(ids.map(() => 2));
  });

  test('that is one of very many waits for the next look, which is asked for, with the youngest', async () => {
    await start({ settings: { maxPendingRunsPerRequest: 1_000 } });
    await job('b');
    await world.query(`INSERT INTO flow_run (flow_id, request_id, run_id, cause, trigger, parent_runs, asked, created_at)
      SELECT 'f', 'b', 'r' || n, 'a-task' || n, 'AFTER', '{a-task}', '{}', now() + n * interval '1 s' FROM generate_series(1, 502) n`);
    const waits = () => world.query('SELECT run_id FROM flow_run WHERE queued_at IS NULL ORDER BY created_at');
    expect(await world.get(FlowReleases).runOnce(world.now)).toBe(true);
    expect(await waits()).toEqual([{ run_id: 'r501' }, { run_id: 'r502' }]);
    expect(await world.get(FlowReleases).runOnce(world.now)).toBe(false);
    expect(await waits()).toEqual([]);
  });

  test('whose request another transaction holds holds up no other', async () => {
    await start();
    await job('b');
    await job('c');
    await waiting(['b', '1'], ['c', '2']);
    await world.db.transaction(async (tx) => {
      await tx.query(`SELECT 1 FROM request WHERE id = 'b' FOR NO KEY UPDATE`);
      expect(await world.scheduler.runOnce(world.now)).toBeLessThanOrEqual(world.now + 100);
    });
    await world.run(1);
    expect(count('c')).toBe(1);
    await world.run(2);
    expect(counts('b', 'c')).toEqual([1, 1]);
  });

  test('that cannot go into its queue holds up no other', async () => {
    await start();
    await job('b');
    await job('c');
    await waiting(['b', '1'], ['c', '2']);
    await world.query(`ALTER TABLE pending_request ADD CONSTRAINT broken CHECK (run_id <> '1')`);
    await world.run(2);
    expect(counts('b', 'c')).toEqual([0, 1]);
    await world.query('ALTER TABLE pending_request DROP CONSTRAINT broken');
    await world.run(2);
    expect(counts('b', 'c')).toEqual([1, 1]);
  });

  test('that a pause took out of the queue comes when the request goes on', async () => {
    await start();
    await job('a');
    await follows('b', { a: 'SUCCESS' });
    await world.query(`UPDATE slave SET state = 'FROZEN'`);
    await world.query(
      `INSERT INTO flow (id, request_id, started_at, changed_at, runs) VALUES ('f', 'a', now(), now(), 1)`,
    );
    await world.query(`INSERT INTO flow_run (flow_id, request_id, run_id, cause, trigger, parent_runs, asked, created_at)
      VALUES ('f', 'b', 'r', 'a-task', 'AFTER', '{a-task}', '{}', now())`);
    await world.run(2);
    expect(await world.query('SELECT run_id FROM pending_task')).toEqual([{ run_id: 'r' }]);
    await world.query('DELETE FROM pending_task');
    await world.query(`UPDATE slave SET state = 'ACTIVE'`);
    await world.get(FlowPoller).runOnce(world.now);
    await world.run(4);
    expect(count('b')).toBe(1);
    await world.get(FlowPoller).runOnce(world.now);
    await world.run(2);
    expect(count('b')).toBe(1);
  });

  test('that a caller takes back does not come, and nothing follows it', async () => {
    await start({ modules: [TasksModule] });
    await job('a');
    await follows('b', { a: 'SUCCESS' });
    await follows('c', { b: 'END' });
    await run('a');
    await world.run(2);
    await world.query(`UPDATE slave SET state = 'FROZEN'`);
    await world.pass();
    const [waiting] = await world.query<{ id: string }>(`SELECT id FROM pending_task WHERE request_id = 'b'`);
    await world.get(ScheduledTasks).remove(waiting!.id);
    await world.query(`UPDATE slave SET state = 'ACTIVE'`);
    await world.run(2);
    await world.get(FlowPoller).runOnce(world.now);
    await world.run(4);
    expect(counts('a', 'b', 'c')).toEqual([1, 0, 0]);
  });

  test('whose retry was dropped has ended as its last try did', async () => {
    await start({ modules: [HistoryModule] });
    ends = { b: ['TASK_FAILED'] };
    await job('a');
    await follows('b', { a: 'SUCCESS' }, { numRetriesOnFailure: 5 });
    await follows('c', { b: 'FAILURE' });
    await run('a');
    for (let second = 0; second < 12 && count('b') === 0; second++) await world.run(1);
    await world.changeRequest('b', {}, 'PAUSED');
    await world.run(4);
    await world.query('DELETE FROM pending_request');
    await world.query('DELETE FROM pending_task');
    await world.get(HistoryPoller).runOnce();
    await world.get(FlowPoller).runOnce(world.now);
    await world.run(4);
    expect(counts('b', 'c')).toEqual([1, 1]);
  });

  test('is given up with its request', async () => {
    await start();
    await job('a');
    await follows('b', { a: 'SUCCESS' });
    await world.changeRequest('b', {}, 'PAUSED');
    await run('a');
    await world.run(4);
    await world.query(`DELETE FROM request WHERE id = 'b'`);
    await world.run(1);
    expect(await world.query('SELECT 1 FROM flow_run WHERE ended_at IS NULL')).toEqual([]);
    expect(await world.query('SELECT 1 FROM flow_edge')).toEqual([]);
  });
});

test('flows in which nothing goes on are forgotten when they are old', async () => {
  await start({ settings: { flowRetentionDays: 1 } });
  await job('a');
  await follows('b', { a: 'SUCCESS' });
  await run('a', { runId: '1' });
  await world.run(6);
  await world.changeRequest('b', {}, 'PAUSED');
  await run('a', { runId: '2' });
  await world.run(6);
  await world.get(FlowPoller).runOnce(world.now + 2 * 86_400_000);
  expect((await flowRuns()).map((row) => row.request_id)).toEqual(['a', 'b']);
  expect(await world.query('SELECT runs FROM flow')).toEqual([{ runs: 2 }]);
});
