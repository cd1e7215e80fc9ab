import { afterEach, describe, expect, test } from 'vitest';
import type { CanaryDeploySettings, Deploy } from '../../core/model/deploy.js';
import type { Request } from '../../core/model/request.js';
import { canarySettings } from '../../../test/support/fixtures/deploys.js';
import { caller, RollingService } from '../../../test/support/rolling-service.js';
import { Bounces } from '../requests/actions/bounces.service.js';
import { Deletions } from '../requests/actions/deletions.service.js';
import { Runs } from '../requests/actions/runs.service.js';
import { Pauses } from '../requests/actions/pauses.service.js';
import { TaskCleanupRepository } from '../tasks/task-cleanup.repository.js';
import { AcceptanceChecks } from './deploy-acceptance.service.js';
import { DeploysService } from './deploys.service.js';

let service: RollingService;
afterEach(() => service.world.close());

/** Three healthy instances of v1. */
async function serving(request: Partial<Request> = {}): Promise<void> {
  service = await RollingService.start();
  service.behave((deployId) =>
    deployId === 'v3' ? { runFor: 1_000, exit: 'TASK_FAILED', message: 'broken on purpose' } : { startAfter: 700 },
  );
  await service.save(request);
  await service.deploy('v1');
  await service.run(8);
  expect(await service.healthy()).toEqual(['v1', 'v1', 'v1']);
  service.leastServing = Number.POSITIVE_INFINITY;
}

describe('a new version replaces the old one without a gap', () => {
  test.each<{ name: string; changes: Partial<Deploy>; seconds: number }>([
    { name: 'all at once', changes: {}, seconds: 8 },
    { name: 'one by one', changes: { deployInstanceCountPerStep: 1 }, seconds: 24 },
    {
      name: 'two by two, waiting in between',
      changes: { deployInstanceCountPerStep: 2, deployStepWaitTimeMs: 2_000 },
      seconds: 20,
    },
  ])('$name', async ({ changes, seconds }) => {
    await serving();
    await service.deploy('v2', changes);
    await service.run(seconds);
    expect(await service.result('v2')).toMatchObject({ deployState: 'SUCCEEDED' });
    expect(await service.running()).toEqual(['v2', 'v2', 'v2']);
    expect(service.leastServing).toBe(3);
  });
});

test.each<{ name: string; changes: Partial<Deploy> }>([
  { name: 'all at once', changes: {} },
  { name: 'one by one', changes: { deployInstanceCountPerStep: 1 } },
])(
  'a broken version ($name) is rolled back, the old one is untouched and the reason is recorded',
  async ({ changes }) => {
    await serving();
    const before = (await service.world.active('web')).map(({ taskId }) => taskId.id);
    await service.deploy('v3', changes);
    await service.run(10);
    const result = await service.result('v3');
    expect(result?.deployState).toBe('FAILED');
    expect(result?.deployFailures[0]).toMatchObject({ reason: 'TASK_FAILED_ON_STARTUP', message: 'broken on purpose' });
    expect((await service.world.active('web')).map(({ taskId }) => taskId.id)).toEqual(before);
    expect(service.leastServing).toBe(3);
  },
);

test('a version whose later steps break gives back the instances it took over', async () => {
  await serving();
  let launches = 0;
  service.behave((deployId) =>
    deployId === 'v2' && ++launches > 1 ? { runFor: 100, exit: 'TASK_FAILED' } : { startAfter: 700 },
  );
  await service.deploy('v2', { deployInstanceCountPerStep: 1 });
  await service.run(24);
  expect(await service.result('v2')).toMatchObject({ deployState: 'FAILED' });
  expect(await service.running()).toEqual(['v1', 'v1', 'v1']);
  expect(service.leastServing).toBe(3);
});

test('a step that waits for a word goes back when told so, and its tasks are replaced by old ones', async () => {
  await serving();
  await service.deploy('v2', { deployInstanceCountPerStep: 1, autoAdvanceDeploySteps: false });
  await service.run(8);
  expect((await service.running()).sort()).toEqual(['v1', 'v1', 'v2']);
  const update = (target: number) =>
    service.world.get(DeploysService).update({ requestId: 'web', deployId: 'v2' }, target);
  await update(2);
  await service.run(8);
  expect((await service.running()).sort()).toEqual(['v1', 'v2', 'v2']);
  await update(1);
  await service.run(10);
  expect((await service.running()).sort()).toEqual(['v1', 'v1', 'v2']);
  await service.world.get(DeploysService).cancel({ requestId: 'web', deployId: 'v2' }, caller);
  await service.run(10);
  expect(await service.result('v2')).toMatchObject({ deployState: 'CANCELED' });
  expect(await service.running()).toEqual(['v1', 'v1', 'v1']);
});

