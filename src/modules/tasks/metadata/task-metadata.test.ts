import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { insertDeploy, insertRequest, insertTask, start, type TaskRow } from '../../../../test/support/builders.js';
import { lockAwaited } from '../../../../test/support/lock-waits.js';
import { startRooms, type RoomApp } from '../../../../test/support/room-app.js';
import type { TaskHistory, TaskId } from '../../../core/model/task.js';
import { Clock } from '../../../platform/clock.js';
import type { Queryable } from '../../../platform/database/queryable.js';
import { HistoryModule } from '../../history/history.module.js';
import { TaskHistoryMoveRepository } from '../../history/task-history-move.repository.js';
import { TasksModule } from '../tasks.module.js';
import { TaskMetadataRepository } from './task-metadata.repository.js';

class HandClock extends Clock {
  millis = start;
  override now(): number {
    return this.millis;
  }
}

const clock = new HandClock();
const settings = { allowedMetadataTypes: ['deploy', 'mail'], maxMetadataTitleLength: 10, maxMetadataPerTask: 3 };
let rooms: RoomApp;
let tx: Queryable;
beforeAll(async () => {
  rooms = await startRooms({ modules: [TasksModule, HistoryModule], settings, clock });
  tx = rooms.database.pool;
});
afterAll(() => rooms.close());
beforeEach(async () => {
  clock.millis = start;
  await tx.query('TRUNCATE request, deploy_history, task, task_launch, task_update, task_metadata, task_history');
  await insertRequest(tx, { activeDeployId: 'd1' });
  await insertDeploy(tx);
});

const insert = (row: TaskRow = {}): Promise<TaskId> => insertTask(tx, { updates: [['TASK_RUNNING', start]], ...row });
const note = (taskId: { id: string }, body: object) =>
  rooms.call('POST', `/api/tasks/task/${taskId.id}/metadata`, { type: 'mail', title: 't', ...body });
const shown = async (taskId: TaskId) =>
  (await rooms.get<TaskHistory>(`/api/history/task/${taskId.id}`)).body.taskMetadata;
const idOf = (taskId: TaskId) => JSON.parse(JSON.stringify(taskId)) as object;

describe('a note on a task', () => {
  test('is stored without an answer and shown with the history of the task, oldest first', async () => {
    const taskId = await insert();
    const answer = await note(taskId, { message: 'm', level: 'WARN' });
    expect([answer.status, answer.body]).toEqual([204, '']);
    clock.millis += 7;
    await note(taskId, { type: 'deploy', title: 'again' });
    expect(await shown(taskId)).toEqual([
      { taskId: idOf(taskId), timestamp: start, type: 'mail', title: 't', message: 'm', level: 'WARN' },
      { taskId: idOf(taskId), timestamp: start + 7, type: 'deploy', title: 'again', level: 'INFO' },
    ]);
  });

  test('of the same type is another one in another millisecond, and 409 in the same', async () => {
    const taskId = await insert();
    expect(await note(taskId, {})).toMatchObject({ status: 204 });
    expect(await note(taskId, { title: 'other' })).toMatchObject({ status: 409, body: { code: 'METADATA_EXISTS' } });
    expect(await note(taskId, { type: 'deploy' })).toMatchObject({ status: 204 });
    clock.millis += 1;
    expect(await note(taskId, {})).toMatchObject({ status: 204 });
  });

  test('is one of no more than maxMetadataPerTask, also of several that come at once', async () => {
    const taskId = await insert();
    for (const type of ['deploy', 'mail']) await note(taskId, { type });
    clock.millis += 1;
    const notes = rooms.app.get(TaskMetadataRepository, { strict: false });
    const add = notes.add.bind(notes);
    let other: ReturnType<typeof note> | undefined;
    vi.spyOn(notes, 'add').mockImplementationOnce(async (...parameters) => {
      const added = await add(...parameters);
      other = note(taskId, { type: 'deploy' });
      await Promise.race([other, lockAwaited(tx)]);
      return added;
    });
    expect(await note(taskId, {})).toMatchObject({ status: 204 });
    expect(await other!).toMatchObject({ status: 400, body: { errors: [{ rule: 'max' }] } });
    vi.restoreAllMocks();
  });

  test.each([
    { body: { type: 'other' }, field: 'type' },
    { body: { type: 'a/b' }, field: 'type' },
    { body: { type: '' }, field: 'type' },
    { body: { type: undefined }, field: 'type' },
    { body: { title: undefined }, field: 'title' },
    { body: { title: 'x'.repeat(10) }, field: 'title' },
    { body: { message: 'x'.repeat(10_000) }, field: 'message' },
    { body: { level: 'FATAL' }, field: 'level' },
    { body: { level: 1 }, field: 'level' },
    { body: { title: 'a\0b' }, field: 'title' },
  ])('is refused with 400 for its $field: $body', async ({ body, field }) => {
    const taskId = await insert();
    const errors = expect.arrayContaining([expect.objectContaining({ field })]) as unknown;
    expect(await note(taskId, body)).toMatchObject({ status: 400, body: { errors } });
    expect(await shown(taskId)).toEqual([]);
  });

  test('is refused with 400 beyond the number that a task may have', async () => {
    const taskId = await insert();
    for (let count = 0; count < 3; count++, clock.millis++)
      expect(await note(taskId, {})).toMatchObject({ status: 204 });
    expect(await note(taskId, {})).toMatchObject({ status: 400, body: { errors: [{ rule: 'max' }] } });
  });

  test('can be attached to a task that has ended, until it moves to the history, and moves with it', async () => {
    const taskId = await insert({ updates: [['TASK_FINISHED', start]] });
    expect(await note(taskId, {})).toMatchObject({ status: 204 });
    await rooms.database.transaction((move) =>
      rooms.app.get(TaskHistoryMoveRepository, { strict: false }).move(move, [taskId.id]),
    );
    expect(await tx.query('SELECT 1 FROM task_metadata')).toEqual([]);
    expect(await shown(taskId)).toMatchObject([{ type: 'mail', title: 't' }]);
    clock.millis += 1;
    expect(await note(taskId, {})).toMatchObject({ status: 404, body: { code: 'TASK_NOT_FOUND' } });
  });

  test('needs a task: 404 without one, 400 for an id that is none', async () => {
    expect(await note({ id: 'web-d1-1-1-nowhere-rack' }, {})).toMatchObject({ status: 404 });
    expect(await note({ id: 'x' }, {})).toMatchObject({ status: 400 });
  });
});
