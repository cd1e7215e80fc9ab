import { Logger } from '@nestjs/common';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { SchedulerWorld } from '../../../test/support/scheduler-world.js';
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
