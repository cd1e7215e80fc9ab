import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  balance,
  balancedView,
  begunAt,
  deploySettings,
  deployTask,
  deployTasks,
  deployView,
  progress,
  short,
} from '../../../test/support/fixtures/deploys.js';
import { records, update } from '../../../test/support/fixtures/load-balancer.js';
import { decideKills, type CleanupSettings, type CleanupTask } from '../cleanup/index.js';
import { healthContext, isWell } from '../health/index.js';
import type { BalancerRecords } from '../load-balancer/index.js';
import { isTerminal, type TaskCleanupType } from '../model/enums.js';
import type { Request } from '../model/request.js';
import { firstProgress, nextDeployStep, type DeployOutcome, type DeploySnapshot, type DeployTask } from './index.js';

const v1 = { requestId: 'web', id: 'v1', command: 'serve' };
const v2 = { ...v1, id: 'v2', deployStrategy: 'OLD_FIRST' as const };
const oneByOne = progress({ targetActiveInstances: 1, deployInstanceCountPerStep: 1, maxUnavailable: 1 });
const lookAfter = 10_000;
const told = records({ add: update('UNKNOWN') });
const served = (deployId: string, instanceNo: number) =>
  deployTask(deployId, instanceNo, { balancing: records({ add: update('SUCCESS') }) });
const step = (changes: Partial<DeploySnapshot>, after = lookAfter) =>
  nextDeployStep(deployView({ deploy: v2, activeDeploy: v1, progress: oneByOne, ...changes }), begunAt + after);
const retired = (changes: Partial<DeploySnapshot>): string[] => {
  const decided = step(changes);
  return decided.kind === 'proceed' ? short(decided.retire) : [];
};

describe('the first progress', () => {
  const request = { id: 'web', requestType: 'SERVICE' as const, instances: 5 };
  const canary = { enableCanaryDeploy: true, instanceGroupSize: 2, acceptanceMode: 'NONE' as const };
  const canaryDeploySettings = {
    ...canary,
    waitMillisBetweenGroups: 0,
    allowedTasksFailuresPerGroup: 0,
    canaryCycleCount: 1,
  };
  test.each([
    { name: 'one at a time', deploy: v2, perStep: 1, maxUnavailable: 1 },
    { name: 'as many as may be missing', deploy: { ...v2, maxUnavailable: 3 }, perStep: 3, maxUnavailable: 3 },
    {
      name: 'fewer, where the deploy says so',
      deploy: { ...v2, maxUnavailable: 3, deployInstanceCountPerStep: 2 },
      perStep: 2,
      maxUnavailable: 3,
    },
    {
      name: 'groups of a canary',
      deploy: { ...v2, maxUnavailable: 3, canaryDeploySettings },
      perStep: 2,
      maxUnavailable: 3,
    },
    { name: 'all at once, new ones first', deploy: v1, perStep: 5, maxUnavailable: undefined },
  ])('$name', ({ deploy, perStep, maxUnavailable }) => {
    const first = firstProgress(request, deploy, deploySettings, begunAt);
    expect(first).toMatchObject({ targetActiveInstances: perStep, deployInstanceCountPerStep: perStep });
    expect(first?.maxUnavailable).toBe(maxUnavailable);
  });
});

