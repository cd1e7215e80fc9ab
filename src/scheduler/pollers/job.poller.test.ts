import { Logger } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { SchedulerWorld } from '../../../test/support/scheduler-world.js';
import { lockAwaited } from '../../../test/support/lock-waits.js';
import { Clock } from '../../platform/clock.js';
import { JobPoller } from './job.poller.js';

const day = 86_400_000;
let world: SchedulerWorld;
let warnings: string[];

beforeEach(async () => {
  warnings = [];
  vi.spyOn(Logger.prototype, 'warn').mockImplementation((message: string) => warnings.push(message));
  world = await SchedulerWorld.start();
});
afterEach(async () => {
  vi.restoreAllMocks();
  await world.close();
});

const overdue = () => warnings.filter((warning) => warning.includes('is overdue'));
const marks = () => world.query('SELECT overdue_alert_at FROM task');

/** A run of a job that fires every hour, and the time at which it started. */
async function startJob(own: Record<string, unknown> = {}): Promise<number> {
  await world.deployed(
    { id: 'job', requestType: 'SCHEDULED', quartzSchedule: '0 0 * * * ?', ...own },
    {},
    { pendingType: 'IMMEDIATE' },
  );
  await world.run();
  return (await world.active())[0]!.taskId.startedAt;
}

test('of a scheduled run that takes twice as long as expected it is told once, whichever instance leads', async () => {
  const startedAt = await startJob();
  await world.get(JobPoller).runOnce(startedAt + day - 1);
  expect(overdue()).toEqual([]);
  await world.get(JobPoller).runOnce(startedAt + day);
  expect(overdue()).toEqual([expect.stringContaining(`it has run for ${day} ms`)]);
  expect(await marks()).toEqual([{ overdue_alert_at: new Date(startedAt + day) }]);
  await world.get(JobPoller).runOnce(startedAt + 2 * day);
  await world.takeOver();
  await world.get(JobPoller).runOnce(startedAt + 3 * day);
  expect(overdue()).toHaveLength(1);
  expect(await world.query('SELECT 1 FROM task_cleanup')).toEqual([]);
});

test('what its deploy takes on average is what is expected', async () => {
  const startedAt = await startJob();
  await world.query(
    `INSERT INTO deploy_statistics (request_id, deploy_id, average_runtime_millis, runtime_samples) VALUES ('job', 'd1', $1, 1)`,
    [day],
  );
  await world.get(JobPoller).runOnce(startedAt + 2 * day);
  expect(overdue()).toEqual([]);
  await world.get(JobPoller).runOnce(startedAt + 3 * day);
  expect(overdue()).toEqual([expect.stringContaining(`about ${day} ms were expected`)]);
});

test('a run beyond its time limit is told to go, with both durations and an action of its own', async () => {
  const startedAt = await startJob({ taskExecutionTimeLimitMillis: 5_000 });
  await world.get(JobPoller).runOnce(startedAt + 4_999);
  expect(await world.query('SELECT 1 FROM task_cleanup')).toEqual([]);
  await world.get(JobPoller).runOnce(startedAt + 5_001);
  const [cleanup] = await world.query('SELECT cleanup_type, message, action_id FROM task_cleanup');
  expect(cleanup).toEqual({
    cleanup_type: 'TASK_EXCEEDED_TIME_LIMIT',
    message: 'Ran for 5001 ms, more than the 5000 ms allowed',
    action_id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
  });
});

