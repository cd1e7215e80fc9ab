import { afterEach, describe, expect, test, vi } from 'vitest';
import type { Request } from '../core/model/request.js';
import { SchedulerWorld } from '../../test/support/scheduler-world.js';
import { RequestRepository } from '../modules/requests/request.repository.js';
import { Database } from '../platform/database/database.js';
import { NotLeaderError } from '../platform/leadership/leadership.js';
import { DrainService } from './drain/drain.service.js';

let world: SchedulerWorld;
const begin = Date.parse('2026-01-05T12:00:05Z');
const start = (machines = 1) => SchedulerWorld.start({ startAt: begin, machines }).then((started) => (world = started));
afterEach(() => world.close());

const job = (id: string, members: Partial<Request>) =>
  world.deployed({ id, requestType: 'SCHEDULED', quartzSchedule: '0/10 * * * * ?', ...members });

/** Seconds after noon: planned time and start of each run. */
async function runs(id: string): Promise<string[]> {
  const found = await world.query<{ planned: string; started_at: Date }>(
    `SELECT (l.document->'pendingTask'->>'scheduledAt')::bigint AS planned, t.started_at
     FROM task t JOIN task_launch l USING (task_id) WHERE t.request_id = '${id}'
     UNION SELECT (h.data->'task'->'taskRequest'->'pendingTask'->>'scheduledAt')::bigint, h.started_at
     FROM task_history h WHERE h.request_id = '${id}' ORDER BY 1, 2`,
  );
  const noon = Date.parse('2026-01-05T12:00:00Z');
  return found.map(
    ({ planned, started_at: at }) => `${(Number(planned) - noon) / 1_000}@${(at.getTime() - noon) / 1_000}`,
  );
}

/** Time passes while no scheduler leads. */
async function absent(seconds: number): Promise<void> {
  await world.cluster.advance(seconds * 1_000);
  await world.crash();
}

async function saveMembers(id: string, members: Partial<Request>): Promise<void> {
  await world.db.transaction(async (tx) => {
    const requests = world.get(RequestRepository);
    const stored = (await requests.lock(tx, id))!;
    await requests.save(tx, { ...stored, request: { ...stored.request, ...members }, changedAt: world.now });
  });
}

async function setState(id: string, state: 'PAUSED' | 'ACTIVE'): Promise<void> {
  await world.db.transaction(async (tx) => {
    const requests = world.get(RequestRepository);
    const stored = (await requests.lock(tx, id))!;
    await requests.save(tx, { ...stored, state, changedAt: world.now });
  });
  if (state === 'ACTIVE') await world.enqueue({ requestId: id, pendingType: 'UNPAUSED' });
}

describe('runs that take longer than the interval', () => {
  test('start, wait or end as overlapPolicy says', async () => {
    await start();
    world.cluster.onLaunch(() => ({ runFor: 24_500 }));
    await job('skip', { overlapPolicy: 'SKIP' });
    await job('allow', { overlapPolicy: 'ALLOW', instances: 2 });
    await job('one', { overlapPolicy: 'BUFFER_ONE' });
    await job('all', { overlapPolicy: 'BUFFER_ALL' });
    await job('replace', { overlapPolicy: 'REPLACE' });
    for (let second = 0; second < 62; second++) {
      await world.killCleaned();
      await world.run(1);
    }
    expect(await runs('skip')).toEqual(['10@10', '40@40']);
    expect(await runs('allow')).toEqual(['10@10', '20@20', '40@40', '50@50']);
    expect(await runs('one')).toEqual(['10@10', '20@35', '40@60']);
    expect(await runs('all')).toEqual(['10@10', '20@35', '30@60']);
    const replaced = await runs('replace');
    expect(replaced.map((run) => run.split('@')[0])).toEqual(['10', '20', '30', '40', '50', '60']);
  });

  test('of BUFFER_ALL keep their places when the leader is killed', async () => {
    await start();
    world.cluster.onLaunch(() => ({ runFor: 24_500 }));
    await job('all', { overlapPolicy: 'BUFFER_ALL' });
    await world.run(26);
    await world.crash();
    await world.run(14);
    await world.crash();
    await world.run(30);
    expect(await runs('all')).toEqual(['10@10', '20@35', '30@60']);
    const waiting = await world.query<{ at: string; buffered: boolean | null }>(
      `SELECT ((document->>'scheduledAt')::bigint - 1767614400000) / 1000 AS at, (document->>'buffered')::boolean AS buffered
       FROM pending_task ORDER BY 1`,
    );
    expect(waiting.map(({ at, buffered }) => [Number(at), buffered])).toEqual([
      [40, true],
      [50, true],
      [60, true],
      [70, true],
      [80, null],
    ]);
  });

  test('end one that goes on through a pause, where REPLACE says so', async () => {
    await start();
    world.cluster.onLaunch(() => ({ runFor: 500_000 }));
    await job('replace', { overlapPolicy: 'REPLACE' });
    await world.run(12);
    await world.query(
      `INSERT INTO task_cleanup (task_id, request_id, cleanup_type, created_at) SELECT task_id, request_id, 'PAUSING', started_at FROM task`,
    );
    await world.run(10);
    expect(await world.query('SELECT cleanup_type FROM task_cleanup')).toEqual([
      { cleanup_type: 'REPLACED_BY_NEXT_RUN' },
    ]);
  });

  test('a run that fails is tried again before the next time that waits', async () => {
    await start();
    let launched = 0;
    world.cluster.onLaunch(() => ({ runFor: 14_500, exit: launched++ === 0 ? 'TASK_FAILED' : 'TASK_FINISHED' }));
    await job('all', { overlapPolicy: 'BUFFER_ALL', numRetriesOnFailure: 1 });
    await world.run(40);
    expect(await runs('all')).toEqual(['10@10', '10@25', '20@40']);
  });
});

