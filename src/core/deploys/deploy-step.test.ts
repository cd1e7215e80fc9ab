import { describe, expect, test } from 'vitest';
import {
  begunAt,
  deploySettings,
  deployTask,
  deployTasks,
  deployView,
  progress,
} from '../../../test/support/fixtures/deploys.js';
import { nextDeployStep, type DeployStep, type DeploySnapshot } from './index.js';

const step = (view: Partial<DeploySnapshot>, after = 0): DeployStep =>
  nextDeployStep(deployView(view), begunAt + after);
const finished = (view: Partial<DeploySnapshot>, after = 0) => {
  const decided = step(view, after);
  return decided.kind === 'finish' ? decided.outcome : decided;
};
const old = deployTasks('v1', 3);
const withHealthcheck = { requestId: 'web', id: 'v2', healthcheck: { uri: '/', maxRetries: 0 } };
const canaryOfThree = {
  enableCanaryDeploy: true,
  instanceGroupSize: 3,
  acceptanceMode: 'NONE' as const,
  waitMillisBetweenGroups: 0,
  allowedTasksFailuresPerGroup: 0,
  canaryCycleCount: 1,
};
const unhealthy = {
  lastResult: { taskId: deployTask('v2', 1).taskId, timestamp: begunAt, startup: false, statusCode: 500 },
  checksCounted: 1,
};

describe('all at once', () => {
  test('waits while tasks are missing, and asks for those that are not queued', () => {
    const waiting = { kind: 'wait', scheduleMissing: true, checkAgainAt: begunAt + 125_001 };
    expect(step({ tasks: [...old, deployTask('v2', 1)] }, 6_000)).toEqual(waiting);
    expect(step({ tasks: [...old, deployTask('v2', 1)], queuedTasks: 2 }, 6_000)).toEqual({
      ...waiting,
      scheduleMissing: false,
    });
  });
  test('waits for the moment at which running for long enough makes it healthy', () => {
    const late = deployTask('v2', 3, { runningAt: begunAt + 2_000 });
    const decided = step({ tasks: [...old, ...deployTasks('v2', 2), late] }, 5_500);
    expect(decided).toEqual({ kind: 'wait', scheduleMissing: false, checkAgainAt: begunAt + 7_000 });
  });
  test('succeeds when all new tasks are healthy', () => {
    expect(finished({ tasks: [...old, ...deployTasks('v2', 3)] }, 5_000)).toEqual({
      deployState: 'SUCCEEDED',
      deployFailures: [],
    });
  });
  test('a healthy deploy is not thrown away because its time is up', () => {
    expect(finished({ tasks: deployTasks('v2', 3) }, 999_999)).toMatchObject({ deployState: 'SUCCEEDED' });
  });
  test('tasks that have to go do not count', () => {
    const going = deployTask('v2', 3, { cleanup: 'DECOMISSIONING' });
    expect(step({ tasks: [...deployTasks('v2', 2), going] }, 5_000)).toMatchObject({
      kind: 'wait',
      scheduleMissing: true,
    });
  });
});

