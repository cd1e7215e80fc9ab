import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { insertDeploy, insertRequest, insertTask } from '../../../test/support/builders.js';
import { SchedulerWorld } from '../../../test/support/scheduler-world.js';
import { VirtualPollers } from '../../../test/support/virtual-pollers.js';
import { Wake } from '../../platform/wake/wake.js';
import { StatusUpdates } from '../../scheduler/status/status-updates.service.js';
import { CleanupModule } from '../tasks/cleanup/cleanup.module.js';
import { RequestCleaner } from '../tasks/cleanup/request-cleaner.service.js';
import { DeploySteps } from './deploy-steps.service.js';
import { DeployRepository } from './deploy.repository.js';
import { DeploysModule } from './deploys.module.js';

let world: SchedulerWorld;
let pollers: VirtualPollers;
let looks: () => string[];
const periodMillis = 60_000;
const ids = Array.from({ length: 50 }, (_, index) => `web${index + 10}`);

/** Fifty services, each with a deploy in progress whose only task has not started yet. Each was looked at once. */
beforeEach(async () => {
  world = await SchedulerWorld.start({ modules: [DeploysModule, CleanupModule] });
  const tx = world.db.pool;
  for (const requestId of ids) {
    await insertRequest(tx, { request: { id: requestId }, pendingDeployId: 'd1' });
    await insertDeploy(tx, { deploy: { requestId, considerHealthyAfterRunningForSeconds: 10 } });
    await insertTask(tx, { requestId, startedAt: world.now });
    await world.get(DeployRepository).savePending(tx, {
      requestId,
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
        timestamp: world.now,
      },
    });
  }
  const chosen = world.pollers.filter(({ name }) => name === 'deploys' || name === 'cleanup');
  pollers = new VirtualPollers(chosen, world.get(Wake), world.now, periodMillis);
  const step = vi.spyOn(world.get(DeploySteps), 'step');
  looks = () => step.mock.calls.splice(0).map(([, requestId]) => requestId);
  await run();
  if (looks().length !== ids.length) throw new Error('Not all were looked at in the beginning');
});
afterEach(() => world.close());

const run = (after = 0) => pollers.runDue(world.now + after, () => Promise.resolve());
const taskOf = async (requestId: string): Promise<string> =>
  (await world.query<{ task_id: string }>('SELECT task_id FROM task WHERE request_id = $1', [requestId]))[0]!.task_id;
const reportRunning = async (requestId: string, number: number) =>
  world.get(StatusUpdates).reported([
    {
      agentId: 'agent-1',
      incarnation: 'i1',
      number,
      taskId: await taskOf(requestId),
      slaveId: 's1',
      state: 'TASK_RUNNING',
      timestamp: world.now,
    },
  ]);

describe('of fifty deploys in progress', () => {
  test('a status of a task of one has that one looked at, and again when its own time has come', async () => {
    await reportRunning('web17', 1);
    await run();
    expect(looks()).toEqual(['web17']);
    await reportRunning('web30', 2);
    await run(10_000);
    // web17 has run for long enough by now: forgotten by no look at another one.
    expect(looks()).toEqual(['web17', 'web30']);
    const deploys = await world.query<{ request_id: string }>('SELECT request_id FROM pending_deploy');
    expect(deploys).toHaveLength(48);
  });

  test('a signal that names none has all looked at', async () => {
    world.get(Wake).signalOf(['web17'], 'deploys');
    world.get(Wake).signal('deploys');
    await run();
    expect(looks()).toEqual(ids);
  });

  test('the timer has all looked at, however many signals about single ones there were', async () => {
    for (const after of [0, 30_000, 59_000]) {
      world.get(Wake).signalOf(['web17'], 'deploys');
      await run(after);
    }
    expect(looks()).toEqual(['web17', 'web17', 'web17']);
    await run(periodMillis);
    expect(looks()).toEqual(ids);
  });
});

test('a status has only the cleanups of its request looked at', async () => {
  const tx = world.db.pool;
  for (const requestId of ['web17', 'web30']) {
    await tx.query(
      `INSERT INTO task_cleanup (task_id, request_id, cleanup_type, created_at) VALUES ($1, $2, 'BOUNCING', now())`,
      [await taskOf(requestId), requestId],
    );
  }
  const clean = vi.spyOn(world.get(RequestCleaner), 'clean');
  await reportRunning('web17', 1);
  await run();
  expect(clean.mock.calls.map(([, requestId]) => requestId)).toEqual(['web17']);
});