describe('many times that come at once', () => {
  /** Requests as their deploys leave them, many at a time; their first times have come. */
  async function due(requests: number): Promise<void> {
    await start(4);
    const deploy = { id: 'd1', command: 'run', resources: { cpus: 0.1, memoryMb: 64 } };
    const parameters = [requests, new Date(world.now)];
    const each = `FROM (SELECT 'job' || n AS id FROM generate_series(1, $1) n) j`;
    await world.query(
      `INSERT INTO request (id, request_type, state, changed_at, active_deploy_id, document)
       SELECT id, 'SCHEDULED', 'ACTIVE', $2, 'd1', jsonb_build_object('id', id, 'requestType', 'SCHEDULED',
         'quartzSchedule', '0/10 * * * * ?', 'overlapPolicy', 'BUFFER_ONE') ${each}`,
      parameters,
    );
    await world.query(
      `INSERT INTO deploy_history (request_id, deploy_id, created_at, data)
       SELECT id, 'd1', $2, jsonb_build_object('deploy', $3::jsonb || jsonb_build_object('requestId', id)) ${each}`,
      [...parameters, JSON.stringify(deploy)],
    );
    await world.query(
      `INSERT INTO pending_request (request_id, deploy_id, pending_type, created_at, document)
       SELECT id, 'd1', 'STARTUP', $2, jsonb_build_object('requestId', id, 'deployId', 'd1', 'pendingType', 'STARTUP', 'timestamp', $3::bigint) ${each}`,
      [...parameters, world.now],
    );
    await world.run(1);
    await world.cluster.advance(10_000);
  }

  /** Statements of each transaction of a drain, and the most transactions at a time. */
  async function drained(requests: number): Promise<{ perTransaction: number[]; atOnce: number }> {
    await due(requests);
    const perTransaction: number[] = [];
    let [going, atOnce] = [0, 0];
    const { leaderTransaction } = Database.prototype;
    const transactions = vi.spyOn(world.db, 'leaderTransaction').mockImplementation(async (work) => {
      atOnce = Math.max(atOnce, ++going);
      try {
        return await leaderTransaction.call(world.db, async (tx, epoch) => {
          const sent = vi.spyOn(tx, 'query');
          const result = await work(tx, epoch);
          perTransaction.push(sent.mock.calls.length);
          return result as never;
        });
      } finally {
        going -= 1;
      }
    });
    await world.get(DrainService).runOnce(world.now);
    transactions.mockRestore();
    return { perTransaction, atOnce };
  }

  test('are decided in a few statements, however many they are, and in two transactions at a time', async () => {
    const few = await drained(2);
    await world.close();
    const many = await drained(410);
    expect(few.perTransaction).toHaveLength(1);
    expect(many.perTransaction).toEqual(Array.from({ length: 3 }, () => few.perTransaction[0]));
    expect([few.atOnce, many.atOnce]).toEqual([1, 2]);
    await world.scheduler.runOnce(world.now);
    expect(await world.query('SELECT count(*)::int AS count FROM task')).toEqual([{ count: 410 }]);
  });

  test('are none any more after a failure of all, and the one that was under way has ended', async () => {
    await due(410);
    let [begun, ended] = [0, 0];
    const { leaderTransaction } = Database.prototype;
    const transactions = vi.spyOn(world.db, 'leaderTransaction').mockImplementation(async (work) => {
      if ((begun += 1) === 1) throw new NotLeaderError('it holds no lease');
      const result = await leaderTransaction.call(world.db, work);
      ended += 1;
      return result as never;
    });
    await expect(world.get(DrainService).runOnce(world.now)).rejects.toThrow(NotLeaderError);
    expect([begun, ended]).toEqual([2, 1]);
    transactions.mockRestore();
  });
});

