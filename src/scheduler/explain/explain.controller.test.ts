import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { insertDeploy, insertPendingTask, insertRequest, makePendingTask } from '../../../test/support/builders.js';
import { startRooms, type RoomApp } from '../../../test/support/room-app.js';
import { makePendingTaskId, makeTaskId } from '../../core/task-id.js';
import { Leadership } from '../../platform/leadership/leadership.js';
import { SchedulerModule } from '../scheduler.module.js';

let rooms: RoomApp;
const tx = () => rooms.database.pool;
const insertSlave = (id: string, resources: object, state = 'ACTIVE') =>
  tx().query(
    `INSERT INTO slave (id, host, rack_id, attributes, resources, agent_id, incarnation, seen_at, first_seen_at, state, state_at)
     VALUES ($1, $1, 'rack-1', '{}', $2, 'a', 'i', now(), now(), $3, now())`,
    [id, JSON.stringify(resources), state],
  );

beforeAll(async () => {
  rooms = await startRooms({ modules: [SchedulerModule] });
  // No instance leads: a round would remove tasks whose deploy is not there.
  rooms.app.get(Leadership).stepDown('this test is about the API');
});
afterAll(() => rooms.close());
beforeEach(() =>
  tx().query('TRUNCATE slave, rack, task, pending_task, pending_request, request, deploy_history, waiting_reason'),
);

test('any instance answers from rows alone: machines by the first reason against each', async () => {
  // Nothing looks at the queue of such a request by itself.
  await insertRequest(tx(), { request: { requestType: 'ON_DEMAND' }, activeDeployId: 'd1' });
  await insertDeploy(tx(), { deploy: { resources: { cpus: 2, memoryMb: 512, numPorts: 1 } } });
  const { pendingTaskId } = await insertPendingTask(tx(), makePendingTask());
  await insertSlave('s1', { cpus: 4, mem: 256, disk: 0, ports: '[31000-31999]' });
  await insertSlave('s2', { cpus: 1, mem: 1_024, disk: 0, ports: '[31000-31999]' });
  await insertSlave('s3', { cpus: 4, mem: 1_024, disk: 0, ports: '[31000-31999]' }, 'FROZEN');
  await insertSlave('s4', { cpus: 4, mem: 1_024, disk: 0, ports: '[]' });
  const answer = {
    pendingTaskId,
    reason: 'NO_MATCHING_SLAVE',
    message:
      'No slave of 4 can take it: 1 too small in cpus (the task asks for 2 cores; it has 1, 1 free), ' +
      '1 too small in memory (the task asks for 512 MB; it has 256, 256 free), ' +
      '1 without enough free ports (the task asks for 1 ports; it has 0, 0 free), 1 frozen',
    slaves: 4,
    fitting: 0,
    rejections: [
      { reason: 'NOT_ENOUGH_CPUS', slaves: 1, asked: 2, largest: 1, free: 1 },
      { reason: 'NOT_ENOUGH_MEMORY', slaves: 1, asked: 512, largest: 256, free: 256 },
      { reason: 'NOT_ENOUGH_PORTS', slaves: 1, asked: 1, largest: 0, free: 0 },
      { reason: 'SLAVE_FROZEN', slaves: 1 },
    ],
  };
  expect(await rooms.get(`/api/tasks/scheduled/task/${pendingTaskId.id}/explain`)).toMatchObject({
    status: 200,
    body: answer,
  });
  expect(await rooms.get('/api/requests/request/web/explain')).toMatchObject({
    status: 200,
    body: { requestId: 'web', state: 'ACTIVE', activeTasks: 0, pendingTasks: [answer], queued: [] },
  });
});

test('of a request whose newest deploy failed it says what to look at first', async () => {
  await insertRequest(tx(), { activeDeployId: 'd1' });
  const taskId = makeTaskId({ requestId: 'web', deployId: 'd2', startedAt: 1, instanceNo: 1, host: 'h', rackId: 'r' });
  const failed = { reason: 'TASK_FAILED_ON_STARTUP', taskId, message: 'Exit code 127' } as const;
  const result = { deployState: 'FAILED', message: 'too bad', timestamp: 3, deployFailures: [failed] } as const;
  await insertDeploy(tx(), {
    deploy: { id: 'd1' },
    createdAt: 1,
    result: { deployState: 'SUCCEEDED', timestamp: 1, deployFailures: [] },
  });
  const explained = async () =>
    (await rooms.get<{ failedDeploy?: object }>('/api/requests/request/web/explain')).body.failedDeploy;
  expect(await explained()).toBeUndefined();
  await insertDeploy(tx(), { deploy: { id: 'd2' }, createdAt: 2, result: { ...result, deployFailures: [failed] } });
  const lookAtFirst = `Look first at its last status message in GET /api/history/task/${taskId.id}, then its output: GET /api/sandbox/${taskId.id}/read?path=stderr and stdout`;
  expect(await explained()).toEqual({ deployId: 'd2', deployState: 'FAILED', message: 'too bad', taskId, lookAtFirst });
});

const waiting = (instanceNo: number) => {
  const parts = { requestId: 'web', deployId: 'd1', nextRunAt: 1, pendingType: 'NEW_DEPLOY', createdAt: 1 } as const;
  return makePendingTask({ pendingTaskId: makePendingTaskId({ ...parts, instanceNo }) });
};

test('the reasons that were noted are listed, of tasks that still wait, whole and page by page', async () => {
  await insertRequest(tx(), { activeDeployId: 'd1' });
  const ids: string[] = [];
  for (const instanceNo of [1, 2, 3]) {
    const { pendingTaskId } = await insertPendingTask(tx(), waiting(instanceNo));
    ids.push(pendingTaskId.id);
    await tx().query(
      `INSERT INTO waiting_reason (pending_task_id, request_id, reason, message, slaves, rejections, at)
       VALUES ($1, 'web', 'NO_MATCHING_SLAVE', 'No slave of 1 can take it: 1 frozen', 1, '[{"reason":"SLAVE_FROZEN","slaves":1}]', $2)`,
      [pendingTaskId.id, new Date(5)],
    );
  }
  await tx().query('UPDATE pending_task SET delete_requested = true WHERE id = $1', [ids[1]]);
  const read = (query: string) =>
    rooms.get<{ pendingTaskId: { id: string } }[]>(`/api/tasks/scheduled/reasons${query}`);
  const idsOf = (body: { pendingTaskId: { id: string } }[]) => body.map(({ pendingTaskId }) => pendingTaskId.id);
  const whole = await read('');
  expect(idsOf(whole.body)).toEqual([ids[0], ids[2]]);
  expect(whole.body[0]).toMatchObject({
    reason: 'NO_MATCHING_SLAVE',
    message: 'No slave of 1 can take it: 1 frozen',
    slaves: 1,
    rejections: [{ reason: 'SLAVE_FROZEN', slaves: 1 }],
    at: 5,
  });
  const first = await read('?limit=1&cursor=*');
  expect(idsOf(first.body)).toEqual([ids[0]]);
  const second = await read(`?limit=1&cursor=${first.headers.get('x-next-cursor')}`);
  expect([idsOf(second.body), second.headers.get('x-next-cursor')]).toEqual([[ids[2]], null]);
});

test('an id that cannot be one is 400, an unknown one 404', async () => {
  const status = async (path: string) => (await rooms.get(path)).status;
  expect(await status('/api/tasks/scheduled/task/nonsense/explain')).toBe(400);
  expect(await status('/api/tasks/scheduled/task/web-d1-1-1-NEW_DEPLOY-1/explain')).toBe(404);
  expect(await status('/api/requests/request/none/explain')).toBe(404);
});
