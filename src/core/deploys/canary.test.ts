import { describe, expect, test } from 'vitest';
import type { CanaryDeploySettings } from '../model/deploy.js';
import type { RequestType } from '../model/enums.js';
import {
  balance,
  balancedView,
  begunAt,
  canarySettings,
  deploySettings,
  deployTask,
  deployTasks,
  deployView,
  short,
} from '../../../test/support/fixtures/deploys.js';
import {
  finishDeploy,
  firstProgress,
  nextDeployStep,
  withResults,
  type DeployStep,
  type DeploySnapshot,
} from './index.js';
import type { CanaryDeployProgress } from './progress.js';

const deploy = (settings: Partial<CanaryDeploySettings> = {}) => ({
  requestId: 'web',
  id: 'v2',
  command: 'serve',
  canaryDeploySettings: canarySettings(settings),
});
const progress = (changes: Partial<CanaryDeployProgress> = {}): CanaryDeployProgress => ({
  targetActiveInstances: 1,
  currentActiveInstances: 0,
  deployInstanceCountPerStep: 1,
  deployStepWaitTimeMs: 0,
  stepComplete: false,
  autoAdvanceDeploySteps: true,
  failedDeployTasks: [],
  timestamp: begunAt,
  canary: true,
  stepLaunchComplete: false,
  stepAcceptanceResults: {},
  acceptanceResultMessageHistory: [],
  lbUpdates: {},
  ...changes,
});
/** Its tasks are healthy, and it waits to be accepted. */
const launched = (changes: Partial<CanaryDeployProgress> = {}): CanaryDeployProgress =>
  progress({ stepLaunchComplete: true, stepComplete: true, currentActiveInstances: 1, ...changes });
const allAtOnce = { canary: false, targetActiveInstances: 3, deployInstanceCountPerStep: 3, currentActiveInstances: 3 };

const old = deployTasks('v1', 3);
const one = [...old, deployTask('v2', 1)];
const all = [...old, ...deployTasks('v2', 3)];
const step = (view: Partial<DeploySnapshot>, after = 5_000): DeployStep =>
  nextDeployStep(deployView({ deploy: deploy(), progress: progress(), ...view }), begunAt + after);
const retired = (decided: DeployStep) => (decided.kind === 'proceed' ? short(decided.retire) : decided);

describe('the first progress', () => {
  const first = (
    instances: number,
    settings: Partial<CanaryDeploySettings> = {},
    requestType: RequestType = 'SERVICE',
  ) => firstProgress({ id: 'web', requestType, instances }, deploy(settings), deploySettings, begunAt);
  test.each([
    { name: 'aims at the first group', instances: 10, settings: { instanceGroupSize: 2 }, target: 2, groups: true },
    { name: 'at all when there are fewer', instances: 3, settings: { instanceGroupSize: 5 }, target: 3, groups: true },
    {
      name: 'at all when groups are off',
      instances: 10,
      settings: { enableCanaryDeploy: false },
      target: 10,
      groups: false,
    },
  ])('$name', ({ instances, settings, target, groups }) =>
    expect(first(instances, settings)).toMatchObject({
      targetActiveInstances: target,
      currentActiveInstances: 0,
      stepLaunchComplete: false,
      stepAcceptanceResults: {},
      acceptanceResultMessageHistory: [],
      lbUpdates: {},
      failedDeployTasks: [],
      canary: groups,
    }),
  );
  test('of a job is launched already', () => {
    expect(first(1, {}, 'SCHEDULED')).toMatchObject({
      targetActiveInstances: 1,
      currentActiveInstances: 1,
      stepLaunchComplete: true,
    });
  });
  test('without canary settings is that of the classic engine, with or without its fields', () => {
    const classic = { ...deploy(), canaryDeploySettings: undefined, deployInstanceCountPerStep: 1, maxTaskRetries: 2 };
    const made = firstProgress({ id: 'web', requestType: 'SERVICE', instances: 3 }, classic, deploySettings, begunAt);
    expect(made).not.toHaveProperty('canary');
  });
  test('with both kinds of fields is that of the canary engine', () => {
    const both = { ...deploy({ instanceGroupSize: 2 }), deployInstanceCountPerStep: 1 };
    const made = firstProgress({ id: 'web', requestType: 'SERVICE', instances: 3 }, both, deploySettings, begunAt);
    expect(made).toMatchObject({ canary: true, targetActiveInstances: 2, deployInstanceCountPerStep: 2 });
  });
});

