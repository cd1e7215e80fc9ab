import { afterEach, describe, expect, test } from 'vitest';
import { SchedulerWorld } from '../../test/support/scheduler-world.js';

let world: SchedulerWorld;
const startAt = (time: string) =>
  SchedulerWorld.start({ startAt: Date.parse(time) }).then((started) => (world = started));
afterEach(() => world.close());

const runs = async () => {
  const found = await world.query<{ started_at: Date }>(
    'SELECT started_at FROM task_history UNION SELECT started_at FROM task ORDER BY started_at',
  );
  return found.map((run) => run.started_at.toISOString());
};
const planned = async () => {
  const found = await world.query<{ next_run_at: Date }>('SELECT next_run_at FROM pending_task ORDER BY next_run_at');
  return found.map((task) => task.next_run_at.toISOString());
};
const state = async () => (await world.query<{ state: string }>('SELECT state FROM request'))[0]?.state;

describe('runs by an RFC 5545 rule', () => {
  test('start at their seconds in the zone of the request, and the request finishes with the last one', async () => {
    await startAt('2026-01-05T11:59:50Z');
    world.cluster.onLaunch(() => ({ runFor: 100 }));
    await world.deployed({
      id: 'job',
      requestType: 'SCHEDULED',
      schedule: 'DTSTART=20260105T130000 RRULE:FREQ=SECONDLY;INTERVAL=20;COUNT=2',
      scheduleType: 'RFC5545',
      scheduleTimeZone: 'Europe/Paris',
    });
    await world.run(25);
    expect(await state()).toBe('ACTIVE');
    await world.run(10);
    expect(await runs()).toEqual(['2026-01-05T12:00:00.000Z', '2026-01-05T12:00:20.000Z']);
    expect(await state()).toBe('FINISHED');
    expect(await planned()).toEqual([]);
  });

  test('that never fires finishes its request and leaves the others to their work', async () => {
    await startAt('2026-01-05T12:00:00Z');
    await world.deployed({
      id: 'never',
      requestType: 'SCHEDULED',
      schedule: 'FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30',
      scheduleType: 'RFC5545',
    });
    await world.deployed({ id: 'svc', requestType: 'SERVICE' });
    await world.run();
    expect(await world.query('SELECT id, state FROM request ORDER BY id')).toEqual([
      { id: 'never', state: 'FINISHED' },
      { id: 'svc', state: 'ACTIVE' },
    ]);
    expect(await world.active('svc')).toHaveLength(1);
  });
});

describe('one run after the other', () => {
  test('a run that overruns skips the times it missed', async () => {
    await startAt('2026-01-05T12:00:00Z');
    world.cluster.onLaunch(() => ({ runFor: 25_000 }));
    await world.deployed({ id: 'job', requestType: 'SCHEDULED', quartzSchedule: '0/10 * * * * ?' });
    await world.run(75);
    expect(await runs()).toEqual(['2026-01-05T12:00:10.000Z', '2026-01-05T12:00:40.000Z', '2026-01-05T12:01:10.000Z']);
    // Those of 12:00:20, :30 and :50 and of 12:01:00; the third run goes on.
    expect(await world.query('SELECT skipped_runs FROM deploy_statistics')).toEqual([{ skipped_runs: 4 }]);
  });

  test('the next run is planned only when the present one has ended', async () => {
    await startAt('2026-01-05T12:00:05Z');
    world.cluster.onLaunch(() => ({ runFor: 8_000 }));
    await world.deployed({ id: 'job', requestType: 'SCHEDULED', quartzSchedule: '0/10 * * * * ?' });
    await world.run(2);
    expect(await planned()).toEqual(['2026-01-05T12:00:10.000Z']);
    await world.run(5);
    expect(await planned()).toEqual([]);
    expect(await world.active()).toHaveLength(1);
  });

  test('an immediate run takes the place of the planned one', async () => {
    await startAt('2026-01-05T12:00:05Z');
    world.cluster.onLaunch(() => ({ runFor: 60_000 }));
    await world.deployed({ id: 'job', requestType: 'SCHEDULED', quartzSchedule: '0 0 13 * * ?' });
    await world.run();
    expect(await planned()).toEqual(['2026-01-05T13:00:00.000Z']);
    await world.enqueue({ requestId: 'job', pendingType: 'IMMEDIATE', runId: 'now' });
    await world.run(2);
    expect((await world.active()).map(({ runId }) => runId)).toEqual(['now']);
    expect(await planned()).toEqual([]);
  });

  test('a deploy over a running job waits until that run has ended, and plans the next one', async () => {
    await startAt('2026-01-05T12:00:05Z');
    world.cluster.onLaunch(() => ({ runFor: 10_000 }));
    await world.deployed({ id: 'job', requestType: 'SCHEDULED', quartzSchedule: '0/10 * * * * ?' });
    await world.run(8);
    await world.enqueue({ requestId: 'job', pendingType: 'NEW_DEPLOY' });
    await world.run(2);
    expect(await world.query('SELECT pending_type FROM pending_request')).toEqual([{ pending_type: 'NEW_DEPLOY' }]);
    expect(await planned()).toEqual([]);
    await world.run(8);
    expect(await world.query('SELECT pending_type FROM pending_request')).toEqual([]);
    expect(await planned()).toEqual(['2026-01-05T12:00:30.000Z']);
  });
});
