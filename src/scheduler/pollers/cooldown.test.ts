import { afterEach, describe, expect, test } from 'vitest';
import { SchedulerWorld } from '../../../test/support/scheduler-world.js';
import type { Request } from '../../core/model/request.js';
import { Pauses } from '../../modules/requests/actions/pauses.service.js';
import { RequestsModule } from '../../modules/requests/requests.module.js';
import { CooldownPoller } from './cooldown.poller.js';

let world: SchedulerWorld;
afterEach(() => world.close());

const state = async () => (await world.query<{ state: string }>('SELECT state FROM request'))[0]!.state;
const events = async () =>
  (await world.query<{ event_type: string }>('SELECT event_type FROM request_history ORDER BY created_at')).map(
    ({ event_type }) => event_type,
  );
const look = () => world.get(CooldownPoller).runOnce(world.now);

/** Tasks of the request fail at once, until it cools down. */
async function coolDown(request: Partial<Request> = {}): Promise<void> {
  world = await SchedulerWorld.start({ modules: [RequestsModule] });
  world.cluster.onLaunch(() => ({ runFor: 10, exit: 'TASK_FAILED' }));
  await world.deployed({ id: 'svc', requestType: 'SERVICE', ...request });
  await world.run(12);
  expect(await state()).toBe('SYSTEM_COOLDOWN');
  expect(await world.ends('svc')).toHaveLength(5);
  world.cluster.onLaunch(() => ({}));
}

describe('a cooldown', () => {
  test('is entered with the fifth failure within a minute, and delays the next start by two minutes', async () => {
    await coolDown();
    expect(await events()).toEqual(['ENTERED_COOLDOWN']);
    const [waiting] = await world.query<{ delay: number }>(
      `SELECT extract(epoch FROM p.next_run_at - max(h.updated_at))::float AS delay
       FROM pending_task p, task_history h GROUP BY p.next_run_at`,
    );
    expect(waiting!.delay).toBeGreaterThanOrEqual(120);
    expect(waiting!.delay).toBeLessThan(122);
  });

  test('is not entered by kills', async () => {
    world = await SchedulerWorld.start();
    world.cluster.onLaunch(() => ({ runFor: 10, exit: 'TASK_KILLED' }));
    await world.deployed({ id: 'svc', requestType: 'SERVICE' });
    await world.run(12);
    expect((await world.ends('svc')).length).toBeGreaterThan(5);
    expect(await state()).toBe('ACTIVE');
  });
});

describe('a cooldown ends', () => {
  test('when the queue is drained and the failures have aged out: what is planned then starts at once', async () => {
    await coolDown();
    await world.cluster.advance(60_000);
    await world.enqueue({ requestId: 'svc', pendingType: 'UPDATED_REQUEST' });
    await world.run();
    expect(await state()).toBe('ACTIVE');
    expect(await events()).toEqual(['ENTERED_COOLDOWN', 'EXITED_COOLDOWN']);
    expect(await world.active('svc')).toHaveLength(1);
  });

  test('not when it is drained before that', async () => {
    await coolDown();
    await world.enqueue({ requestId: 'svc', pendingType: 'UPDATED_REQUEST' });
    await world.run();
    expect(await state()).toBe('SYSTEM_COOLDOWN');
    expect(await world.active('svc')).toEqual([]);
  });

  test('when the poller finds that the failures have aged out', async () => {
    await coolDown();
    await look();
    expect(await state()).toBe('SYSTEM_COOLDOWN');
    await world.cluster.advance(60_000);
    await look();
    expect(await state()).toBe('ACTIVE');
    expect(await events()).toEqual(['ENTERED_COOLDOWN', 'EXITED_COOLDOWN']);
  });

  test.each([
    ['no active deploy', 'UPDATE request SET active_deploy_id = NULL'],
    ['no statistics', 'DELETE FROM deploy_statistics'],
    ['no last finish', 'UPDATE deploy_statistics SET last_finish_at = NULL'],
  ])('when the poller finds %s', async (_, change) => {
    await coolDown();
    await world.query(change);
    await look();
    expect(await state()).toBe('ACTIVE');
    expect(await events()).toEqual(['ENTERED_COOLDOWN', 'EXITED_COOLDOWN']);
  });

  test('when a run of a job succeeds', async () => {
    await coolDown({ requestType: 'SCHEDULED', quartzSchedule: '* * * * * ?' });
    world.cluster.onLaunch(() => ({ runFor: 10 }));
    await world.query(
      `UPDATE deploy_statistics SET failure_events = (SELECT jsonb_agg(jsonb_set(e, '{timestamp}', $1))
      FROM jsonb_array_elements(failure_events) e)`,
      [String(world.now + 200_000)],
    );
    await world.run(125);
    expect(await world.ends('svc')).toContain('TASK_FINISHED');
    expect(await state()).toBe('ACTIVE');
    expect(await events()).toEqual(['ENTERED_COOLDOWN', 'EXITED_COOLDOWN']);
  });

  test('in its own time for a task that was planned by a clock that was set back since, once another leader begins', async () => {
    await coolDown();
    await world.query(
      `UPDATE pending_task SET created_at = created_at + interval '10 min', next_run_at = next_run_at + interval '10 min',
         document = jsonb_set(document, '{pendingTaskId,nextRunAt}',
           to_jsonb((document #>> '{pendingTaskId,nextRunAt}')::bigint + 600000))`,
    );
    await world.crash();
    await world.run(2);
    await world.cluster.advance(120_000);
    await world.run(2);
    expect(await world.active('svc')).toHaveLength(1);
  });

  test('by call, which starts a task at once', async () => {
    await coolDown();
    await world.get(Pauses).exitCooldown('svc', { message: 'mended' }, { id: 'me', email: 'me@x' });
    expect(await world.query('SELECT pending_type FROM pending_request')).toEqual([{ pending_type: 'IMMEDIATE' }]);
    await world.run();
    expect(await world.active('svc')).toHaveLength(1);
    expect(await state()).toBe('ACTIVE');
    expect(await world.query(`SELECT message FROM request_history WHERE event_type = 'EXITED_COOLDOWN'`)).toEqual([
      { message: 'mended' },
    ]);
  });
});