describe('before new tasks start', () => {
  test.each<{ name: string; view: Partial<DeploySnapshot>; ends: string[] }>([
    { name: 'the first old one ends', view: {}, ends: ['v1/1'] },
    {
      name: 'as many end as may be missing',
      view: { progress: { ...oneByOne, targetActiveInstances: 2, maxUnavailable: 2 } },
      ends: ['v1/1', 'v1/2'],
    },
    {
      name: 'none ends for another while the one before has not been made up for',
      view: { tasks: [deployTask('v1', 1, { killed: true }), deployTask('v1', 2), deployTask('v1', 3)] },
      ends: [],
    },
    {
      name: 'none ends where a place is free',
      view: { tasks: [deployTask('v1', 2), deployTask('v1', 3)] },
      ends: [],
    },
    {
      name: 'one that failed by itself counts as missing',
      view: {
        progress: { ...oneByOne, targetActiveInstances: 2, maxUnavailable: 2 },
        tasks: [deployTask('v1', 2), deployTask('v1', 3)],
      },
      ends: ['v1/2'],
    },
    {
      name: 'an old one that is not healthy goes first',
      view: { tasks: [...deployTasks('v1', 2), deployTask('v1', 3, { isSick: true })] },
      ends: ['v1/3'],
    },
    {
      name: 'an old one that has not run for long enough goes first',
      view: { tasks: [...deployTasks('v1', 2), deployTask('v1', 3, { runningAt: begunAt + lookAfter - 1 })] },
      ends: ['v1/3'],
    },
    {
      name: 'the next one ends when the new one is healthy',
      view: {
        progress: { ...oneByOne, targetActiveInstances: 2 },
        tasks: [deployTask('v2', 1), deployTask('v1', 2), deployTask('v1', 3)],
      },
      ends: ['v1/2'],
    },
    {
      name: 'none ends before the new one is healthy',
      view: {
        progress: { ...oneByOne, targetActiveInstances: 2 },
        tasks: [deployTask('v2', 1, { runningAt: undefined }), deployTask('v1', 2), deployTask('v1', 3)],
      },
      ends: [],
    },
    { name: 'none ends where new ones start first', view: { deploy: v1, progress: progress() }, ends: [] },
  ])('$name', ({ view, ends }) => expect(retired(view)).toEqual(ends));

  test('new tasks are asked for, and the time of the step begins anew', () =>
    expect(step({})).toMatchObject({
      progress: { targetActiveInstances: 1, timestamp: begunAt + lookAfter },
      schedule: ['NEW'],
    }));
  test('a new one behind a load balancer counts when it has its traffic', () => {
    const tasks = [deployTask('v2', 1), served('v1', 2), served('v1', 3)];
    const inService = balance('SUCCESS', { added: [tasks[0]!.taskId], removed: [], targetActiveInstances: 1 });
    const view = { deploy: v2, activeDeploy: v1, progress: { ...oneByOne, targetActiveInstances: 2 }, tasks };
    const decide = (changes: Partial<DeploySnapshot>) =>
      nextDeployStep(balancedView({ ...view, ...changes }), begunAt + lookAfter);
    expect(decide({})).toMatchObject({ kind: 'wait' });
    expect(decide({ balance: inService })).toMatchObject({ kind: 'proceed', retire: [tasks[1]!.taskId] });
  });
  test.each<{ name: string; records?: BalancerRecords; ends: string[] }>([
    { name: 'that has it', records: records({ add: update('SUCCESS') }), ends: ['v1/1'] },
    { name: 'that the load balancer was told of does not make up for another', records: told, ends: [] },
    { name: 'that it was not told of goes first', ends: ['v1/3'] },
    {
      name: 'that it was told to let go of goes first',
      records: records({ add: update('SUCCESS'), remove: update('WAITING', 'REMOVE') }),
      ends: ['v1/3'],
    },
  ])('an old one behind a load balancer $name', ({ records: ofThird, ends }) => {
    const tasks = [served('v1', 1), served('v1', 2), deployTask('v1', 3, { balancing: ofThird })];
    const view = balancedView({ deploy: v2, activeDeploy: v1, progress: oneByOne, tasks });
    const decided = nextDeployStep(view, begunAt + lookAfter);
    expect(decided.kind === 'proceed' ? short(decided.retire) : []).toEqual(ends);
  });
  test('the limit of the step grows by the time that old tasks may take to end', () => {
    const tasks = [deployTask('v1', 1, { killed: true }), deployTask('v1', 2), deployTask('v1', 3)];
    expect(step({ tasks, activeGraceMillis: 60_000 }, 185_000)).toMatchObject({ kind: 'wait' });
    expect(step({ tasks, activeGraceMillis: 60_000 }, 185_001)).toMatchObject({ outcome: { deployState: 'OVERDUE' } });
  });
});

