import { afterAll, beforeAll, expect, test } from 'vitest';
import { openRequestsRoom, type RequestsRoom } from '../../../test/support/requests-room.js';
import { watchStatements } from '../../../test/support/sent-statements.js';
import { Database } from '../../platform/database/database.js';
import { toJson } from '../../platform/http/json.js';
import { TaskIdsByStatusService } from '../tasks/task-ids-by-status.service.js';
import { RequestParents } from './request-parents.service.js';
import { RequestReads } from './request-reads.service.js';

let room: RequestsRoom;
beforeAll(async () => {
  room = await openRequestsRoom();
});
afterAll(() => room.close());

async function job(id: string, members = {}, deploy = {}): Promise<void> {
  await room.request(id, { requestType: 'ON_DEMAND', ...members });
  await room.deploy(id, 'd1', deploy);
}

/** Tasks that run, one by one in each state in which they are listed, and runs that wait. */
async function busy(id: string, members = {}): Promise<void> {
  await job(id, members);
  const tasks = [];
  for (let number = 1; number <= 6; number++) tasks.push((await room.task(id, number)).id);
  const [cleaning, killed, both, starting, ended] = tasks;
  await room.sql('UPDATE task SET running_at = NULL WHERE task_id = $1', [starting]);
  await room.sql('UPDATE task SET ended_at = now() WHERE task_id = $1', [ended]);
  const told = 'SELECT task_id, request_id';
  await room.sql(
    `INSERT INTO task_cleanup (task_id, request_id, cleanup_type, created_at)
       ${told}, 'BOUNCING', now() FROM task WHERE task_id = ANY ($1)`,
    [[cleaning, both]],
  );
  await room.sql(
    `INSERT INTO killed_task (task_id, request_id, killed_at, first_killed_at)
       ${told}, now(), now() FROM task WHERE task_id = ANY ($1)`,
    [[killed, both]],
  );
  for (const [number, gone] of [false, true, false].entries()) {
    await room.sql(
      `INSERT INTO pending_task (id, request_id, deploy_id, instance_no, pending_type, next_run_at, created_at, delete_requested, document)
         VALUES ($1, $2, 'd1', 1, 'ONEOFF', $3, now(), $4, '{}')`,
      [`${id}-d1-${90 - number}-1-ONEOFF-5`, id, new Date(90 - number), gone],
    );
  }
}
const scenes: { name: string; quiet: boolean; set: (id: string) => Promise<unknown> }[] = [
  { name: 'nothing', quiet: true, set: (id) => job(id) },
  { name: 'its tasks and runs that wait', quiet: true, set: busy },
  {
    name: 'a pause',
    quiet: true,
    set: (id) => busy(id).then(() => room.call('POST', `/api/requests/request/${id}/pause`)),
  },
  { name: 'a cron job', quiet: true, set: (id) => job(id, { requestType: 'SCHEDULED', schedule: '0 4 * * *' }) },
  {
    name: 'an expiring action',
    quiet: false,
    set: async (id) => {
      await busy(id);
      await room.call('PUT', `/api/requests/request/${id}/priority`, { priority: 0.7, durationMillis: 60_000 });
    },
  },
  { name: 'no deploy', quiet: true, set: (id) => room.request(id, { requestType: 'ON_DEMAND' }) },
  {
    name: 'health checks',
    quiet: false,
    set: (id) => job(id, {}, { healthcheck: { uri: '/' } }).then(() => room.task(id, 1)),
  },
  {
    name: 'a task of an older deploy',
    quiet: false,
    set: async (id) => {
      await busy(id);
      await room.deploy(id, 'd2');
    },
  },
  {
    name: 'a deploy in progress',
    quiet: false,
    set: async (id) => {
      await busy(id);
      await room.sql(`INSERT INTO pending_deploy (request_id, deploy_id, state) VALUES ($1, 'd1', 'WAITING')`, [id]);
      await room.sql(`UPDATE request SET pending_deploy_id = 'd1' WHERE id = $1`, [id]);
    },
  },
  { name: 'a service', quiet: true, set: (id) => room.request(id).then(() => room.deploy(id)) },
  { name: 'a service and its tasks', quiet: true, set: (id) => busy(id, { requestType: 'SERVICE', instances: 6 }) },
  { name: 'a worker and its tasks', quiet: true, set: (id) => busy(id, { requestType: 'WORKER', instances: 6 }) },
  { name: 'a single run and its tasks', quiet: true, set: (id) => busy(id, { requestType: 'RUN_ONCE' }) },
  {
    name: 'a service that is paused',
    quiet: true,
    set: async (id) => {
      await busy(id, { requestType: 'SERVICE', instances: 6 });
      await room.sql(`UPDATE request SET state = 'PAUSED' WHERE id = $1`, [id]);
    },
  },
  {
    name: 'a load balancer',
    quiet: false,
    set: async (id) => {
      await busy(id, { requestType: 'SERVICE', instances: 6 });
      await room.sql(`UPDATE request SET document = document || '{"loadBalanced": true}' WHERE id = $1`, [id]);
    },
  },
  {
    name: 'a service with health checks',
    quiet: false,
    set: (id) => job(id, { requestType: 'SERVICE' }, { healthcheck: { uri: '/' } }).then(() => room.task(id, 1)),
  },
];
test.each(scenes)(
  'what goes on around a request is answered as ever, and by one statement where that reads all of it: $name',
  async ({ name, quiet, set }) => {
    const id = `around-${name.replaceAll(' ', '-')}`;
    await set(id);
    const watched = watchStatements();
    const parent = await room.app.get(RequestReads).one(id);
    const snapshots = watched.sent().filter(({ sql }) => sql.includes('REPEATABLE READ'));
    watched.end();
    expect(toJson(parent).replaceAll(/"actionId":"[^"]+"/g, '"actionId":"A"')).toMatchSnapshot();
    expect(snapshots).toHaveLength(quiet ? 0 : 1);
    const database = room.app.get(Database);
    const parents = room.app.get(RequestParents);
    expect(toJson(await database.snapshot((tx) => parents.one(tx, id)))).toBe(toJson(parent));
    const sorted = await room.app.get(TaskIdsByStatusService).forRequests(database.pool, [id]);
    expect(sorted.get(id)).toEqual(parent.taskIds);
  },
);

test('what is no longer behind a load balancer is read at once again', async () => {
  const reads = room.app.get(RequestReads);
  await job('leaves', { requestType: 'SERVICE' });
  for (const loadBalanced of [true, false, true, false]) {
    await room.sql('UPDATE request SET document = document || $2 WHERE id = $1', ['leaves', { loadBalanced }]);
    for (let time = 1; time <= 2; time++) expect((await reads.one('leaves')).request.loadBalanced).toBe(loadBalanced);
  }
});

test('nothing goes on around a request that is gone', async () => {
  expect(await room.app.get(RequestReads).find('none')).toBeUndefined();
});

test('when jobs run next is told of each of those that share a read', async () => {
  for (const id of ['shared-1', 'shared-2']) await job(id, { requestType: 'SCHEDULED', schedule: '0 4 * * *' });
  const reads = room.app.get(RequestReads);
  const found = await Promise.all([reads.one('shared-1'), reads.one('shared-2')]);
  expect(found.map(({ nextRuns }) => nextRuns?.length)).toEqual([5, 5]);
});
