import { describe, expect, test } from 'vitest';
import type { Request } from '../model/request.js';
import type { PendingTask } from '../model/task.js';
import { makePendingTaskId } from '../task-id.js';
import {
  begunAt,
  deploySettings,
  deployTask,
  deployTasks,
  deployView,
  progress,
} from '../../../test/support/fixtures/deploys.js';
import { finishDeploy, runWith, type DeploySnapshot, type FinishContext } from './index.js';

const endedAt = begunAt + 60_000;
type State = 'SUCCEEDED' | 'FAILED' | 'CANCELED' | 'OVERDUE' | 'FAILED_INTERNAL_STATE';

function finish(deployState: State, changes: Partial<DeploySnapshot> = {}, around: Partial<FinishContext> = {}) {
  const surroundings = { pendingTaskCount: 0, newRunId: () => 'run-1', ...around };
  return finishDeploy(deployView(changes), { deployState, deployFailures: [] }, surroundings, endedAt);
}
const both = [...deployTasks('v1', 3), ...deployTasks('v2', 3)];
const cleaned = (plan: ReturnType<typeof finish>) =>
  plan.cleanups.map(({ taskId, cleanupType }) => `${taskId.deployId}/${taskId.instanceNo} ${cleanupType}`);
const queued = (plan: ReturnType<typeof finish>) =>
  plan.pendingRequests.map(({ deployId, pendingType }) => `${deployId} ${pendingType}`);

describe('success', () => {
  test('promotes the deploy and sends the old tasks home', () => {
    const plan = finish('SUCCEEDED', { tasks: both });
    expect(plan.request).toMatchObject({ state: 'ACTIVE', activeDeployId: 'v2', endBounce: true });
    expect(cleaned(plan)).toEqual([
      'v1/1 DEPLOY_STEP_FINISHED',
      'v1/2 DEPLOY_STEP_FINISHED',
      'v1/3 DEPLOY_STEP_FINISHED',
    ]);
    expect(plan.cleanups[0]).toMatchObject({
      user: 'ann@example.org',
      message: 'Deploy v2 is SUCCEEDED',
      timestamp: endedAt,
    });
    expect(queued(plan)).toEqual([]);
    expect(plan.dropExpiring).toEqual(['BOUNCE']);
    expect(plan.dropOtherPendingTasks).toBe(true);
    expect(plan.history).toEqual([]);
  });
  test('replaces new tasks that were taken away meanwhile', () => {
    const tasks = [...deployTasks('v2', 3), deployTask('v2', 4, { cleanup: 'DECOMISSIONING' })];
    expect(queued(finish('SUCCEEDED', { tasks }))).toEqual(['v2 DEPLOY_FINISHED']);
  });
  test('looks at the request again when it was scaled meanwhile', () => {
    const tooFew = progress({ targetActiveInstances: 2 });
    expect(queued(finish('SUCCEEDED', { progress: tooFew }))).toEqual(['v2 UPDATED_REQUEST']);
    expect(queued(finish('SUCCEEDED', { progress: tooFew, requestState: 'PAUSED' }))).toEqual([]);
  });
  test('stores the request that came with it, and a temporary scale is over', () => {
    const updatedRequest: Request = { id: 'web', requestType: 'SERVICE', instances: 3, owners: ['ann@example.org'] };
    const plan = finish('SUCCEEDED', { updatedRequest });
    expect(plan.request?.document).toEqual(updatedRequest);
    expect(plan.dropExpiring).toEqual(['BOUNCE', 'SCALE']);
    expect(plan.history.map(({ eventType, request }) => [eventType, request])).toEqual([['UPDATED', updatedRequest]]);
  });
  test('wakes a request whose schedule had ended', () => {
    const plan = finish('SUCCEEDED', { requestState: 'FINISHED' });
    expect(plan.request?.state).toBe('ACTIVE');
    expect(plan.history.map(({ eventType }) => eventType)).toEqual(['UPDATED']);
  });
  test('unpauses the request that was deployed for it', () => {
    const plan = finish('SUCCEEDED', { requestState: 'DEPLOYING_TO_UNPAUSE' });
    expect(plan.request?.state).toBe('ACTIVE');
    expect(plan.history.map(({ eventType }) => eventType)).toEqual(['DEPLOYED_TO_UNPAUSE']);
    expect(plan.dropExpiring).toEqual(['BOUNCE', 'PAUSE']);
  });
});