describe('another target', () => {
  const complete = { ...oneByOne, currentActiveInstances: 1, stepComplete: true };
  const tasks = [deployTask('v2', 1), deployTask('v1', 2), deployTask('v1', 3)];
  test('asks for nothing before old tasks have ended, and is looked at again at once', () =>
    expect(step({ progress: complete, tasks })).toMatchObject({
      progress: { targetActiveInstances: 2, stepComplete: false },
      schedule: [],
      checkAgainAt: begunAt + lookAfter,
    }));
  test.each([
    { asked: 3, from: 1, target: 2 },
    { asked: 1, from: 3, target: 2 },
    { asked: 2, from: 1, target: 2 },
  ])('$asked after $from aims at $target, where one may be missing', ({ asked, from, target }) =>
    expect(
      step({ progress: { ...complete, targetActiveInstances: from }, tasks, updateTargetInstances: asked }),
    ).toMatchObject({ progress: { targetActiveInstances: target } }),
  );
});

interface Plan {
  instances: number;
  maxUnavailable: number;
  perStep?: number;
  startSeconds: number[];
  endSeconds: number[];
  /** Launches of the new version that die at their start. */
  dies: boolean[];
  maxTaskRetries: number;
  seen: 'rows' | 'turned';
}

const cleanupSettings: CleanupSettings = {
  ...deploySettings,
  killNonLongRunningTasksInCleanupAfterSeconds: 86_400,
  pendingDeployHoldTaskDuringDecommissionMillis: 0,
  loadBalancerRemovalGracePeriodMillis: 0,
  killTaskIfNotHealthyAfterSeconds: 600,
};

type PlayedTask = DeployTask & { startsAt: number; endsAt?: number; order?: TaskCleanupType };