test('a new task on a machine that is being emptied is replaced before the old ones go, and then goes itself', async () => {
  await serving();
  await service.deploy('v2');
  await service.run(1);
  const moved = (await service.world.active('web')).find(({ taskId }) => taskId.deployId === 'v2')!.taskId;
  const order = { taskId: moved, cleanupType: 'DECOMISSIONING', timestamp: service.world.now } as const;
  await service.world.db.transaction((tx) => service.world.get(TaskCleanupRepository).create(tx, order));
  await service.run(10);
  expect(await service.result('v2')).toMatchObject({ deployState: 'SUCCEEDED' });
  const tasks = await service.world.active('web');
  expect(tasks.map(({ taskId }) => taskId.deployId)).toEqual(['v2', 'v2', 'v2']);
  expect(tasks.map(({ taskId }) => taskId.id)).not.toContain(moved.id);
  expect(service.leastServing).toBe(3);
});

test('a failed task is forgiven as often as the deploy says', async () => {
  await serving();
  let launches = 0;
  service.behave((deployId) => (deployId === 'v2' && ++launches <= 2 ? { runFor: 100, exit: 'TASK_FAILED' } : {}));
  await service.deploy('v2', { maxTaskRetries: 2 });
  await service.run(14);
  expect(await service.result('v2')).toMatchObject({ deployState: 'SUCCEEDED' });
  expect([await service.running(), service.leastServing]).toEqual([['v2', 'v2', 'v2'], 3]);
});

test('a version that gets stuck in a later step gives back the instances it took over, without a gap', async () => {
  await serving();
  let launches = 0;
  service.behave((deployId) => (deployId === 'v2' && ++launches > 1 ? { startAfter: 600_000 } : { startAfter: 700 }));
  await service.deploy('v2', { deployInstanceCountPerStep: 1, deployHealthTimeoutSeconds: 2 });
  await service.run(30);
  expect(await service.result('v2')).toMatchObject({ deployState: 'OVERDUE' });
  expect([await service.running(), service.leastServing]).toEqual([['v1', 'v1', 'v1'], 3]);
});

test('a lowered target of a deploy of all at once, then a cancel: the old tasks are back before the new one goes', async () => {
  await serving();
  await service.deploy('v2');
  await service.world.get(DeploysService).update({ requestId: 'web', deployId: 'v2' }, 1);
  await service.run(7);
  await service.cancel('v2');
  await service.run(10);
  expect(await service.result('v2')).toMatchObject({ deployState: 'CANCELED' });
  expect([await service.running(), service.leastServing]).toEqual([['v1', 'v1', 'v1'], 3]);
});

describe('canary groups', () => {
  const canary = (changes: Partial<CanaryDeploySettings> = {}): Partial<Deploy> => ({
    canaryDeploySettings: canarySettings({ canaryCycleCount: 1, ...changes }),
  });

  test('the first one alone, then everything that is left, without a gap', async () => {
    await serving();
    await service.deploy('v2', canary());
    await service.run(8);
    expect((await service.running()).sort()).toEqual(['v1', 'v1', 'v2', 'v2', 'v2']);
    await service.run(8);
    expect([await service.result('v2'), await service.running()]).toMatchObject([
      { deployState: 'SUCCEEDED' },
      ['v2', 'v2', 'v2'],
    ]);
    expect(service.leastServing).toBe(3);
  });

  test('wait for their checks; when these fail the old tasks are back before the new ones go', async () => {
    await serving();
    let state: 'PENDING' | 'SUCCEEDED' | 'FAILED' = 'PENDING';
    service.world
      .get(AcceptanceChecks)
      .bind({ name: 'errors', check: () => Promise.resolve({ state, message: 'seen' }) });
    await service.deploy('v2', canary({ acceptanceMode: 'CHECKS' }));
    await service.run(9);
    expect(await service.pending()).toMatchObject({ progress: { stepAcceptanceResults: { errors: 'PENDING' } } });
    state = 'SUCCEEDED';
    await service.run(3);
    state = 'FAILED';
    await service.run(12);
    expect(await service.result('v2')).toMatchObject({
      deployState: 'FAILED',
      message: '(errors - PENDING) seen, (errors - SUCCEEDED) seen, (errors - FAILED) seen',
    });
    await service.run(8);
    expect([await service.running(), service.leastServing]).toEqual([['v1', 'v1', 'v1'], 3]);
  });

  test('a task that dies is forgiven as often as a group allows', async () => {
    await serving();
    let launches = 0;
    service.behave((deployId) => (deployId === 'v2' && ++launches <= 2 ? { runFor: 100, exit: 'TASK_FAILED' } : {}));
    await service.deploy('v2', canary({ allowedTasksFailuresPerGroup: 2 }));
    await service.run(24);
    expect([await service.result('v2'), await service.running()]).toMatchObject([
      { deployState: 'SUCCEEDED' },
      ['v2', 'v2', 'v2'],
    ]);
  });

  test('a lower target ends new tasks, and as many old ones stay as are needed', async () => {
    await serving();
    await service.deploy(
      'v2',
      canary({ acceptanceMode: 'TIMED', waitMillisBetweenGroups: 3_600_000, instanceGroupSize: 2 }),
    );
    await service.run(8);
    expect((await service.running()).sort()).toEqual(['v1', 'v1', 'v1', 'v2', 'v2']);
    await service.world.get(DeploysService).update({ requestId: 'web', deployId: 'v2' }, 1);
    await service.run(8);
    expect((await service.running()).sort()).toEqual(['v1', 'v1', 'v2']);
    expect(service.leastServing).toBe(3);
  });
});