describe('no success', () => {
  test.each<{ state: State; perStep?: number; type: string }>([
    { state: 'FAILED', type: 'DEPLOY_FAILED' },
    { state: 'OVERDUE', type: 'DEPLOY_FAILED' },
    { state: 'CANCELED', type: 'DEPLOY_CANCELED' },
    { state: 'FAILED_INTERNAL_STATE', type: 'DEPLOY_FAILED' },
    { state: 'FAILED', perStep: 1, type: 'INCREMENTAL_DEPLOY_FAILED' },
    { state: 'CANCELED', perStep: 1, type: 'INCREMENTAL_DEPLOY_CANCELLED' },
    { state: 'OVERDUE', perStep: 1, type: 'INCREMENTAL_DEPLOY_FAILED' },
    { state: 'FAILED_INTERNAL_STATE', perStep: 1, type: 'INCREMENTAL_DEPLOY_FAILED' },
    { state: 'FAILED', perStep: 9, type: 'DEPLOY_FAILED' },
  ])('$state with $perStep per step cleans the new tasks as $type', ({ state, perStep = 3, type }) => {
    const tasks = [...deployTasks('v1', 3), deployTask('v2', 1)];
    const plan = finish(state, { tasks, progress: progress({ deployInstanceCountPerStep: perStep }) });
    expect(cleaned(plan)).toEqual([`v2/1 ${type}`]);
    expect(plan.request).toMatchObject({ state: 'ACTIVE', activeDeployId: 'v1', endBounce: false });
    expect(plan.dropOtherPendingTasks).toBe(false);
  });
  test.each<{ name: string; state: State; view?: Partial<DeploySnapshot>; entries: string[] }>([
    { name: 'brings old tasks back', state: 'FAILED', entries: ['v1 DEPLOY_FAILED'] },
    { name: 'brings old tasks back after a cancel', state: 'CANCELED', entries: ['v1 DEPLOY_CANCELLED'] },
    {
      name: 'has nothing to bring back after a first deploy',
      state: 'FAILED',
      view: { activeDeployId: undefined },
      entries: [],
    },
    { name: 'leaves a paused request alone', state: 'FAILED', view: { requestState: 'PAUSED' }, entries: [] },
    {
      name: 'brings old tasks back whatever went wrong',
      state: 'FAILED_INTERNAL_STATE',
      entries: ['v1 DEPLOY_FAILED'],
    },
    {
      name: 'leaves the request alone that it was to unpause',
      state: 'FAILED',
      view: { requestState: 'DEPLOYING_TO_UNPAUSE' },
      entries: [],
    },
  ])('$name', ({ state, view, entries }) => expect(queued(finish(state, view))).toEqual(entries));
  test('pauses the request again that was deployed to unpause it', () => {
    const plan = finish('FAILED', { requestState: 'DEPLOYING_TO_UNPAUSE' });
    expect(plan.request).toMatchObject({ state: 'PAUSED', endBounce: true });
    expect(plan.history.map(({ eventType }) => eventType)).toEqual(['PAUSED']);
    expect(queued(plan)).toEqual([]);
  });
  test('keeps the stored request, not the one that came with the deploy', () => {
    const updatedRequest: Request = { id: 'web', requestType: 'SERVICE', instances: 9 };
    expect(finish('FAILED', { updatedRequest }).request?.document.instances).toBe(3);
  });
  test('leaves the tasks to the pause or deletion that ended the deploy', () => {
    expect(cleaned(finish('FAILED', { requestState: 'PAUSED', tasks: both }))).toEqual([]);
    expect(cleaned(finish('FAILED', { requestState: 'DELETING', tasks: both }))).toEqual([]);
  });
  test('of a request that is gone leaves nothing but its result', () => {
    const plan = finish('FAILED', { requestState: 'MISSING', request: undefined, tasks: both });
    expect(plan).toMatchObject({ cleanups: [], pendingRequests: [], history: [] });
    expect(plan.request).toBeUndefined();
    expect(plan.result).toEqual({ deployState: 'FAILED', deployFailures: [], timestamp: endedAt });
  });
});

