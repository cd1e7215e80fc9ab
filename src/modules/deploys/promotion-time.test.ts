import { afterAll, beforeAll, expect, test } from 'vitest';
import { insertDeploy, insertRequest, insertTask } from '../../../test/support/builders.js';
import { startRooms, type RoomApp } from '../../../test/support/room-app.js';
import { waitFor } from '../../../test/support/wait-for.js';
import { Wake } from '../../platform/wake/wake.js';
import { DeployRepository } from './deploy.repository.js';
import { DeploysModule } from './deploys.module.js';

let rooms: RoomApp;
beforeAll(async () => {
  // 0: no regular passes, so only the wake-up and the timer of the poller can move the deploy.
  rooms = await startRooms({ modules: [DeploysModule], settings: { checkDeploysEverySeconds: 0 } });
});
afterAll(() => rooms.close());

test('a deploy succeeds at the moment its task has run for long enough, not at some later tick', async () => {
  const tx = rooms.database.pool;
  const store = rooms.app.get(DeployRepository, { strict: false });
  const runningAt = Date.now();
  await insertRequest(tx, { pendingDeployId: 'd1' });
  await insertDeploy(tx, { deploy: { considerHealthyAfterRunningForSeconds: 1 } });
  await insertTask(tx, { startedAt: runningAt, updates: [['TASK_RUNNING', runningAt]] });
  await store.savePending(tx, {
    requestId: 'web',
    deployId: 'd1',
    state: 'WAITING',
    progress: {
      targetActiveInstances: 1,
      currentActiveInstances: 0,
      deployInstanceCountPerStep: 1,
      deployStepWaitTimeMs: 0,
      stepComplete: false,
      autoAdvanceDeploySteps: true,
      failedDeployTasks: [],
      timestamp: runningAt,
    },
  });
  rooms.app.get(Wake).signal('deploys');
  const found = await waitFor(
    'the result',
    async () => (await store.find(tx, { requestId: 'web', deployId: 'd1' }))?.result,
  );
  expect(found.deployState).toBe('SUCCEEDED');
  expect(found.timestamp - runningAt).toBeGreaterThanOrEqual(1_000);
});
