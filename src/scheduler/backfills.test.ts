import { afterEach, beforeEach, expect, test } from 'vitest';
import { ann, Life } from '../../test/support/life.js';
import { toldEvents } from '../../test/support/told-events.js';
import { BackfillsPoller } from '../modules/requests/backfills/backfills.poller.js';
import { Backfills } from '../modules/requests/backfills/backfills.service.js';
import { Runs } from '../modules/requests/actions/runs.service.js';
import { Pauses } from '../modules/requests/actions/pauses.service.js';

const hour = 3_600_000;
let life: Life;
/** Planned times of launches of the backfill, in their order. */
let launched: number[];
/** The most of them that ran at once. */
let most: number;
beforeEach(async () => {
  life = await Life.begin();
  [launched, most] = [[], 0];
  life.world.cluster.onLaunch(({ environment: { TASK_TRIGGER, TASK_SCHEDULED_AT = '' } }) => {
    if (TASK_TRIGGER === 'BACKFILL') launched.push(Date.parse(TASK_SCHEDULED_AT));
    return { runFor: 1_500 };
  });
  await life.save('job', { requestType: 'SCHEDULED', schedule: '0 * * * *' });
  await life.deploy('job', 'd1');
  await life.run(2);
});
afterEach(() => life.close());

const backfills = () => life.get(Backfills);
/** The planned hours before now, the newest last. */
const hours = (count: number): number[] => {
  const last = Math.floor((life.world.now - 1) / hour) * hour;
  return Array.from({ length: count }, (_, index) => last - (count - 1 - index) * hour);
};
const ask = (count: number, more: object = {}) => {
  const times = hours(count);
  return backfills().create('job', { from: times[0]!, to: times.at(-1)! + 1, ...more }, ann);
};
const watch = async () => {
  const running = (await life.world.active('job')).filter(({ pendingType }) => pendingType === 'BACKFILL').length;
  most = Math.max(most, running);
};
/** Ids of the runs that the schedule has planned. */
const planned = () => life.world.query(`SELECT id FROM pending_task WHERE pending_type <> 'BACKFILL'`);

test('each planned time of the past runs once, so many at a time, and the schedule is left alone', async () => {
  const times = hours(6);
  const before = await planned();
  expect(before).toHaveLength(1);
  const { id } = await ask(6, { concurrency: 2, message: 'again' });
  await life.run(12, 1_000, watch);
  expect(launched).toEqual(times);
  expect(most).toBe(2);
  expect(await planned()).toEqual(before);
  const found = await backfills().find('job', id);
  expect(found).toMatchObject({ skipped: 0, waiting: 0, queued: 0, succeeded: 6, failed: 0, message: 'again' });
  expect(found.endedAt).toBeDefined();
  expect(found.times?.map(({ scheduledAt, state }) => [scheduledAt, state])).toEqual(
    times.map((at) => [at, 'SUCCEEDED']),
  );
  await expect(ask(6)).rejects.toMatchObject({
    code: 'INVALID_REQUEST',
    errors: [{ field: 'force', rule: 'repeated' }],
  });
  expect(await ask(7, { order: 'NEWEST_FIRST' })).toMatchObject({ skipped: 6, queued: 1, waiting: 0 });
});

test('no time runs twice or never, whatever leader dies', async () => {
  const times = hours(8);
  await ask(8, { concurrency: 3, order: 'NEWEST_FIRST' });
  for (let round = 0; round < 8; round++) {
    await life.run(2, 500, watch);
    await life.world.crash();
  }
  await life.run(8);
  expect(launched.toSorted((a, b) => a - b)).toEqual(times);
  expect(launched[0]).toBe(times.at(-1));
  expect(most).toBeLessThanOrEqual(3);
});

