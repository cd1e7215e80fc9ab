import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startRooms, type RoomApp } from '../../../test/support/room-app.js';
import type { PendingRequest } from '../../core/model/task.js';
import { PendingRequestRepository } from './pending-request.repository.js';
import { TaskStoreModule } from './task-store.module.js';

let rooms: RoomApp;
beforeAll(async () => {
  rooms = await startRooms({ modules: [TaskStoreModule] });
});
afterAll(() => rooms.close());
beforeEach(() => rooms.database.pool.query('TRUNCATE pending_request'));

const entry = (pendingType: PendingRequest['pendingType'], own: Partial<PendingRequest> = {}): PendingRequest => ({
  requestId: 'svc',
  deployId: 'd1',
  timestamp: 1_000,
  pendingType,
  ...own,
});
const enqueue = (...entries: PendingRequest[]) =>
  rooms.database.transaction(async (tx) => {
    const results: string[] = [];
    for (const each of entries) results.push(await rooms.app.get(PendingRequestRepository).enqueue(tx, each));
    return results;
  });
const waiting = async () =>
  (await rooms.app.get(PendingRequestRepository).list(rooms.database.pool)).map(
    (each) => `${each.deployId} ${each.pendingType}`,
  );

test('one entry waits per request and deploy: a newcomer is dropped and its sender told', async () => {
  expect(await enqueue(entry('BOUNCE'), entry('TASK_DONE'), entry('TASK_DONE', { deployId: 'd2' }))).toEqual([
    'CREATED',
    'EXISTED',
    'CREATED',
  ]);
  expect(await waiting()).toEqual(['d1 BOUNCE', 'd2 TASK_DONE']);
});

test('a STARTUP entry gives way to any other, and never takes the place of one', async () => {
  expect(await enqueue(entry('STARTUP'), entry('STARTUP'), entry('TASK_DONE'), entry('STARTUP'))).toEqual([
    'CREATED',
    'EXISTED',
    'CREATED',
    'EXISTED',
  ]);
  expect(await waiting()).toEqual(['d1 TASK_DONE']);
});

test('the end of a pause takes the place of the end of a run and of a former pause, and of nothing else', async () => {
  const unpaused = entry('UNPAUSED', { timestamp: 2_000 });
  const first = await enqueue(entry('TASK_DONE'), entry('UNPAUSED'), unpaused);
  expect(first).toEqual(['CREATED', 'CREATED', 'CREATED']);
  const [found] = await rooms.app.get(PendingRequestRepository).list(rooms.database.pool);
  expect(found).toEqual(unpaused);
  const ofDeploy = [entry('NEW_DEPLOY', { deployId: 'd2' }), entry('UNPAUSED', { deployId: 'd2' })];
  expect(await enqueue(entry('TASK_DONE'), ...ofDeploy)).toEqual(['EXISTED', 'CREATED', 'EXISTED']);
});

test('any number of runs may wait at once, each time and run id once', async () => {
  const run = entry('ONEOFF', { runId: 'a' });
  const results = await enqueue(
    run,
    { ...run, runId: 'b' },
    { ...run, timestamp: 2_000 },
    { ...run, pendingType: 'IMMEDIATE', runId: 'c' },
    run,
  );
  expect(results).toEqual(['CREATED', 'CREATED', 'CREATED', 'CREATED', 'EXISTED']);
});

test('a run that is tried again waits beside whatever else waits, also without an id', async () => {
  const retry = entry('RETRY', { timestamp: 2_000 });
  expect(await enqueue(entry('NEW_DEPLOY'), retry, entry('TASK_DONE'), retry)).toEqual([
    'CREATED',
    'CREATED',
    'EXISTED',
    'CREATED',
  ]);
  expect(await waiting()).toEqual(['d1 NEW_DEPLOY', 'd1 RETRY', 'd1 RETRY']);
});

test('the queue is read oldest first', async () => {
  await enqueue(
    entry('BOUNCE', { timestamp: 3_000 }),
    entry('BOUNCE', { timestamp: 1_000, deployId: 'd2' }),
    entry('ONEOFF', { timestamp: 2_000 }),
  );
  expect(await waiting()).toEqual(['d2 BOUNCE', 'd1 ONEOFF', 'd1 BOUNCE']);
});