describe('the time limit of a step', () => {
  test('names tasks that never ran', () => {
    const tasks = deployTasks('v2', 3, { state: 'TASK_STAGING', runningAt: undefined });
    expect(finished({ tasks }, 125_000)).toMatchObject({ kind: 'wait' });
    const outcome = finished({ tasks }, 125_001);
    expect(outcome).toMatchObject({ deployState: 'OVERDUE', message: 'Deploy v2 did not become healthy within 125 s' });
    expect(outcome).toHaveProperty('deployFailures.length', 3);
  });
  test('says in its message when there was no room, since no task can be named', () => {
    const message = 'Only 0 of 3 tasks could be launched within 125 s';
    expect(finished({ tasks: old }, 125_001)).toEqual({ deployState: 'OVERDUE', message, deployFailures: [] });
  });
  test.each([
    { name: 'without health checks', deploy: {}, healthy: {} },
    {
      name: 'with health checks',
      deploy: { healthcheck: { uri: '/', maxRetries: 0 } },
      healthy: { lastResult: { ...unhealthy.lastResult, statusCode: 200 }, checksCounted: 1 },
    },
    {
      name: 'with health checks that one of them was launched without',
      deploy: { healthcheck: { uri: '/', maxRetries: 0 } },
      healthy: { launchedWithSkip: true },
    },
    { name: 'step by step', deploy: { deployInstanceCountPerStep: 3 }, healthy: {} },
    { name: 'as a canary', deploy: { canaryDeploySettings: canaryOfThree }, healthy: {} },
  ])('names the instance that found no place, and none that is healthy: $name', ({ deploy, healthy }) => {
    const tasks = [...old, deployTask('v2', 1, healthy), deployTask('v2', 3, healthy)];
    const view = { deploy: { requestId: 'web', id: 'v2', deployHealthTimeoutSeconds: 10, ...deploy }, tasks };
    expect(finished({ ...view, queuedTasks: 1 }, 999_999)).toEqual({
      deployState: 'OVERDUE',
      message: expect.stringMatching(
        /^Only 2 of 3 tasks could be launched within \d+ s; missing: instance 2$/,
      ) as string,
      deployFailures: [],
    });
    const staging = deployTask('v2', 4, { state: 'TASK_STAGING', runningAt: undefined });
    const wanted = progress({ targetActiveInstances: 4 });
    expect(finished({ ...view, progress: wanted, tasks: [...tasks, staging] }, 999_999)).toMatchObject({
      deployFailures: [
        { reason: 'TASK_NEVER_ENTERED_RUNNING', taskId: staging.taskId },
        { reason: 'TASK_COULD_NOT_BE_SCHEDULED' },
      ],
    });
  });
  test('grows by the time that health checks may take', () => {
    const deploy = {
      requestId: 'web',
      id: 'v2',
      deployHealthTimeoutSeconds: 10,
      healthcheck: { uri: '/', maxRetries: 1 },
    };
    const tasks = deployTasks('v2', 3);
    expect(finished({ deploy, tasks }, 75_000)).toMatchObject({ kind: 'wait' });
    expect(finished({ deploy, tasks }, 75_001)).toMatchObject({ deployState: 'OVERDUE' });
  });
});

