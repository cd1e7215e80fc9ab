import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { insertPendingTask, insertTask, makePendingTask, makeTask, start } from '../../../../test/support/builders.js';
import { startRooms, type RoomApp } from '../../../../test/support/room-app.js';
import { TaskHistoryMoveRepository } from '../task-history-move.repository.js';
import { TrackModule } from './track.module.js';

let rooms: RoomApp;
const tx = () => rooms.database.pool;
beforeAll(async () => {
  rooms = await startRooms({ modules: [TrackModule] });
});
afterAll(() => rooms.close());
beforeEach(() =>
  tx().query('TRUNCATE task, task_launch, task_update, task_history, pending_task, pending_request, request'),
);

const track = (path: string) => rooms.get(`/api/track/${path}`);
const move = (id: string) =>
  rooms.database.leaderTransaction((leader) => rooms.app.get(TaskHistoryMoveRepository).move(leader, [id]));

test('a task shows all it went through, the same before and after it moved to the history', async () => {
  const taskId = await insertTask(tx(), {
    runId: 'r1',
    updates: [
      ['TASK_RUNNING', start + 1],
      ['TASK_FINISHED', start + 2],
    ],
  });
  const expected = {
    taskId,
    pendingTaskId: makeTask().taskRequest.pendingTask.pendingTaskId,
    runId: 'r1',
    currentState: 'TASK_FINISHED',
    taskHistory: [
      { taskId, timestamp: start, taskState: 'TASK_LAUNCHED', previous: [] },
      { taskId, timestamp: start + 1, taskState: 'TASK_RUNNING', previous: [] },
      { taskId, timestamp: start + 2, taskState: 'TASK_FINISHED', previous: [] },
    ],
    pending: false,
  };
  for (const path of [`task/${taskId.id}`, 'run/web/r1']) {
    expect(await track(path)).toMatchObject({ status: 200, body: expected });
  }
  await move(taskId.id);
  for (const path of [`task/${taskId.id}`, 'run/web/r1']) {
    expect((await track(path)).body).toEqual(expected);
  }
});

describe('a run', () => {
  test('can be followed from the queue to its task', async () => {
    await tx().query(
      `INSERT INTO pending_request (request_id, deploy_id, entry_key, pending_type, created_at, run_id, document)
       VALUES ('web', 'd1', 'x', 'ONEOFF', now(), 'r1', '{}')`,
    );
    expect((await track('run/web/r1')).body).toEqual({ runId: 'r1', pending: true, taskHistory: [] });
    const { pendingTaskId } = await insertPendingTask(tx(), makePendingTask({ runId: 'r1' }));
    expect((await track('run/web/r1')).body).toEqual({ runId: 'r1', pendingTaskId, pending: true, taskHistory: [] });
    const taskId = await insertTask(tx(), { runId: 'r1' });
    expect((await track('run/web/r1')).body).toMatchObject({ taskId, currentState: 'TASK_LAUNCHED', pending: false });
  });

  test('of several tasks is the newest', async () => {
    const first = await insertTask(tx(), { runId: 'r1', updates: [['TASK_FAILED', start + 5]] });
    await move(first.id);
    const retry = await insertTask(tx(), { runId: 'r1', startedAt: start + 6 });
    expect((await track('run/web/r1')).body).toMatchObject({ taskId: retry });
  });

  test('is told apart from others of its id by the time at which it was asked for, wherever it stands', async () => {
    const first = await insertTask(tx(), { runId: 'r1', askedAt: start, updates: [['TASK_FINISHED', start + 5]] });
    await move(first.id);
    const [again, queued] = [start + 10, start + 20];
    const { pendingTaskId } = await insertPendingTask(tx(), makePendingTask({ runId: 'r1', askedAt: again }));
    await tx().query(
      `INSERT INTO pending_request (request_id, deploy_id, entry_key, pending_type, created_at, run_id, document)
       VALUES ('web', 'd1', 'x', 'ONEOFF', now(), 'r1', $1)`,
      [JSON.stringify({ askedAt: queued })],
    );
    const asked = async (at: number) => (await track(`run/web/r1?askedAt=${at}`)).body;
    expect(await asked(start)).toMatchObject({ taskId: first, pending: false });
    expect(await asked(again)).toMatchObject({ pendingTaskId, pending: true });
    expect(await asked(queued)).toEqual({ runId: 'r1', pending: true, taskHistory: [] });
    expect(await track(`run/web/r1?askedAt=${start + 1}`)).toMatchObject({
      status: 404,
      body: { code: 'RUN_NOT_FOUND', message: `Request 'web' has no run 'r1' asked for at ${start + 1}` },
    });
    const task = await insertTask(tx(), { runId: 'r1', askedAt: again, startedAt: start + 30 });
    const retry = await insertTask(tx(), { runId: 'r1', askedAt: again, startedAt: start + 40 });
    expect(await asked(again)).toMatchObject({ taskId: retry, pending: false });
    expect(task.id).not.toBe(retry.id);
  });
});

test.each([
  ['task/nope', 400, 'INVALID_PARAMETER'],
  ['task/web-d1-1-1-nowhere-rack', 404, 'TASK_NOT_FOUND'],
  ['run/web/nope', 404, 'RUN_NOT_FOUND'],
])('%s answers %i', async (path, status, code) => {
  expect(await track(path)).toMatchObject({ status, body: { code } });
});
