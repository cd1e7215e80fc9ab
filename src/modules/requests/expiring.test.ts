import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TaskId } from '../../core/model/task.js';
import { ExpiringActionRepository } from '../../platform/actions/expiring-action.repository.js';
import { ExpiringPoller } from './expiring/expiring.poller.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import { waitFor } from '../../../test/support/wait-for.js';
import { openRequestsRoom, type RequestsRoom } from '../../../test/support/requests-room.js';

let room: RequestsRoom;
beforeAll(async () => {
  room = await openRequestsRoom();
});
afterAll(() => room.close());

const at = (id: string, action: string): string => `/api/requests/request/${id}/${action}`;
const expiringOf = (id: string) => room.sql('SELECT kind FROM expiring_action WHERE target_id = $1', [id]);
const get = async (id: string) => (await room.call('GET', `/api/requests/request/${id}`)).body;
/** Lets time go by, then one pass. */
async function pass(millis: number): Promise<void> {
  room.clock.millis += millis;
  await room.app.get(ExpiringPoller).runOnce(room.clock.now());
}

async function service(id: string, members = {}): Promise<void> {
  await room.request(id, { instances: 2, ...members });
  await room.deploy(id);
  await room.task(id, 1);
  await room.task(id, 2);
}

describe('a pause that lapses', () => {
  test('ends as an unpause, and not before its time', async () => {
    await service('p1');
    await room.call('POST', at('p1', 'pause'), { durationMillis: 2000, message: 'short' });
    await pass(2000);
    expect((await get('p1')).state).toBe('PAUSED');
    await pass(1);
    const parent = await get('p1');
    expect([parent.state, parent.expiringPause]).toEqual(['ACTIVE', undefined]);
    expect((await room.history('p1'))[0]).toEqual(['UNPAUSED', 'unknown', 'Pause expired after 00:02.000 (short)']);
    expect(await room.pending('p1')).toMatchObject([{ pendingType: 'UNPAUSED' }]);
  });

  test('changes nothing when a caller unpaused the request by hand and paused it again for good', async () => {
    await service('p2');
    await room.call('POST', at('p2', 'pause'), { durationMillis: 2000 });
    await room.call('POST', at('p2', 'unpause'));
    await room.sql(`DELETE FROM request_cleanup WHERE request_id = 'p2'`);
    await room.call('POST', at('p2', 'pause'));
    await pass(10_000);
    expect((await get('p2')).state).toBe('PAUSED');
  });
});

describe('a scale that lapses', () => {
  test('restores the number, also the absence of one', async () => {
    await room.request('s1');
    await room.deploy('s1');
    await room.call('PUT', at('s1', 'scale'), { instances: 3, durationMillis: 2000 });
    await room.sql(`DELETE FROM pending_request WHERE request_id = 's1'`);
    await pass(2001);
    expect((await get('s1')).request).toEqual({ id: 's1', requestType: 'SERVICE' });
    expect((await room.history('s1'))[0]).toEqual(['SCALE_REVERTED', null, 'Scale expired after 00:02.000']);
    expect(await room.pending('s1')).toMatchObject([{ pendingType: 'UPDATED_REQUEST' }]);
    expect(await expiringOf('s1')).toEqual([]);
  });

  test('bounces again when it was to', async () => {
    await service('s2');
    await room.call('PUT', at('s2', 'scale'), { instances: 3, durationMillis: 2000, bounce: true });
    await room.sql(`DELETE FROM request_cleanup WHERE request_id = 's2'`);
    await pass(2001);
    expect((await get('s2')).request.instances).toBe(2);
    expect(
      (await room.history('s2'))
        .slice(0, 2)
        .map(([type]) => type)
        .sort(),
    ).toEqual(['BOUNCED', 'SCALE_REVERTED']);
    const cleanups = await room.sql(`SELECT cleanup_type FROM request_cleanup WHERE request_id = 's2'`);
    expect(cleanups).toEqual([{ cleanup_type: 'INCREMENTAL_BOUNCE' }]);
  });

  test('goes back to what the second of two found, which was the first one for a while', async () => {
    await service('two');
    await room.call('PUT', at('two', 'scale'), { instances: 4, durationMillis: 1000 });
    await room.call('PUT', at('two', 'scale'), { instances: 6, durationMillis: 5000 });
    await pass(2000);
    expect((await get('two')).request.instances).toBe(6);
    await pass(3001);
    expect((await get('two')).request.instances).toBe(4);
    expect((await get('two')).expiringScale).toBeUndefined();
    await pass(60_000);
    expect((await get('two')).request.instances).toBe(4);
  });

  test('restores the number of a request that is paused by then, without the bounce it was to bring', async () => {
    await service('paused');
    await room.call('PUT', at('paused', 'scale'), { instances: 3, durationMillis: 2000, bounce: true });
    await room.call('POST', at('paused', 'pause'));
    await room.sql(`DELETE FROM request_cleanup WHERE request_id = 'paused'`);
    await pass(2001);
    const parent = await get('paused');
    expect([parent.state, parent.request.instances]).toEqual(['PAUSED', 2]);
    expect((await room.history('paused'))[0]![0]).toBe('SCALE_REVERTED');
    expect(await room.sql(`SELECT 1 FROM request_cleanup WHERE request_id = 'paused'`)).toEqual([]);
  });

  test('does not bounce when that was ruled out, whatever the request says', async () => {
    await service('ruled', { bounceAfterScale: true });
    await room.call('PUT', at('ruled', 'scale'), { instances: 3, durationMillis: 2000, bounce: false });
    await pass(2001);
    expect((await get('ruled')).request.instances).toBe(2);
    expect(await room.sql(`SELECT 1 FROM request_cleanup WHERE request_id = 'ruled'`)).toEqual([]);
  });

  test('stays when it cannot be undone, and is not tried for ever', async () => {
    await service('s3');
    await room.call('PUT', at('s3', 'scale'), { instances: 3, durationMillis: 2000 });
    await room.call('DELETE', '/api/requests/request/s3');
    await pass(2001);
    expect((await get('s3')).request.instances).toBe(3);
    expect(await expiringOf('s3')).toEqual([]);
  });
});