describe('failures', () => {
  const dead = deployTask('v2', 1, { state: 'TASK_FAILED', statusMessage: 'exit 1' });
  test('a dead task fails the deploy, with the reason', () => {
    const failure = { reason: 'TASK_FAILED_ON_STARTUP', taskId: dead.taskId, message: 'exit 1' };
    expect(finished({ tasks: [...old, dead] })).toEqual({
      deployState: 'FAILED',
      message: '1 task of the deploy failed',
      deployFailures: [failure],
    });
  });
  test('an unhealthy task fails the deploy, and closes its checks', () => {
    const tasks = deployTasks('v2', 3, unhealthy);
    const decided = step({ deploy: withHealthcheck, tasks });
    expect(decided).toMatchObject({ kind: 'finish', closeChecks: true, outcome: { deployState: 'FAILED' } });
    expect(decided).toHaveProperty('outcome.deployFailures.0.reason', 'TASK_FAILED_HEALTH_CHECKS');
  });
  test('an allowed one is remembered and replaced, once', () => {
    const deploy = { requestId: 'web', id: 'v2', maxTaskRetries: 1 };
    const decided = step({ deploy, tasks: [...old, dead] }, 3_000);
    const remembered = progress({ failedDeployTasks: [dead.taskId], timestamp: begunAt + 3_000 });
    expect(decided).toEqual({ kind: 'proceed', progress: remembered, retire: [], schedule: ['NEW'] });
    expect(step({ deploy, progress: remembered, tasks: [...old, dead] }, 4_000)).toMatchObject({ kind: 'wait' });
  });
  test('one more than allowed fails the deploy', () => {
    const deploy = { requestId: 'web', id: 'v2', maxTaskRetries: 1 };
    const tasks = [dead, deployTask('v2', 2, { state: 'TASK_KILLED' })];
    const outcome = finished({ deploy, progress: progress({ failedDeployTasks: [dead.taskId] }), tasks });
    expect(outcome).toMatchObject({
      deployState: 'FAILED',
      message: '1 task of the deploy failed beyond the 1 allowed retries',
    });
  });
  test('tasks lost with their machine do not use up retries, those lost by their container do', () => {
    const deploy = { requestId: 'web', id: 'v2', maxTaskRetries: 1 };
    const lost = (no: number, statusReason: string) => deployTask('v2', no, { state: 'TASK_LOST', statusReason });
    const tasks = [dead, lost(2, 'REASON_AGENT_REMOVED'), lost(3, 'REASON_AGENT_REMOVED')];
    expect(step({ deploy, tasks })).toMatchObject({ kind: 'proceed', schedule: ['NEW'] });
    expect(finished({ deploy, tasks: [dead, lost(2, 'REASON_CONTAINER_LIMITATION')] })).toMatchObject({
      deployState: 'FAILED',
    });
  });
  test.each(['SCALING_DOWN', 'DECOMISSIONING', 'BOUNCING'] as const)(
    'a task that went by %s is no failure',
    (cleanup) => {
      const gone = deployTask('v2', 3, { state: 'TASK_KILLED', cleanup });
      expect(finished({ tasks: [...deployTasks('v2', 3), gone] }, 5_000)).toMatchObject({ deployState: 'SUCCEEDED' });
    },
  );
  test('a task that a user killed is one', () => {
    const gone = deployTask('v2', 3, { state: 'TASK_KILLED', cleanup: 'USER_REQUESTED' });
    expect(finished({ tasks: [...deployTasks('v2', 2), gone] })).toMatchObject({ deployState: 'FAILED' });
  });
});

describe('cancel', () => {
  const cancel = { user: 'bob@example.org', requestedAt: Date.UTC(2026, 0, 5, 12) };
  test('ends the deploy, naming who and when', () => {
    const message = 'Canceled by bob@example.org at 2026-01-05T12:00:00.000Z';
    expect(finished({ cancel })).toEqual({ deployState: 'CANCELED', message, deployFailures: [] });
  });
  test('comes too late when a task has failed', () => {
    expect(finished({ cancel, tasks: [deployTask('v2', 1, { state: 'TASK_FAILED' })] })).toMatchObject({
      deployState: 'FAILED',
    });
  });
});