describe('times that pass without a leader', () => {
  test('are made up for as missedRuns says', async () => {
    await start();
    world.cluster.onLaunch(() => ({ runFor: 500 }));
    const members = { quartzSchedule: '0 * * * * ?' };
    await job('usual', members);
    await job('last', { ...members, missedRuns: { policy: 'LAST' } });
    await job('skip', { ...members, missedRuns: { policy: 'SKIP', withinMillis: 10_000 } });
    await job('all', { ...members, missedRuns: { policy: 'ALL' } });
    await job('within', { ...members, missedRuns: { policy: 'ALL', withinMillis: 150_000 } });
    await job('beside', { ...members, missedRuns: { policy: 'ALL' }, overlapPolicy: 'ALLOW', instances: 9 });
    await world.run(3);
    await absent(5 * 60 + 10);
    await world.run(60);
    expect(await runs('usual')).toEqual(['300@318', '360@360']);
    expect(await runs('last')).toEqual(['300@318', '360@360']);
    expect(await runs('skip')).toEqual(['360@360']);
    expect((await runs('all')).map((run) => run.split('@')[0])).toEqual(['60', '120', '180', '240', '300', '360']);
    expect((await runs('within')).map((run) => run.split('@')[0])).toEqual(['180', '240', '300', '360']);
    const beside = await runs('beside');
    expect(beside.map((run) => run.split('@')[0])).toEqual(['60', '120', '180', '240', '300', '360']);
    // Side by side: launches of one pass differ in milliseconds alone.
    expect(beside.filter((run) => /@318(\.|$)/.test(run))).toHaveLength(5);
  });
});

describe('times that pass while the request is paused', () => {
  test('are made up for where missedRuns says so', async () => {
    await start();
    world.cluster.onLaunch(() => ({ runFor: 500 }));
    const members = { quartzSchedule: '0 * * * * ?' };
    await job('usual', members);
    await job('last', { ...members, missedRuns: { policy: 'LAST' } });
    await job('all', { ...members, missedRuns: { policy: 'ALL' } });
    await job('beside', { ...members, overlapPolicy: 'ALLOW', instances: 9 });
    const ids = ['usual', 'last', 'all', 'beside'];
    await world.run(3);
    for (const id of ids) await setState(id, 'PAUSED');
    await world.run(1);
    await world.cluster.advance(190_000);
    for (const id of ids) await setState(id, 'ACTIVE');
    await world.run(45);
    expect(await runs('usual')).toEqual(['240@240']);
    expect(await runs('beside')).toEqual(['240@240']);
    expect(await runs('last')).toEqual(['180@199', '240@240']);
    expect((await runs('all')).map((run) => run.split('@')[0])).toEqual(['60', '120', '180', '240']);
  });

  test('are few seconds apart: LAST takes the newest, and ALL the newest 100', async () => {
    await start();
    world.cluster.onLaunch(() => ({ runFor: 300 }));
    await job('last', { quartzSchedule: '0/5 * * * * ?', missedRuns: { policy: 'LAST' } });
    await job('all', { quartzSchedule: '* 0-2 12 * * ?', missedRuns: { policy: 'ALL' } });
    await world.run(2);
    for (const id of ['last', 'all']) await setState(id, 'PAUSED');
    await world.run(1);
    // It is 12:00:08; the times of `all` end with 12:02:59.
    await world.cluster.advance(24_000);
    await setState('last', 'ACTIVE');
    await world.run(2);
    expect((await runs('last')).map((run) => run.split('@')[0])).toEqual(['30']);
    await world.cluster.advance(150_000);
    await setState('all', 'ACTIVE');
    await world.run(210);
    const made = (await runs('all')).map((run) => Number(run.split('@')[0])).filter((at) => at > 10);
    expect(made).toEqual(Array.from({ length: 100 }, (_, index) => 80 + index));
    const [told] = await world.query<{ skipped_runs: number }>(
      `SELECT skipped_runs FROM deploy_statistics WHERE request_id = 'all'`,
    );
    // Those from 12:00:08 on, or one second around it, as the pause came.
    expect(Math.abs(told!.skipped_runs - 72)).toBeLessThanOrEqual(1);
  });

  test('are not those of a schedule that came later', async () => {
    await start();
    world.cluster.onLaunch(() => ({ runFor: 500 }));
    await job('all', { quartzSchedule: '0 0 13 * * ?', missedRuns: { policy: 'ALL' } });
    await world.run(1);
    await setState('all', 'PAUSED');
    await world.cluster.advance(60_000);
    await saveMembers('all', { quartzSchedule: '0/10 * * * * ?' });
    await setState('all', 'ACTIVE');
    await world.run(5);
    expect(await runs('all')).toEqual(['70@70']);
  });

  test('are those of a schedule that was saved during the pause, from then on', async () => {
    await start();
    world.cluster.onLaunch(() => ({ runFor: 500 }));
    await job('all', { quartzSchedule: '0 0 13 * * ?', missedRuns: { policy: 'ALL' } });
    await world.run(1);
    await setState('all', 'PAUSED');
    await world.cluster.advance(10_000);
    await saveMembers('all', { quartzSchedule: '0/10 * * * * ?' });
    await world.cluster.advance(35_000);
    await setState('all', 'ACTIVE');
    await world.run(8);
    expect((await runs('all')).slice(0, 4).map((run) => run.split('@')[0])).toEqual(['20', '30', '40', '50']);
  });
});