test('a run that fails is tried again as the request says, and then the next one has its turn', async () => {
  life.world.cluster.onLaunch(({ environment: { TASK_SCHEDULED_AT = '', TASK_ATTEMPT } }) => {
    launched.push(Date.parse(TASK_SCHEDULED_AT));
    return { runFor: 500, exit: TASK_ATTEMPT === '1' ? 'TASK_FAILED' : 'TASK_FINISHED' };
  });
  await life.save('job', { requestType: 'SCHEDULED', schedule: '0 * * * *', numRetriesOnFailure: 1 });
  const [first, second] = hours(2);
  const { id } = await ask(2);
  await life.run(15);
  expect(launched).toEqual([first, first, second, second]);
  expect(await backfills().find('job', id)).toMatchObject({ succeeded: 2, failed: 0 });
});

/** What is told of waiting tasks from now on, by the next call. */
async function listen(): Promise<() => Promise<unknown[]>> {
  const told = async () => toldEvents(life.world, 'PENDING');
  const before = (await told()).length;
  return async () =>
    (await told())
      .slice(before)
      .map(({ requestId, deployId, eventType, tasks }) => [requestId, deployId, eventType, tasks]);
}

test('times that wait are told of when their backfill is canceled, once', async () => {
  const { id } = await ask(5, { concurrency: 2 });
  await life.run(1);
  const told = await listen();
  await backfills().cancel('job', id);
  await backfills().cancel('job', id);
  expect(await told()).toEqual([['job', 'd1', 'REMOVED', 3]]);
});

test('runs that no leader has seen yet are told of, too, when their backfill is canceled', async () => {
  const { id } = await ask(5, { concurrency: 2 });
  const told = await listen();
  await backfills().cancel('job', id);
  expect(await told()).toEqual([
    ['job', 'd1', 'REMOVED', 3],
    ['job', 'd1', 'REMOVED', 2],
  ]);
  expect(await backfills().find('job', id)).toMatchObject({ canceled: 5, queued: 0 });
});

test('a plan counts the runs, and changes nothing', async () => {
  const [first, second, third] = hours(3);
  const plan = (more: object = {}) => backfills().plan('job', { from: first!, to: third! + 1, ...more });
  expect(await plan()).toEqual({ runs: 3, skipped: 0, first, last: third });
  expect(await backfills().list('job')).toEqual([]);
  await backfills().create('job', { from: first!, to: second! }, ann);
  expect(await plan()).toEqual({ runs: 2, skipped: 1, first: second, last: third });
  expect(await plan({ to: second! })).toEqual({ runs: 0, skipped: 1 });
  expect(await plan({ to: second!, force: true })).toEqual({ runs: 1, skipped: 0, first, last: first });
  await expect(plan({ to: first! })).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
  await expect(backfills().plan('none', { from: 0, to: 1 })).rejects.toMatchObject({ code: 'REQUEST_NOT_FOUND' });
});

test('times of a rule of RFC 5545 are counted by the begin that the service gave it', async () => {
  await life.save('rule', { requestType: 'SCHEDULED', scheduleType: 'RFC5545', schedule: 'RRULE:FREQ=MINUTELY' });
  await life.deploy('rule', 'd1');
  await life.run(2 * 60);
  const { runs, skipped, first } = await backfills().plan('rule', { from: 0, to: life.world.now, force: true });
  // The minute of its begin, and one a minute since.
  const begin = Math.floor((life.world.now - 2 * 60_000) / 60_000) * 60_000;
  expect({ runs, skipped, first }).toEqual({ runs: 3, skipped: 0, first: begin });
});

test('times whose runs were dropped by a pause are told of when they wait again', async () => {
  await ask(4);
  await life.get(Pauses).pause('job', { killTasks: false }, ann);
  await life.run(3);
  const told = await listen();
  await life.get(BackfillsPoller).runOnce(life.world.now);
  expect(await told()).toEqual([['job', 'd1', 'QUEUED', 1]]);
  await life.get(BackfillsPoller).runOnce(life.world.now);
  expect(await told()).toHaveLength(1);
});