/** Plays machines, queue and placement around the decisions, second by second, until one version runs alone. */
function play({ instances, maxUnavailable, perStep, startSeconds, endSeconds, dies, maxTaskRetries, seen }: Plan) {
  const request: Request = { id: 'web', requestType: 'SERVICE', instances };
  const deploy = { ...v2, maxUnavailable, deployInstanceCountPerStep: perStep, maxTaskRetries };
  const base = deployView({ request, deploy, activeDeploy: v1 });
  let progressNow = firstProgress(request, deploy, base.settings, begunAt)!;
  const old = deployTasks('v1', instances, { runningAt: begunAt - 60_000 });
  let tasks: PlayedTask[] = old.map((task) => ({ ...task, startsAt: 0 }));
  let outcome: DeployOutcome | undefined;
  let launches = 0;
  let mostLive = 0;
  let fewestAvailable = instances;
  const isOf = (id: string) => (task: PlayedTask) => task.taskId.deployId === id;
  const isLive = (task: PlayedTask) => !isTerminal(task.state);
  const stays = (task: PlayedTask) => isLive(task) && task.order === undefined;
  const available = (now: number) =>
    tasks.filter((task) => !task.killed && isWell(task, healthContext(v1, request, false, deploySettings), now)).length;
  for (let second = 0; second < 4_000; second++) {
    const now = begunAt + second * 1000;
    tasks = tasks.map((task) => {
      if (task.endsAt !== undefined && now >= task.endsAt && isLive(task)) return { ...task, state: 'TASK_KILLED' };
      return task.state === 'TASK_STAGING' && now >= task.startsAt
        ? { ...task, state: 'TASK_RUNNING', runningAt: now }
        : task;
    });
    const rows = seen === 'rows' ? tasks : tasks.toReversed();
    if (!outcome) {
      const decided = nextDeployStep(
        { ...base, progress: progressNow, tasks: rows.map((task) => ({ ...task, cleanup: task.order })) },
        now,
      );
      if (decided.kind === 'finish') {
        ({ outcome } = decided);
        const isLeaving = isOf(outcome.deployState === 'SUCCEEDED' ? 'v1' : 'v2');
        const order = outcome.deployState === 'SUCCEEDED' ? 'DEPLOY_STEP_FINISHED' : 'INCREMENTAL_DEPLOY_FAILED';
        tasks = tasks.map((task) => (isLive(task) && isLeaving(task) ? { ...task, order } : task));
      }
      if (decided.kind === 'proceed') {
        progressNow = decided.progress;
        const ids = new Set(decided.retire.map(({ id }) => id));
        tasks = tasks.map((task) => (ids.has(task.taskId.id) ? { ...task, order: 'DEPLOY_STEP_FINISHED' } : task));
      }
    }
    const activeDeployId = outcome?.deployState === 'SUCCEEDED' ? 'v2' : 'v1';
    const view = {
      request,
      requestState: 'ACTIVE' as const,
      activeDeployId,
      pendingDeployId: outcome ? undefined : 'v2',
      deploys: new Map([
        ['v1', v1],
        ['v2', deploy],
      ]),
      tasks: tasks.map(({ order, ...task }): CleanupTask => ({
        ...task,
        cleanup: order && !task.killed ? { taskId: task.taskId, cleanupType: order, timestamp: now } : undefined,
      })),
      settings: cleanupSettings,
    };
    for (const { kind, cleanup } of decideKills(view, now)) {
      if (kind !== 'kill') continue;
      const takes = endSeconds[cleanup.taskId.instanceNo % endSeconds.length]! * 1000;
      tasks = tasks.map((task) =>
        task.taskId.id === cleanup.taskId.id ? { ...task, killed: true, endsAt: now + takes } : task,
      );
    }
    const wanted = outcome ? activeDeployId : 'v2';
    const target = outcome ? instances : progressNow.targetActiveInstances;
    const lacking = target - tasks.filter(stays).filter(isOf(wanted)).length;
    // What dies at its start is made up for in the next second.
    for (let free = Math.min(instances - tasks.filter(isLive).length, lacking); free > 0; free--) {
      launches += 1;
      const isDead = wanted === 'v2' && !outcome && dies[launches % dies.length] === true;
      const startsAt = now + startSeconds[launches % startSeconds.length]! * 1000;
      const fresh = deployTask(wanted, 100 + launches, { state: isDead ? 'TASK_FAILED' : 'TASK_STAGING' });
      tasks = [...tasks, { ...fresh, runningAt: undefined, startsAt }];
    }
    mostLive = Math.max(mostLive, tasks.filter(isLive).length);
    fewestAvailable = Math.min(fewestAvailable, available(now));
    const isDone = outcome && tasks.every((task) => !isLive(task) || stays(task)) && available(now) === instances;
    if (isDone) return { outcome, mostLive, fewestAvailable, left: tasks.filter(isLive), activeDeployId };
  }
  throw new Error(`It never came to an end: ${JSON.stringify(outcome)}`);
}

const anyPlan = fc
  .record({
    instances: fc.integer({ min: 1, max: 6 }),
    most: fc.nat(5),
    step: fc.option(fc.nat(5), { nil: undefined }),
    startSeconds: fc.array(fc.nat(20), { minLength: 1, maxLength: 4 }),
    endSeconds: fc.array(fc.nat(20), { minLength: 1, maxLength: 4 }),
    dies: fc.array(fc.boolean(), { minLength: 1, maxLength: 5 }),
    maxTaskRetries: fc.nat(3),
    seen: fc.constantFrom('rows' as const, 'turned' as const),
  })
  .map(({ most, step: perStep, ...plan }): Plan => {
    const maxUnavailable = 1 + (most % plan.instances);
    return { ...plan, maxUnavailable, perStep: perStep === undefined ? undefined : 1 + (perStep % maxUnavailable) };
  });

test('never more live than instances, never more missing than allowed, and one version alone in the end', () =>
  fc.assert(
    fc.property(anyPlan, (plan) => {
      const { outcome, mostLive, fewestAvailable, left, activeDeployId } = play(plan);
      expect(mostLive).toBeLessThanOrEqual(plan.instances);
      expect(fewestAvailable).toBeGreaterThanOrEqual(plan.instances - plan.maxUnavailable);
      expect(left.map(({ taskId }) => taskId.deployId)).toEqual(Array(plan.instances).fill(activeDeployId));
      if (!plan.dies.includes(true)) expect(outcome?.deployState).toBe('SUCCEEDED');
    }),
  ));