describe('step by step', () => {
  const oneByOne = (changes = {}) => progress({ targetActiveInstances: 1, deployInstanceCountPerStep: 1, ...changes });
  const ids = (decided: DeployStep) =>
    decided.kind === 'proceed'
      ? decided.retire.map(({ deployId, instanceNo }) => `${deployId}/${instanceNo}`)
      : decided;

  test('a healthy step lets as many old tasks go as new ones serve, lowest number first', () => {
    const decided = step({ progress: oneByOne(), tasks: [...old, deployTask('v2', 1)] }, 5_000);
    expect(ids(decided)).toEqual(['v1/1']);
    expect(decided).toMatchObject({
      progress: { currentActiveInstances: 1, stepComplete: true, timestamp: begunAt + 5_000 },
      schedule: [],
    });
  });
  test('an old task that has to go anyway goes first', () => {
    const tasks = [...deployTasks('v1', 2), deployTask('v1', 3, { cleanup: 'DECOMISSIONING' }), deployTask('v2', 1)];
    expect(ids(step({ progress: oneByOne(), tasks }, 5_000))).toEqual(['v1/3']);
  });
  test('nothing is let go while a replacement of old ones is missing', () => {
    const tasks = [...deployTasks('v1', 2), deployTask('v2', 1)];
    expect(ids(step({ progress: oneByOne(), tasks }, 5_000))).toEqual([]);
  });
  test('the next step begins after its wait', () => {
    const complete = oneByOne({ stepComplete: true, currentActiveInstances: 1, deployStepWaitTimeMs: 1_000 });
    expect(step({ progress: complete }, 1_000)).toEqual({
      kind: 'wait',
      scheduleMissing: false,
      checkAgainAt: begunAt + 1_001,
    });
    expect(step({ progress: complete }, 1_001)).toMatchObject({
      progress: { targetActiveInstances: 2, stepComplete: false },
      schedule: ['NEW'],
    });
  });
  test('without automatic advance only a user can begin it', () => {
    const complete = oneByOne({ stepComplete: true, autoAdvanceDeploySteps: false });
    expect(step({ progress: complete }, 999_999)).toEqual({
      kind: 'wait',
      scheduleMissing: false,
      checkAgainAt: undefined,
    });
    expect(step({ progress: complete, updateTargetInstances: 9 })).toMatchObject({
      progress: { targetActiveInstances: 3 },
    });
  });
  test('a completed step is never overdue', () => {
    expect(step({ progress: oneByOne({ stepComplete: true, autoAdvanceDeploySteps: false }) }, 999_999)).toMatchObject({
      kind: 'wait',
    });
  });
  test('a lower target brings old tasks back', () => {
    const two = oneByOne({ targetActiveInstances: 2, stepComplete: true });
    expect(step({ progress: two, updateTargetInstances: 1 })).toMatchObject({
      progress: { targetActiveInstances: 1 },
      schedule: ['NEW', 'OLD'],
    });
  });
  test('another target restarts the step, the same one does not', () => {
    const tasks = [...old, deployTask('v2', 1)];
    expect(step({ progress: oneByOne(), tasks, updateTargetInstances: 2 }, 1_000)).toMatchObject({
      progress: { targetActiveInstances: 2, timestamp: begunAt + 1_000 },
    });
    expect(step({ progress: oneByOne(), tasks, updateTargetInstances: 1 }, 1_000)).toMatchObject({ kind: 'wait' });
  });
  test('a scale up meanwhile adds steps', () => {
    const request = { id: 'web', requestType: 'SERVICE' as const, instances: 4 };
    const all = progress({ targetActiveInstances: 3 });
    expect(step({ request, progress: all, tasks: deployTasks('v2', 3) }, 5_000)).toMatchObject({
      kind: 'proceed',
      progress: { stepComplete: true },
    });
  });
});

describe('what ends a deploy at once', () => {
  test.each<{ name: string; view: Partial<DeploySnapshot>; outcome: object }>([
    {
      name: 'a pause',
      view: { requestState: 'PAUSED' },
      outcome: { deployState: 'FAILED', message: 'Request is in state PAUSED, which ends the deploy' },
    },
    { name: 'a deletion', view: { requestState: 'DELETING' }, outcome: { deployState: 'FAILED' } },
    {
      name: 'a request that is gone',
      view: { requestState: 'MISSING', request: undefined },
      outcome: { deployState: 'FAILED', message: 'Request is in state MISSING, which ends the deploy' },
    },
    {
      name: 'a job, whose tasks are not rolled out',
      view: { request: { id: 'web', requestType: 'SCHEDULED' } },
      outcome: { deployState: 'SUCCEEDED' },
    },
    {
      name: 'a pause during which deploys are allowed',
      view: { requestState: 'PAUSED', settings: { ...deploySettings, allowDeployOfPausedRequests: true } },
      outcome: { deployState: 'SUCCEEDED' },
    },
    { name: 'lost progress', view: { progress: undefined }, outcome: { deployState: 'FAILED' } },
    { name: 'lost data', view: { deploy: undefined }, outcome: { deployState: 'FAILED_INTERNAL_STATE' } },
  ])('$name', ({ view, outcome }) => expect(finished(view)).toMatchObject(outcome));

  test.each(['SYSTEM_COOLDOWN', 'DEPLOYING_TO_UNPAUSE', 'FINISHED'] as const)(
    'but not the state %s',
    (requestState) => {
      expect(finished({ requestState })).toMatchObject({ kind: 'wait' });
    },
  );
});