test('a backfill that is canceled runs nothing more, and what runs goes on', async () => {
  const { id } = await ask(5, { concurrency: 2 });
  await life.run(1);
  expect(await life.world.active('job')).toHaveLength(2);
  expect(await backfills().cancel('job', id)).toMatchObject({ canceled: 3, queued: 2 });
  await life.run(6);
  expect(launched).toHaveLength(2);
  const canceled = await backfills().find('job', id);
  expect(canceled).toMatchObject({ canceled: 3, succeeded: 2 });
  expect(canceled.endedAt).toBeDefined();
  // Canceled again, it stays as it is.
  expect(await backfills().cancel('job', id)).toEqual({ ...canceled, times: undefined });
  // Times that were canceled have had no run.
  expect(await ask(5)).toMatchObject({ skipped: 2, waiting: 2, queued: 1 });
});

test('a backfill that is over stays so when it is canceled', async () => {
  const { id } = await ask(1);
  await life.run(6);
  expect((await backfills().find('job', id)).endedAt).toBeDefined();
  expect((await backfills().cancel('job', id)).canceledAt).toBeUndefined();
});

test.each(['REPLACE', 'BUFFER_ONE'] as const)('goes beside the runs of a schedule with %s', async (overlapPolicy) => {
  const own: string[] = [];
  life.world.cluster.onLaunch(({ environment: { TASK_TRIGGER = '', TASK_SCHEDULED_AT = '' } }) => {
    if (TASK_TRIGGER === 'BACKFILL') launched.push(Date.parse(TASK_SCHEDULED_AT));
    else own.push(TASK_TRIGGER);
    return { runFor: 60_000 };
  });
  await life.save('job', { requestType: 'SCHEDULED', quartzSchedule: '0/10 * * * * ?', overlapPolicy });
  await life.until('a run of the schedule', () => Promise.resolve(own.length > 0), 15);
  const { now } = life.world;
  await backfills().create('job', { from: now - 40_000, to: now - 10_000, concurrency: 3 }, ann);
  await life.run(3, 1_000, watch);
  expect(launched).toHaveLength(3);
  await life.run(25, 1_000, watch);
  expect(most).toBe(3);
  expect((await life.world.active('job')).filter(({ pendingType }) => pendingType === 'BACKFILL')).toHaveLength(3);
  expect(own.length > 1).toBe(overlapPolicy === 'REPLACE');
});

test('a caller may have a run now beside it', async () => {
  await ask(1);
  await life.run(1);
  expect(await life.world.active('job')).toHaveLength(1);
  await expect(life.get(Runs).run('job', {}, {}, ann)).resolves.toBeDefined();
});

test('a pause holds a backfill, and its end goes on with it', async () => {
  await life.run(1);
  await ask(4);
  await life.get(Pauses).pause('job', { killTasks: false }, ann);
  await life.run(6);
  const before = launched.length;
  await life.get(BackfillsPoller).runOnce(life.world.now);
  await life.run(3);
  expect(launched).toHaveLength(before);
  await life.get(Pauses).unpause('job', {}, ann);
  for (let second = 0; second < 15; second++) {
    await life.get(BackfillsPoller).runOnce(life.world.now);
    await life.run(1);
  }
  expect(launched).toEqual(hours(4));
});

test('a removed request leaves none', async () => {
  await ask(3);
  await life.world.query(`UPDATE request SET state = 'DELETING'`);
  await life.world.query(
    `INSERT INTO request_cleanup (request_id, cleanup_type, created_at) VALUES ('job', 'DELETING', now())`,
  );
  await life.until('the removal', async () => (await life.state('job')) === undefined);
  expect(await life.world.query('SELECT 1 FROM run_backfill')).toEqual([]);
  expect(await life.world.query('SELECT 1 FROM run_backfill_time')).toEqual([]);
});