describe('jobs', () => {
  const job = (
    requestType: Request['requestType'],
    changes: Partial<DeploySnapshot> = {},
    instances?: number,
  ): Partial<DeploySnapshot> => ({
    request: { id: 'web', requestType, instances },
    progress: undefined,
    activeDeployId: 'v2',
    tasks: [],
    ...changes,
  });
  const run = { commandLineArgs: ['--once'], message: 'now' };
  const running = [deployTask('v1', 1)];
  test.each<{ name: string; view: Partial<DeploySnapshot>; entries: string[] }>([
    { name: 'a SCHEDULED one gets its next run', view: job('SCHEDULED'), entries: ['v2 NEW_DEPLOY'] },
    { name: 'a RUN_ONCE one gets its run', view: job('RUN_ONCE'), entries: ['v2 NEW_DEPLOY'] },
    { name: 'an ON_DEMAND one waits until it is asked for', view: job('ON_DEMAND'), entries: [] },
    { name: 'SCHEDULED, to run at once', view: job('SCHEDULED', withRun()), entries: ['v2 IMMEDIATE'] },
    {
      name: 'SCHEDULED, to run at once, but running',
      view: job('SCHEDULED', { ...withRun(), tasks: running }),
      entries: ['v2 NEW_DEPLOY'],
    },
    { name: 'ON_DEMAND, to run at once', view: job('ON_DEMAND', withRun()), entries: ['v2 ONEOFF'] },
    {
      name: 'ON_DEMAND with room for one more',
      view: job('ON_DEMAND', { ...withRun(), tasks: running }, 2),
      entries: ['v2 ONEOFF'],
    },
    {
      name: 'ON_DEMAND without room',
      view: job('ON_DEMAND', { ...withRun(), tasks: running }, 1),
      entries: ['v2 NEW_DEPLOY'],
    },
  ])('$name', ({ view, entries }) => expect(queued(finish('SUCCEEDED', view))).toEqual(entries));

  test('a run at once carries what was asked for, and gets an id', () => {
    const [entry] = finish('SUCCEEDED', job('ON_DEMAND', withRun())).pendingRequests;
    expect(entry).toMatchObject({
      runId: 'run-1',
      trigger: 'RUN_NOW',
      scheduledAt: entry?.timestamp,
      cmdLineArgsList: ['--once'],
      message: 'now',
      user: 'ann@example.org',
    });
  });
  test('runs that wait are taken over by the new deploy as they were asked for', () => {
    const waiting: PendingTask = {
      pendingTaskId: makePendingTaskId({
        requestId: 'web',
        deployId: 'v1',
        nextRunAt: 99,
        instanceNo: 1,
        pendingType: 'ONEOFF',
        createdAt: 77,
      }),
      cmdLineArgsList: ['a'],
      runId: 'r1',
      user: 'eve',
    };
    expect(runWith('v2', waiting)).toEqual({
      requestId: 'web',
      deployId: 'v2',
      pendingType: 'ONEOFF',
      timestamp: 77,
      runAt: 99,
      cmdLineArgsList: ['a'],
      runId: 'r1',
      user: 'eve',
    });
  });
  test('a RUN_ONCE run that waits under an older deploy still runs', () => {
    expect(finish('SUCCEEDED', job('RUN_ONCE')).dropOtherPendingTasks).toBe(false);
  });
  test('a running SCHEDULED task of the old deploy may end by itself, single runs are not told at all', () => {
    expect(cleaned(finish('SUCCEEDED', job('SCHEDULED', { tasks: running })))).toEqual(['v1/1 DEPLOY_STEP_FINISHED']);
    expect(cleaned(finish('SUCCEEDED', job('ON_DEMAND', { tasks: running })))).toEqual([]);
  });

  function withRun(): Partial<DeploySnapshot> {
    return { deploy: { requestId: 'web', id: 'v2', runImmediately: run }, settings: deploySettings };
  }
});