test('a skip of health checks that lapses restores the flag', async () => {
  await room.request('h1', { skipHealthchecks: false });
  await room.call('PUT', at('h1', 'skip-healthchecks'), {
    skipHealthchecks: true,
    durationMillis: 3_601_500,
    message: 'm',
  });
  await pass(3_601_501);
  expect((await get('h1')).request.skipHealthchecks).toBe(false);
  expect((await room.history('h1'))[0]).toEqual(['UPDATED', null, 'Skip healthchecks expired after 01:00:01.500 (m)']);
});

describe('a bounce that lapses', () => {
  test('spares the tasks that still wait, and tells the scheduler', async () => {
    await service('b1');
    const { body } = await room.call('POST', at('b1', 'bounce'), { durationMillis: 5000, actionId: 'a1' });
    // What the cleaner makes of it, for one task; the other one has to go for another reason.
    const [waiting, other] = body.taskIds.notYetHealthy as [TaskId, TaskId];
    for (const [task, type, action] of [
      [waiting, 'BOUNCING', 'a1'],
      [other, 'USER_REQUESTED', 'other'],
    ] as const) {
      await room.sql(
        `INSERT INTO task_cleanup (task_id, request_id, cleanup_type, created_at, action_id) VALUES ($1, 'b1', $2, now(), $3)`,
        [task.id, type, action],
      );
      await room.sql(`INSERT INTO task_update (task_id, state, at, message) VALUES ($1, 'TASK_CLEANING', $2, $3)`, [
        task.id,
        new Date(room.clock.now()),
        type,
      ]);
    }
    await room.sql(
      `INSERT INTO pending_request (request_id, deploy_id, pending_type, created_at, action_id, document)
       VALUES ('b1', 'd1', 'BOUNCE', now(), 'a1', '{"pendingType": "BOUNCE"}')`,
    );
    await pass(5001);

    const cleanups = await room.sql(`SELECT task_id FROM task_cleanup WHERE request_id = 'b1'`);
    expect(cleanups).toEqual([{ task_id: other.id }]);
    const cleaning = await room.sql(
      `SELECT task_id FROM task_update WHERE state = 'TASK_CLEANING' AND task_id = ANY ($1)`,
      [[waiting.id, other.id]],
    );
    expect(cleaning).toEqual([{ task_id: other.id }]);
    expect(await room.sql(`SELECT 1 FROM request_cleanup WHERE request_id = 'b1'`)).toEqual([]);
    expect(await room.pending('b1')).toMatchObject([{ pendingType: 'CANCEL_BOUNCE', deployId: 'd1' }]);
    expect(await room.sql(`SELECT bouncing FROM request WHERE id = 'b1'`)).toEqual([{ bouncing: false }]);
    expect((await get('b1')).expiringBounce).toBeUndefined();
    expect((await room.history('b1'))[0]![0]).toBe('BOUNCED');
  });
});

test('a bounce that lapses leaves other orders under the same action id alone', async () => {
  await service('same');
  await room.call('POST', at('same', 'bounce'), { durationMillis: 5000, actionId: 'a1' });
  const [task] = (await get('same')).taskIds.notYetHealthy as [TaskId];
  await room.sql(
    `INSERT INTO task_cleanup (task_id, request_id, cleanup_type, created_at, action_id)
     VALUES ($1, 'same', 'USER_REQUESTED', now(), 'a1')`,
    [task.id],
  );
  await room.call('DELETE', '/api/requests/request/same', { actionId: 'a1' });
  await pass(5001);
  expect(await room.sql(`SELECT cleanup_type FROM request_cleanup WHERE request_id = 'same'`)).toEqual([
    { cleanup_type: 'DELETING' },
  ]);
  expect(await room.sql(`SELECT cleanup_type FROM task_cleanup WHERE request_id = 'same'`)).toEqual([
    { cleanup_type: 'USER_REQUESTED' },
  ]);
});

