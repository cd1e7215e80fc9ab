import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { insertPendingTask, insertRequest, makePendingTask, start } from '../../test/support/builders.js';
import { SchedulerWorld } from '../../test/support/scheduler-world.js';
import type { RequestState, RequestType } from '../core/model/enums.js';
import { makePendingTaskId } from '../core/task-id.js';
import { PendingRequestRepository } from '../modules/tasks/pending-request.repository.js';

const second = 1_000;
let world: SchedulerWorld;
const tx = () => world.db.pool;
beforeAll(async () => {
  world = await SchedulerWorld.start();
});
afterAll(() => world.close());
beforeEach(() => tx().query('TRUNCATE request, pending_request, pending_task'));

const begin = () =>
  world.db.leaderTransaction((leaderTx) =>
    world.get(PendingRequestRepository).enqueueStartups(leaderTx, world.now, []),
  );
const queue = () =>
  world.query<{ pending_type: string; request_id: string; deploy_id: string }>(
    'SELECT request_id, deploy_id, pending_type FROM pending_request ORDER BY request_id, deploy_id',
  );
const isQueued = async () => (await queue()).length > 0;

describe('a new leader looks again at', () => {
  test.each<{ state: RequestState; queued: boolean }>([
    { state: 'ACTIVE', queued: true },
    { state: 'SYSTEM_COOLDOWN', queued: true },
    { state: 'DEPLOYING_TO_UNPAUSE', queued: false },
    { state: 'PAUSED', queued: false },
    { state: 'FINISHED', queued: false },
    { state: 'DELETING', queued: false },
  ])('a request that is $state: $queued', async ({ state, queued }) => {
    await insertRequest(tx(), { state, activeDeployId: 'd1' });
    await begin();
    expect(await isQueued()).toBe(queued);
  });

  test.each<{ requestType: RequestType; queued: boolean }>([
    { requestType: 'SERVICE', queued: true },
    { requestType: 'WORKER', queued: true },
    { requestType: 'SCHEDULED', queued: true },
    { requestType: 'ON_DEMAND', queued: false },
    { requestType: 'RUN_ONCE', queued: false },
  ])('a request of type $requestType: $queued', async ({ requestType, queued }) => {
    await insertRequest(tx(), { request: { requestType }, activeDeployId: 'd1' });
    await begin();
    expect(await isQueued()).toBe(queued);
  });

  test('no request without an active deploy', async () => {
    await insertRequest(tx(), { pendingDeployId: 'd2' });
    await begin();
    expect(await queue()).toEqual([]);
  });

  test('each request once, by its active deploy, with an entry STARTUP', async () => {
    await insertRequest(tx(), { activeDeployId: 'd1', pendingDeployId: 'd2' });
    await insertRequest(tx(), { request: { id: 'worker', requestType: 'WORKER' }, activeDeployId: 'd7' });
    await begin();
    await begin();
    expect(await queue()).toEqual([
      { request_id: 'web', deploy_id: 'd1', pending_type: 'STARTUP' },
      { request_id: 'worker', deploy_id: 'd7', pending_type: 'STARTUP' },
    ]);
  });

  test('what waits in the queue already by leaving it as it is', async () => {
    await insertRequest(tx(), { activeDeployId: 'd1' });
    await world.enqueue({ requestId: 'web', pendingType: 'BOUNCE' });
    await begin();
    expect(await queue()).toMatchObject([{ pending_type: 'BOUNCE' }]);
  });
});

describe('a job whose next run is planned is left alone', () => {
  const planned = async (changes: { deployId?: string; createdAt: number }, deleteRequested = false) => {
    await insertRequest(tx(), { request: { requestType: 'SCHEDULED' }, activeDeployId: 'd1' });
    await tx().query('UPDATE request SET changed_at = $1', [new Date(start)]);
    const id = { ...makePendingTask().pendingTaskId, nextRunAt: start + 3_600 * second, ...changes };
    await insertPendingTask(tx(), makePendingTask({ pendingTaskId: makePendingTaskId(id) }));
    if (deleteRequested) await tx().query('UPDATE pending_task SET delete_requested = true');
    await begin();
    return isQueued();
  };

  test('when it was planned at the moment the request changed last, or later', async () => {
    expect(await planned({ createdAt: start })).toBe(false);
  });
  test('but not when the request changed since', async () => {
    expect(await planned({ createdAt: start - 1 })).toBe(true);
  });
  test('but not when it was planned for another deploy', async () => {
    expect(await planned({ createdAt: start, deployId: 'd0' })).toBe(true);
  });
  test('but not when a caller wants the planned run to be deleted', async () => {
    expect(await planned({ createdAt: start }, true)).toBe(true);
  });
  test('while a service is looked at whatever waits for it', async () => {
    await insertRequest(tx(), { activeDeployId: 'd1' });
    await insertPendingTask(tx(), makePendingTask());
    await begin();
    expect(await isQueued()).toBe(true);
  });
});