describe('groups', () => {
  test('a healthy group is launched first; whether it is accepted is seen in the next look', () => {
    const decided = step({ tasks: one });
    expect(decided).toMatchObject({
      kind: 'proceed',
      progress: { stepLaunchComplete: true, currentActiveInstances: 1, targetActiveInstances: 1 },
      checkAgainAt: begunAt + 5_000,
    });
    expect(retired(decided)).toEqual([]);
  });
  test('an accepted group lets as many old tasks go, and the next one begins with a clean sheet', () => {
    const dead = deployTask('v2', 9, { state: 'TASK_FAILED' });
    const before = launched({ stepAcceptanceResults: { a: 'SUCCEEDED' }, failedDeployTasks: [dead.taskId] });
    const decided = step({ progress: before, tasks: [...one, dead] });
    expect(retired(decided)).toEqual(['v1/1']);
    expect(decided).toMatchObject({
      schedule: ['NEW'],
      progress: {
        targetActiveInstances: 2,
        currentActiveInstances: 1,
        stepLaunchComplete: false,
        stepAcceptanceResults: {},
        failedDeployTasks: [dead.taskId],
        timestamp: begunAt + 5_000,
      },
    });
  });
  test('10 instances in groups of 1 with 3 cycles aim at 1, 2, 3 and then 10', () => {
    const request = { id: 'web', requestType: 'SERVICE' as const, instances: 10 };
    const targets = [1];
    while (targets.at(-1)! < 10) {
      const target = targets.at(-1)!;
      const tasks = [...deployTasks('v1', 10 - target + 1), ...deployTasks('v2', target)];
      const decided = step({ request, progress: launched({ targetActiveInstances: target }), tasks });
      targets.push(decided.kind === 'proceed' ? decided.progress.targetActiveInstances : Number.NaN);
    }
    expect(targets).toEqual([1, 2, 3, 10]);
  });
  test('the deploy succeeds when all instances are accepted', () => {
    expect(step({ progress: launched({ targetActiveInstances: 3 }), tasks: all })).toMatchObject({
      kind: 'finish',
      outcome: { deployState: 'SUCCEEDED' },
    });
  });
  test('a target that a user asks for comes before acceptance; a lower one brings old tasks back', () => {
    const two = launched({
      targetActiveInstances: 2,
      currentActiveInstances: 2,
      stepAcceptanceResults: { a: 'PENDING' },
    });
    expect(step({ progress: two, updateTargetInstances: 1 })).toMatchObject({
      progress: {
        targetActiveInstances: 1,
        currentActiveInstances: 1,
        stepLaunchComplete: false,
        stepAcceptanceResults: {},
      },
      schedule: ['NEW', 'OLD'],
    });
    expect(step({ progress: two, updateTargetInstances: 9 })).toMatchObject({ progress: { targetActiveInstances: 3 } });
  });
  test('a group that does not become healthy in time makes the deploy OVERDUE', () => {
    const tasks = [...old, deployTask('v2', 1, { state: 'TASK_STAGING', runningAt: undefined })];
    expect(step({ tasks }, 125_001)).toMatchObject({ outcome: { deployState: 'OVERDUE' } });
  });
  test('an unhealthy group fails it', () => {
    const checked = { ...deploy(), healthcheck: { uri: '/', failureStatusCodes: [500] } };
    const lastResult = { taskId: deployTask('v2', 1).taskId, timestamp: begunAt, startup: false, statusCode: 500 };
    const tasks = [...old, deployTask('v2', 1, { lastResult, checksCounted: 1 })];
    expect(step({ deploy: checked, tasks })).toMatchObject({ closeChecks: true, outcome: { deployState: 'FAILED' } });
  });
});