test('a request that another transaction holds right now is looked at the next time', async () => {
  await coolDown();
  await world.cluster.advance(60_000);
  await world.db.transaction(async (tx) => {
    await tx.query('SELECT 1 FROM request FOR NO KEY UPDATE');
    await look();
  });
  expect(await state()).toBe('SYSTEM_COOLDOWN');
  await look();
  expect(await state()).toBe('ACTIVE');
});

describe('a restart policy takes the place of the cooldown', () => {
  const policy = { initialDelayMillis: 4_000, backoffFactor: 2, maxDelayMillis: 60_000 };
  /** Milliseconds from the last failure to the next start that is planned. */
  const delay = async () =>
    (
      await world.query<{ millis: number }>(
        `SELECT round(extract(epoch FROM p.next_run_at - f.last_at) * 1000)::float AS millis
         FROM pending_task p JOIN instance_failure f USING (request_id, deploy_id, instance_no)`,
      )
    )[0]?.millis;
  const failing = async (restart: object) => {
    world = await SchedulerWorld.start();
    world.cluster.onLaunch(() => ({ runFor: 10, exit: 'TASK_FAILED' }));
    await world.deployed({ id: 'svc', requestType: 'SERVICE', restart });
    await world.run(3);
  };

  test('each failure in a row delays the next start for longer, also for a new leader, and nothing cools down', async () => {
    await failing(policy);
    expect([await delay(), await state()]).toEqual([4_000, 'ACTIVE']);
    await world.enqueue({ requestId: 'svc', pendingType: 'UPDATED_REQUEST' });
    await world.run(1);
    expect(await delay()).toBe(4_000);
    await world.crash();
    await world.run(1);
    expect(await delay()).toBe(4_000);
    await world.cluster.advance(4_000);
    await world.run(3);
    expect([await delay(), await state()]).toEqual([8_000, 'ACTIVE']);
    for (let more = 0; more < 6; more++) {
      await world.cluster.advance(60_000);
      await world.run(3);
    }
    expect([await delay(), await state(), await events()]).toEqual([60_000, 'ACTIVE', []]);
  });

  test('an instance that failed too often stays down until a user starts it', async () => {
    await failing({ ...policy, maxRestarts: 1 });
    await world.cluster.advance(10_000);
    await world.run(3);
    expect(await world.ends('svc')).toHaveLength(2);
    await world.cluster.advance(600_000);
    await world.enqueue({ requestId: 'svc', pendingType: 'UPDATED_REQUEST' });
    await world.run(3);
    expect([await world.active('svc'), await world.query('SELECT 1 FROM pending_task')]).toEqual([[], []]);
    world.cluster.onLaunch(() => ({}));
    await world.enqueue({ requestId: 'svc', pendingType: 'BOUNCE' });
    await world.run(3);
    expect(await world.active('svc')).toHaveLength(1);
    expect(await world.query('SELECT 1 FROM instance_failure')).toEqual([]);
  });
});
