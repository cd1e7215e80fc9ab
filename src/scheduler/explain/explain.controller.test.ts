import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { insertDeploy, insertPendingTask, insertRequest, makePendingTask } from '../../../test/support/builders.js';
import { startRooms, type RoomApp } from '../../../test/support/room-app.js';
import { SchedulerModule } from '../scheduler.module.js';

let rooms: RoomApp;
const tx = () => rooms.database.manager;
const insertSlave = (id: string, resources: object, state = 'ACTIVE') =>
  tx().query(
    `INSERT INTO slave (id, host, rack_id, attributes, resources, agent_id, incarnation, seen_at, first_seen_at, state, state_at)
     VALUES ($1, $1, 'rack-1', '{}', $2, 'a', 'i', now(), now(), $3, now())`,
    [id, JSON.stringify(resources), state],
  );

beforeAll(async () => {
  rooms = await startRooms({ modules: [SchedulerModule] });
});
afterAll(() => rooms.close());
beforeEach(() => tx().query('TRUNCATE slave, rack, task, pending_task, pending_request, request, deploy_history'));

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
      'No slave of 4 can take it: 1 too small in cpus, 1 too small in memory, 1 without enough free ports, 1 frozen',
    slaves: 4,
    fitting: 0,
    rejections: ['NOT_ENOUGH_CPUS', 'NOT_ENOUGH_MEMORY', 'NOT_ENOUGH_PORTS', 'SLAVE_FROZEN'].map((reason) => ({
      reason,
      slaves: 1,
    })),
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

test('an id that cannot be one is 400, an unknown one 404', async () => {
  const status = async (path: string) => (await rooms.get(path)).status;
  expect(await status('/api/tasks/scheduled/task/nonsense/explain')).toBe(400);
  expect(await status('/api/tasks/scheduled/task/web-d1-1-1-NEW_DEPLOY-1/explain')).toBe(404);
  expect(await status('/api/requests/request/none/explain')).toBe(404);
});