describe('acceptance', () => {
  test('TIMED waits after each group, however long that is', () => {
    const timed = deploy({ acceptanceMode: 'TIMED', waitMillisBetweenGroups: 600_000 });
    const view = { deploy: timed, progress: launched(), tasks: one };
    expect(step(view, 600_000)).toEqual({ kind: 'wait', checkAgainAt: begunAt + 600_001, scheduleMissing: false });
    expect(step(view, 600_001)).toMatchObject({ progress: { targetActiveInstances: 2 } });
  });
  const checked = deploy({ acceptanceMode: 'CHECKS' });
  const view = (changes: Partial<CanaryDeployProgress>, names = ['latency', 'errors']) => ({
    deploy: checked,
    progress: launched(changes),
    tasks: one,
    acceptanceChecks: names,
  });
  test('CHECKS without a bound check accepts', () => {
    expect(step(view({}, []))).toMatchObject({ progress: { targetActiveInstances: 2 } });
  });
  test('CHECKS runs each check that has not decided yet, those that could not a second later', () => {
    expect(step(view({}), 0)).toEqual({ kind: 'check', names: ['latency', 'errors'] });
    const undecided = view({ stepAcceptanceResults: { latency: 'SUCCEEDED', errors: 'PENDING' } });
    expect(step(undecided, 500)).toEqual({ kind: 'wait', checkAgainAt: begunAt + 1_000, scheduleMissing: false });
    expect(step(undecided, 1_000)).toEqual({ kind: 'check', names: ['errors'] });
  });
  test('CHECKS accepts when all have succeeded, and never becomes overdue before', () => {
    const results = { latency: 'SUCCEEDED', errors: 'SUCCEEDED' } as const;
    expect(step(view({ stepAcceptanceResults: results }))).toMatchObject({ progress: { targetActiveInstances: 2 } });
    expect(step(view({ stepAcceptanceResults: { ...results, errors: 'PENDING' } }), 9_999_999)).toMatchObject({
      kind: 'check',
    });
  });
  test('one failed check fails the deploy, in the words of all checks so far', () => {
    const said = withResults(
      launched(),
      [
        { name: 'latency', state: 'SUCCEEDED', message: 'as ever' },
        { name: 'errors', state: 'FAILED', message: '3 % of all calls' },
      ],
      begunAt + 100,
    );
    expect(said).toMatchObject({ timestamp: begunAt + 100, stepAcceptanceResults: { errors: 'FAILED' } });
    expect(step({ ...view({}), progress: said })).toMatchObject({
      kind: 'finish',
      outcome: { deployState: 'FAILED', message: '(latency - SUCCEEDED) as ever, (errors - FAILED) 3 % of all calls' },
    });
  });
  test('a check that says the same again and again is quoted once', () => {
    const again = [{ name: 'errors', state: 'PENDING' as const, message: 'too early' }];
    const said = withResults(withResults(launched(), again, 1), again, 2);
    expect(said.acceptanceResultMessageHistory).toEqual(['(errors - PENDING) too early']);
  });
});