test.each([true, false])('a bounce (incremental: %s) replaces all tasks without a gap', async (incremental) => {
  await serving();
  const before = (await service.world.active('web')).map(({ taskId }) => taskId.id);
  await service.world.get(Bounces).bounce('web', { incremental }, caller);
  await service.run(12);
  const after = (await service.world.active('web')).map(({ taskId }) => taskId.id);
  expect(after).toHaveLength(3);
  expect(after.filter((id) => before.includes(id))).toEqual([]);
  expect(service.leastServing).toBe(3);
  expect(await service.world.query('SELECT bouncing FROM request')).toEqual([{ bouncing: false }]);
});

test('a deploy that is in progress when its request is paused ends, and nothing runs', async () => {
  await serving();
  await service.deploy('v2');
  await service.run(1);
  await service.world.get(Pauses).pause('web', {}, caller);
  await service.run(3);
  expect(await service.result('v2')).toMatchObject({
    deployState: 'FAILED',
    message: 'Request is in state PAUSED, which ends the deploy',
  });
  expect(await service.running()).toEqual([]);
  await service.world.get(Pauses).unpause('web', {}, caller);
  await service.run(8);
  expect(await service.healthy()).toEqual(['v1', 'v1', 'v1']);
});

test('a request that is deleted in the middle of a deploy goes with all its tasks, and may be made anew', async () => {
  await serving();
  await service.deploy('v2');
  await service.run(1);
  await service.world.get(Deletions).delete('web', {}, caller);
  await service.run(4);
  expect(await service.running()).toEqual([]);
  expect(await service.world.query('SELECT 1 FROM request UNION ALL SELECT 1 FROM pending_deploy')).toEqual([]);
  expect(await service.result('v2')).toMatchObject({ deployState: 'FAILED' });
  await service.save();
  await service.deploy('v4');
  await service.run(8);
  expect(await service.healthy()).toEqual(['v4', 'v4', 'v4']);
});

describe('jobs', () => {
  const runs = async () => [...service.world.cluster.starts.keys()].map((id) => id.split('-')[1]);
  const launched = async (requestType: Request['requestType'], changes: Partial<Deploy> = {}) => {
    service = await RollingService.start();
    service.behave(() => ({ runFor: 100 }));
    await service.save({
      requestType,
      instances: undefined,
      schedule: requestType === 'SCHEDULED' ? '0 0 1 1 *' : undefined,
    });
    await service.deploy('v1', changes);
    await service.run(3);
  };
  test('RUN_ONCE runs once per deploy', async () => {
    await launched('RUN_ONCE');
    expect(await runs()).toEqual(['v1']);
    await service.deploy('v2');
    await service.run(3);
    expect(await runs()).toEqual(['v1', 'v2']);
  });
  test('ON_DEMAND waits until it is asked for', async () => {
    await launched('ON_DEMAND');
    expect(await runs()).toEqual([]);
    expect(await service.result('v1')).toMatchObject({ deployState: 'SUCCEEDED' });
  });
  test.each(['ON_DEMAND', 'SCHEDULED'] as const)('%s runs at once when its deploy says so', async (requestType) => {
    await launched(requestType, { runImmediately: { runId: 'first' } });
    expect(await runs()).toEqual(['v1']);
  });
  test('a run that waits for room runs with the deploy that came meanwhile', async () => {
    await launched('ON_DEMAND');
    await service.world.get(Runs).run('web', { runId: 'r1', runAt: service.world.now + 2_000 }, {}, caller);
    await service.world.pass();
    await service.deploy('v2');
    await service.run(5);
    expect(await runs()).toEqual(['v2']);
  });
});