describe('exclusions', () => {
  const exclusions = [{ schedule: '1 12 * * *', durationMillis: 120_000 }];

  test('have nothing start, and are made up for where missedRuns says so', async () => {
    await start();
    world.cluster.onLaunch(() => ({ runFor: 500 }));
    const members = { quartzSchedule: '30 * * * * ?', exclusions };
    await job('usual', members);
    await job('last', { ...members, missedRuns: { policy: 'LAST' } });
    await job('all', { ...members, missedRuns: { policy: 'ALL' } });
    await world.run(210);
    expect(await runs('usual')).toEqual(['30@30', '210@210']);
    expect(await runs('last')).toEqual(['30@30', '150@180', '210@210']);
    expect((await runs('all')).map((run) => run.split('@')[0])).toEqual(['30', '90', '150', '210']);
  });

  test('hold a run that waits, and not one that a caller asks for', async () => {
    await start();
    world.cluster.onLaunch(() => ({ runFor: 70_000 }));
    await job('one', { quartzSchedule: '0/20 * * * * ?', exclusions, overlapPolicy: 'BUFFER_ONE' });
    await world.run(120);
    expect(await runs('one')).toEqual(['20@20']);
    await world.enqueue({ requestId: 'one', pendingType: 'IMMEDIATE', runId: 'now' });
    await world.run(3);
    expect((await world.active()).map(({ runId }) => runId)).toEqual(['now']);
  });
});

test('maxRuns ends a request after so many runs, those that are tried again counted once', async () => {
  await start();
  let launched = 0;
  world.cluster.onLaunch(() => ({ runFor: 500, exit: launched++ === 0 ? 'TASK_FAILED' : 'TASK_FINISHED' }));
  await job('usual', { maxRuns: 2, numRetriesOnFailure: 1 });
  await job('ahead', { maxRuns: 2, overlapPolicy: 'BUFFER_ONE' });
  await world.run(40);
  expect((await runs('usual')).map((run) => run.split('@')[0]).filter((at, i, all) => all.indexOf(at) === i)).toEqual([
    '10',
    '20',
  ]);
  expect((await runs('ahead')).map((run) => run.split('@')[0])).toEqual(['10', '20']);
  expect(await world.query('SELECT id, state FROM request ORDER BY id')).toEqual([
    { id: 'ahead', state: 'FINISHED' },
    { id: 'usual', state: 'FINISHED' },
  ]);
});

test.each([
  ['the first', 1],
  ['the last', 2],
])('a launch of %s run that its machine cannot take is no run of maxRuns', async (_which, refusedRun) => {
  await start();
  const launches: Record<string, number> = {};
  const refusals = [{ diskFull: true }, { portInUse: 31_000 }];
  world.cluster.onLaunch(({ requestId }) => {
    const launch = (launches[requestId] = (launches[requestId] ?? 0) + 1);
    return refusals[launch - refusedRun] ?? { runFor: 500 };
  });
  await job('usual', { maxRuns: 2 });
  await job('ahead', { maxRuns: 2, overlapPolicy: 'BUFFER_ONE' });
  await world.run(60);
  for (const id of ['usual', 'ahead']) {
    expect((await runs(id)).map((run) => run.split('@')[0])).toEqual(['10', '20']);
  }
  expect(launches).toEqual({ usual: 4, ahead: 4 });
  expect(await world.query('SELECT id, state FROM request ORDER BY id')).toEqual([
    { id: 'ahead', state: 'FINISHED' },
    { id: 'usual', state: 'FINISHED' },
  ]);
});