describe('failed tasks', () => {
  const dead = (no: number, changes = {}) => deployTask('v2', no, { state: 'TASK_FAILED', ...changes });
  const forgiving = deploy({ allowedTasksFailuresPerGroup: 1 });
  test('are forgiven within a group: replaced, and neither clock nor memory changes', () => {
    expect(step({ deploy: forgiving, tasks: [...old, dead(1)] })).toEqual({
      kind: 'wait',
      scheduleMissing: true,
      checkAgainAt: begunAt + 125_001,
    });
  });
  test('those of earlier groups do not count', () => {
    const second = progress({ targetActiveInstances: 2, failedDeployTasks: [dead(8).taskId] });
    expect(step({ deploy: forgiving, progress: second, tasks: [...one, dead(8), dead(9)] })).toMatchObject({
      kind: 'wait',
    });
  });
  test('one more than allowed fails the deploy, naming all', () => {
    const tasks = [...old, dead(1), dead(2, { state: 'TASK_LOST', statusReason: 'REASON_AGENT_REMOVED' })];
    expect(step({ deploy: forgiving, tasks })).toMatchObject({
      outcome: {
        deployState: 'FAILED',
        message: '1 task of the deploy failed beyond the 1 allowed in a group',
        deployFailures: [{ taskId: dead(1).taskId }, { taskId: dead(2).taskId }],
      },
    });
  });
  test('without an allowance the first one fails the deploy', () => {
    expect(step({ tasks: [...old, dead(1)] })).toMatchObject({ outcome: { deployState: 'FAILED' } });
  });
  test.each(['SCALING_DOWN', 'DECOMISSIONING'] as const)('one that was taken away by %s is none', (cleanup) => {
    expect(step({ tasks: [...one, dead(2, { state: 'TASK_KILLED', cleanup })] })).toMatchObject({ kind: 'proceed' });
  });
  test('while a group waits to be accepted are made up for', () => {
    const timed = deploy({ acceptanceMode: 'TIMED', waitMillisBetweenGroups: 60_000, allowedTasksFailuresPerGroup: 1 });
    expect(step({ deploy: timed, progress: launched(), tasks: [...old, dead(1)] })).toMatchObject({
      kind: 'wait',
      scheduleMissing: true,
    });
  });
  test('old tasks stay for those that died after their group was launched', () => {
    const two = launched({ targetActiveInstances: 2, currentActiveInstances: 2 });
    const tasks = [...deployTasks('v1', 2), deployTask('v2', 1), dead(2)];
    expect(retired(step({ deploy: forgiving, progress: two, tasks }))).toEqual([]);
  });
});

test('a cancel comes before everything else', () => {
  const cancel = { user: 'bob', requestedAt: begunAt };
  const tasks = [...old, deployTask('v2', 1, { state: 'TASK_FAILED' })];
  expect(step({ cancel, tasks })).toMatchObject({ outcome: { deployState: 'CANCELED' } });
});