test('a bounce whose time limit was removed goes on for as long as it takes', async () => {
  await service('b2');
  await room.call('POST', at('b2', 'bounce'), { durationMillis: 5000 });
  await room.call('DELETE', at('b2', 'bounce'));
  await pass(3_600_001);
  expect(await room.sql(`SELECT bouncing FROM request WHERE id = 'b2'`)).toEqual([{ bouncing: true }]);
  expect(await room.sql(`SELECT cleanup_type FROM request_cleanup WHERE request_id = 'b2'`)).toHaveLength(1);
});

test('a bounce without a duration is given up after an hour', async () => {
  await service('b3');
  await room.call('POST', at('b3', 'bounce'));
  await pass(3_600_000);
  expect((await get('b3')).expiringBounce).toBeDefined();
  await pass(1);
  expect(await room.sql(`SELECT bouncing FROM request WHERE id = 'b3'`)).toEqual([{ bouncing: false }]);
});

test('what lapses at the same time ends in one order: bounce, pause, scale, priority, skip of health checks', async () => {
  await service('order');
  // The other way round, each for as long as it takes to lapse together.
  const lapseAt = room.clock.now() + 10_000;
  const until = () => ({ durationMillis: lapseAt - room.clock.now() - 10 });
  await room.call('PUT', at('order', 'skip-healthchecks'), { skipHealthchecks: true, ...until() });
  await room.call('PUT', at('order', 'priority'), { priority: 0.9, ...until() });
  await room.call('PUT', at('order', 'scale'), { instances: 3, ...until() });
  await room.call('POST', at('order', 'bounce'), until());
  await room.sql(`DELETE FROM request_cleanup WHERE request_id = 'order'`);
  // A pause would end the bounce, so its record is written by hand; the request is not paused, and nothing comes of it.
  await room.sql(
    `INSERT INTO expiring_action (kind, target_id, started_at, duration_millis, action_id, document, revert)
     VALUES ('PAUSE', 'order', $1, 1000, 'p', '{}', '{}')`,
    [new Date(room.clock.now())],
  );
  const waiting = await room.app.get(ExpiringActionRepository, { strict: false }).all(room.app.get(Database).pool);
  const kinds = waiting.filter(({ targetId }) => targetId === 'order').map(({ kind }) => kind);
  expect(kinds).toEqual(['BOUNCE', 'PAUSE', 'SCALE', 'PRIORITY', 'SKIP_HEALTHCHECKS']);
  const { version } = (await room.sql(`SELECT version FROM request WHERE id = 'order'`))[0]!;
  await pass(20_000);
  const history = (await room.history('order')).slice(0, 3);
  expect(history.map(([type]) => type).toSorted()).toEqual(['SCALE_REVERTED', 'UPDATED', 'UPDATED']);
  const [final] = await room.sql(`SELECT version, document FROM request WHERE id = 'order'`);
  expect(Number(final!['version']) - Number(version)).toBe(4);
  expect(final!['document']).toEqual({ id: 'order', requestType: 'SERVICE', instances: 2 });
  expect(await expiringOf('order')).toEqual([]);
});

test('a record whose request is gone is dropped', async () => {
  await room.request('gone');
  await room.call('POST', at('gone', 'pause'), { durationMillis: 1000 });
  await room.sql(`DELETE FROM request WHERE id = 'gone'`);
  await pass(1001);
  expect(await expiringOf('gone')).toEqual([]);
});

test('one that was renewed since it was found due is left alone', async () => {
  await service('r1');
  await room.call('PUT', at('r1', 'scale'), { instances: 3, durationMillis: 1000 });
  room.clock.millis += 2000;
  const late = room.clock.now();
  await room.call('PUT', at('r1', 'scale'), { instances: 4, durationMillis: 60_000 });
  await room.app.get(ExpiringPoller).runOnce(late);
  expect((await get('r1')).request.instances).toBe(4);
  expect(await expiringOf('r1')).toHaveLength(1);
});

test('the end comes by itself, at its time', async () => {
  // A clock that goes: the regular pass is far away, only the timer can be what ends the pause.
  const own = await openRequestsRoom({ checkExpiringUserActionEveryMillis: 3_600_000 });
  try {
    Object.defineProperty(own.clock, 'now', { value: () => new Clock().now() });
    await own.request('soon');
    await own.call('POST', at('soon', 'pause'), { durationMillis: 300 });
    await waitFor('the pause to end', async () => {
      const { body } = await own.call('GET', '/api/requests/request/soon/simple');
      return body.state === 'ACTIVE';
    });
  } finally {
    await own.close();
  }
});