describe('each run is looked at when its time has come, with the time between two looks at all as it is by default', () => {
  const poller = () => world.get(JobPoller);
  const cleanups = () => world.query('SELECT task_id FROM task_cleanup');

  test('its limit', async () => {
    const startedAt = await startJob({ taskExecutionTimeLimitMillis: 5_000 });
    expect(await poller().runDue(startedAt)).toBe(startedAt + 5_000);
    expect(await poller().runDue(startedAt + 4_999)).toBe(startedAt + 5_000);
    expect(await cleanups()).toEqual([]);
    expect(await poller().runDue(startedAt + 5_000)).toBeUndefined();
    expect(await cleanups()).toHaveLength(1);
  });

  test('its limit, from when the clock was set back that was ahead at its start', async () => {
    world.get(Clock).now = () => world.now + 600_000;
    const startedAt = await startJob({ taskExecutionTimeLimitMillis: 5_000 });
    const setBackAt = world.now;
    expect(startedAt).toBeGreaterThan(setBackAt + 500_000);
    await world.crash();
    await world.pass();
    expect(await poller().runDue(setBackAt)).toBe(setBackAt + 5_000);
    expect(await poller().runDue(setBackAt + 5_000)).toBeUndefined();
    expect(await cleanups()).toHaveLength(1);
  });

  test('a limit that is changed while it runs, and one that another leader finds', async () => {
    const startedAt = await startJob({ taskExecutionTimeLimitMillis: 600_000 });
    await world.changeRequest('job', { taskExecutionTimeLimitMillis: 4_000 });
    await world.pass();
    expect(await poller().runDue(startedAt)).toBe(startedAt + 4_000);
    await world.takeOver();
    await world.pass();
    expect(await poller().runDue(startedAt + 4_000)).toBeUndefined();
    expect(await cleanups()).toHaveLength(1);
  });

  describe('between the look and the order to go', () => {
    /** A look at all runs that has read the limit when `change` is committed, and has not written its order yet. */
    async function lookBefore(at: number, change: string): Promise<void> {
      let look: Promise<unknown> | undefined;
      let isOver = false;
      await world.db.transaction(async (tx) => {
        await tx.query('SELECT FROM request FOR UPDATE');
        look = poller()
          .runDue(at)
          .finally(() => (isOver = true));
        await lockAwaited(world, () => isOver);
        await tx.query(change);
      });
      await look;
    }
    const raise = (millis: number) =>
      `UPDATE request SET version = version + 1, document = document || '{"taskExecutionTimeLimitMillis": ${millis}}'`;

    test('its limit is raised: it goes on until the new one', async () => {
      const startedAt = await startJob({ taskExecutionTimeLimitMillis: 5_000 });
      await lookBefore(startedAt + 5_000, raise(60_000));
      expect(await cleanups()).toEqual([]);
      expect(await poller().runDue(startedAt + 59_999)).toBe(startedAt + 60_000);
      expect(await poller().runDue(startedAt + 60_000)).toBeUndefined();
      expect(await cleanups()).toHaveLength(1);
    });

    test('its limit is raised, not far enough: the order names the new one', async () => {
      const startedAt = await startJob({ taskExecutionTimeLimitMillis: 5_000 });
      await lookBefore(startedAt + 8_000, raise(6_000));
      expect(await world.query('SELECT message FROM task_cleanup')).toEqual([
        { message: 'Ran for 8000 ms, more than the 6000 ms allowed' },
      ]);
    });

    test('it ends: nothing is ordered', async () => {
      const startedAt = await startJob({ taskExecutionTimeLimitMillis: 5_000 });
      await lookBefore(startedAt + 5_000, `UPDATE task SET ended_at = now(), state = 'TASK_FINISHED'`);
      expect(await cleanups()).toEqual([]);
      expect(await poller().runDue(startedAt + day)).toBeUndefined();
    });
  });

  test('being overdue, once, and then its limit', async () => {
    const own = { scheduledExpectedRuntimeMillis: day, taskExecutionTimeLimitMillis: 10 * day };
    const startedAt = await startJob(own);
    const percent = 200 + 1;
    const overdueAt = startedAt + Math.ceil((day * percent) / 100);
    expect(await poller().runDue(startedAt + day)).toBe(overdueAt);
    expect(overdue()).toEqual([]);
    expect(await poller().runDue(overdueAt)).toBe(startedAt + 10 * day);
    expect(overdue()).toHaveLength(1);
    await poller().runDue(startedAt + 10 * day);
    expect([overdue().length, (await cleanups()).length]).toEqual([1, 1]);
  });

  test('of what ended, is told to go or has no limit there is nothing to look at', async () => {
    await startJob({ taskExecutionTimeLimitMillis: 5_000 });
    const [task] = await world.active();
    world.cluster.finish(task!.taskId.id, 'TASK_FINISHED');
    await world.run();
    await world.deployed({ id: 'web', requestType: 'SERVICE' });
    await world.deployed({ id: 'once', requestType: 'RUN_ONCE' });
    await world.run();
    expect(await poller().runDue(0)).toBeUndefined();
  });
});