describe('all at once', () => {
  const swapping = (changes: Partial<CanaryDeploySettings> = {}) => deploy({ enableCanaryDeploy: false, ...changes });
  const balanced = (view: Partial<DeploySnapshot>, after = 5_000) =>
    nextDeployStep(
      balancedView({ deploy: swapping(), progress: progress({ ...allAtOnce, currentActiveInstances: 0 }), ...view }),
      begunAt + after,
    );
  test('is launched, accepted, and then all old tasks go', () => {
    const before = progress({ ...allAtOnce, currentActiveInstances: 0 });
    expect(step({ deploy: swapping(), progress: before, tasks: all })).toMatchObject({
      progress: { stepLaunchComplete: true },
    });
    expect(step({ deploy: swapping(), progress: launched(allAtOnce), tasks: all })).toMatchObject({
      outcome: { deployState: 'SUCCEEDED' },
    });
  });
  test('with a lowered target goes on to all instances before old ones go', () => {
    const lowered = launched({ ...allAtOnce, targetActiveInstances: 1, currentActiveInstances: 1 });
    const decided = step({ deploy: swapping(), progress: lowered, tasks: one });
    expect([retired(decided), decided]).toMatchObject([[], { progress: { targetActiveInstances: 3 } }]);
  });
  test('one swap in the load balancer: all new tasks come, all old ones go', () => {
    const decided = balanced({ tasks: all });
    if (decided.kind !== 'balance') throw new Error('The load balancer was not asked');
    expect(decided.balance.update.loadBalancerRequestId.id).toBe(`web-v2-3-${begunAt + 5_000}`);
    expect([short(decided.balance.added), short(decided.balance.removed)]).toEqual([
      ['v2/1', 'v2/2', 'v2/3'],
      ['v1/1', 'v1/2', 'v1/3'],
    ]);
  });
  test('the step is launched when the load balancer has done it', () => {
    expect(balanced({ tasks: all, balance: balance('SUCCESS') })).toMatchObject({
      kind: 'proceed',
      retire: [],
      progress: { stepLaunchComplete: true },
    });
  });
  test('an update that nothing is known of is an internal error', () => {
    const lost = progress({ ...allAtOnce, pendingLbUpdate: balance('WAITING').update });
    expect(balanced({ tasks: all, progress: lost })).toMatchObject({
      outcome: { deployState: 'FAILED_INTERNAL_STATE' },
    });
  });
  test('checks that fail put the old tasks back first, and then the deploy has failed', () => {
    const failed = launched({
      ...allAtOnce,
      stepAcceptanceResults: { errors: 'FAILED' },
      acceptanceResultMessageHistory: ['(errors - FAILED) 3 %'],
    });
    const view = {
      deploy: swapping({ acceptanceMode: 'CHECKS' }),
      progress: failed,
      tasks: all,
      acceptanceChecks: ['errors'],
    };
    expect(balanced({ ...view, balance: balance('SUCCESS') })).toMatchObject({
      call: 'ENQUEUE',
      balance: {
        isRevert: true,
        update: { loadBalancerRequestId: { id: `web-v1-ADD-FOR-REVERT-${begunAt + 5_000}`, requestType: 'DEPLOY' } },
      },
      ending: { outcome: { deployState: 'FAILED', message: '(errors - FAILED) 3 %' } },
    });
    expect(balanced({ ...view, hasLoadBalancer: false, balance: balance('SUCCESS') })).toMatchObject({
      kind: 'finish',
      outcome: { deployState: 'FAILED', message: '(errors - FAILED) 3 %' },
    });
  });
  test('in groups nothing leaves the load balancer by the deploy: old tasks leave when they go', () => {
    const decided = nextDeployStep(
      balancedView({ deploy: deploy(), progress: progress(), tasks: one }),
      begunAt + 5_000,
    );
    expect(decided).toMatchObject({ kind: 'balance', balance: { removed: [] } });
  });
});

describe('the end', () => {
  const around = { pendingTaskCount: 0, newRunId: () => 'run-1' };
  const cleaned = (deployState: 'FAILED' | 'CANCELED' | 'SUCCEEDED', inGroups: boolean) => {
    const view = deployView({ deploy: deploy(), progress: progress({ canary: inGroups }), tasks: one });
    const plan = finishDeploy(view, { deployState, deployFailures: [] }, around, begunAt);
    return plan.cleanups.map(({ taskId, cleanupType }) => `${taskId.deployId} ${cleanupType}`);
  };
  test.each([
    { state: 'FAILED' as const, inGroups: true, is: ['v2 INCREMENTAL_DEPLOY_FAILED'] },
    { state: 'CANCELED' as const, inGroups: true, is: ['v2 INCREMENTAL_DEPLOY_CANCELLED'] },
    { state: 'FAILED' as const, inGroups: false, is: ['v2 DEPLOY_FAILED'] },
    { state: 'CANCELED' as const, inGroups: false, is: ['v2 DEPLOY_CANCELED'] },
    { state: 'SUCCEEDED' as const, inGroups: true, is: Array.from({ length: 3 }, () => 'v1 DEPLOY_STEP_FINISHED') },
  ])('$state, in groups: $inGroups, cleans $is.0', ({ state, inGroups, is }) =>
    expect(cleaned(state, inGroups)).toEqual(is),
  );
});
