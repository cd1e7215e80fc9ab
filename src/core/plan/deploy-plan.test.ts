import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Deploy } from '../model/deploy.js';
import type { DeployToPlan } from './index.js';
import { canarySettings } from '../../../test/support/fixtures/deploys.js';
import { brief, deployToPlan, planTask, planTasks, plannedAt, stepsOf } from '../../../test/support/fixtures/plan.js';

const plan = (changes: Partial<DeployToPlan>) => stepsOf(deployToPlan(changes)).map(brief);
const v2 = (changes: Partial<Deploy>): Partial<DeployToPlan> => ({
  deploy: { ...deployToPlan().deploy, ...changes },
});
const service = { id: 'web', requestType: 'SERVICE', instances: 3 } as const;
const gone = (...numbers: number[]) => numbers.map((number) => `v1/${number} DEPLOY_STEP_FINISHED`);

describe('the steps of a deploy', () => {
  test.each<{ name: string; changes: Partial<DeployToPlan>; steps: unknown[] }>([
    { name: 'all at once', changes: {}, steps: [{ start: [1, 2, 3], stop: gone(1, 2, 3) }] },
    {
      name: 'one by one: an old task goes for each new one',
      changes: v2({ deployInstanceCountPerStep: 1 }),
      steps: [1, 2, 3].map((number) => ({ start: [number], stop: gone(number) })),
    },
    {
      name: 'the last step is as small as it has to be',
      changes: v2({ deployInstanceCountPerStep: 2, deployStepWaitTimeMs: 500 }),
      steps: [
        { start: [1, 2], stop: gone(1, 2), waitMillis: 500 },
        { start: [3], stop: gone(3) },
      ],
    },
    {
      name: 'the next step waits for a word',
      changes: v2({ deployInstanceCountPerStep: 2, autoAdvanceDeploySteps: false }),
      steps: [
        { start: [1, 2], stop: gone(1, 2), waitsForUpdate: true },
        { start: [3], stop: gone(3) },
      ],
    },
    {
      name: 'old ones first: each ends before a new one starts in its place',
      changes: { ...v2({ deployStrategy: 'OLD_FIRST' }), activeDeploy: { requestId: 'web', id: 'v1' } },
      steps: [
        { start: [], stop: gone(1) },
        { start: [1], stop: gone(2) },
        { start: [2], stop: gone(3) },
        { start: [3], stop: [] },
      ],
    },
    {
      name: 'old ones first, as many as may be missing',
      changes: {
        ...v2({ deployStrategy: 'OLD_FIRST', maxUnavailable: 2 }),
        activeDeploy: { requestId: 'web', id: 'v1' },
      },
      steps: [
        { start: [], stop: gone(1, 2) },
        { start: [1, 2], stop: gone(3) },
        { start: [3], stop: [] },
      ],
    },
    {
      name: 'old ones first, where there are none',
      changes: { ...v2({ deployStrategy: 'OLD_FIRST', maxUnavailable: 3 }), activeDeployId: undefined, tasks: [] },
      steps: [{ start: [1, 2, 3], stop: [] }],
    },
    {
      name: 'the first deploy stops nothing',
      changes: { activeDeployId: undefined, tasks: [] },
      steps: [{ start: [1, 2, 3], stop: [] }],
    },
    {
      name: 'with more instances the old tasks stay longer',
      changes: { ...v2({ deployInstanceCountPerStep: 2 }), updatedRequest: { ...service, instances: 4 } },
      steps: [
        { start: [1, 2], stop: gone(1) },
        { start: [3, 4], stop: gone(2, 3) },
      ],
    },
    {
      name: 'an old task that has to go anyway goes first, for the reason it has',
      changes: {
        ...v2({ deployInstanceCountPerStep: 2 }),
        tasks: [...planTasks('v1', 2), planTask('v1', 3, { cleanup: 'DECOMISSIONING' })],
      },
      steps: [
        { start: [1, 2], stop: ['v1/3 DECOMISSIONING', ...gone(1)] },
        { start: [3], stop: gone(2) },
      ],
    },
    {
      name: 'health checks are taken to pass',
      changes: v2({ healthcheck: { uri: '/' } }),
      steps: [{ start: [1, 2, 3], stop: gone(1, 2, 3) }],
    },
    {
      name: 'a load balancer is taken to agree',
      changes: { request: { ...service, loadBalanced: true } },
      steps: [{ start: [1, 2, 3], stop: gone(1, 2, 3) }],
    },
    {
      name: 'a request that stays paused starts nothing',
      changes: {
        state: 'PAUSED',
        tasks: [],
        settings: { ...deployToPlan().settings, allowDeployOfPausedRequests: true },
      },
      steps: [],
    },
    {
      name: 'a request that is unpaused starts its tasks',
      changes: { state: 'DEPLOYING_TO_UNPAUSE', tasks: [] },
      steps: [{ start: [1, 2, 3], stop: [] }],
    },
    {
      name: 'RUN_ONCE runs once more, beside a run that goes on',
      changes: { request: { id: 'web', requestType: 'RUN_ONCE' }, tasks: planTasks('v1', 1) },
      steps: [{ start: [2], stop: [] }],
    },
    {
      name: 'ON_DEMAND waits until it is asked for',
      changes: { request: { id: 'web', requestType: 'ON_DEMAND' }, tasks: [] },
      steps: [],
    },
    {
      name: 'ON_DEMAND runs when the deploy says so',
      changes: {
        ...v2({ runImmediately: {} }),
        request: { id: 'web', requestType: 'ON_DEMAND' },
        tasks: [],
      },
      steps: [{ start: [1], stop: [] }],
    },
    {
      name: 'SCHEDULED is planned anew; a run that goes on has to end first',
      changes: {
        request: { id: 'web', requestType: 'SCHEDULED', quartzSchedule: '0 0 0 1 1 ?' },
        tasks: planTasks('v1', 1),
      },
      steps: [{ start: [], stop: gone(1) }],
    },
  ])('$name', ({ changes, steps }) => expect(plan(changes)).toEqual(steps));

  test('a planned run of SCHEDULED is due when its schedule says', () => {
    const request = { id: 'web', requestType: 'SCHEDULED', quartzSchedule: '0 0 0 1 1 ?' } as const;
    const [step] = stepsOf(deployToPlan({ request, tasks: [] }));
    expect(step?.start.map(({ pendingTaskId }) => pendingTaskId.nextRunAt > plannedAt)).toEqual([true]);
  });
});

const anyPlan = fc
  .record({
    instances: fc.integer({ min: 1, max: 12 }),
    running: fc.integer({ min: 0, max: 14 }),
    perStep: fc.option(fc.integer({ min: 1, max: 14 }), { nil: undefined }),
    wait: fc.constantFrom(undefined, 1_000),
    auto: fc.boolean(),
    checked: fc.boolean(),
  })
  .map(({ instances, running, perStep, wait, auto, checked }) =>
    deployToPlan({
      request: { ...service, instances },
      tasks: planTasks('v1', running),
      deploy: {
        ...deployToPlan().deploy,
        deployInstanceCountPerStep: perStep,
        deployStepWaitTimeMs: wait,
        autoAdvanceDeploySteps: auto,
        healthcheck: checked ? { uri: '/' } : undefined,
      },
    }),
  );

describe('whatever the deploy', () => {
  test('every instance starts exactly once, every old task goes exactly once, and never too early', () => {
    fc.assert(
      fc.property(anyPlan, (planned) => {
        const steps = stepsOf(planned);
        const instances = planned.request.instances!;
        const started = steps.flatMap(({ start }) => start.map(({ pendingTaskId }) => pendingTaskId.instanceNo));
        expect(started).toEqual(Array.from({ length: instances }, (_, index) => index + 1));
        const stopped = steps.flatMap(({ stop }) => stop.map(({ taskId }) => taskId.id));
        expect(stopped.toSorted()).toEqual(planned.tasks.map(({ taskId }) => taskId.id).toSorted());
        const before = Math.min(planned.tasks.length, instances);
        let serving = planned.tasks.length;
        for (const { start, stop } of steps) {
          serving += start.length - stop.length;
          expect(serving).toBeGreaterThanOrEqual(before);
        }
      }),
    );
  });

  test('the order of the rows never changes the plan', () => {
    fc.assert(
      fc.property(anyPlan, (planned) => {
        const turned = { ...planned, tasks: planned.tasks.toReversed() };
        const unordered = (plan: DeployToPlan) =>
          stepsOf(plan).map((step) => ({ ...brief(step), stop: brief(step).stop.toSorted() }));
        expect(unordered(turned)).toEqual(unordered(planned));
      }),
    );
  });
});

test('gates are taken to pass as soon as they can: each is named after its step, with the least time', () => {
  const canaryDeploySettings = canarySettings({
    canaryCycleCount: 1,
    gates: [
      { type: 'MANUAL', message: 'ask' },
      { type: 'BAKE', durationMillis: 5_000 },
      { type: 'HTTP', uri: 'http://judge', count: 3, intervalMillis: 1_000 },
    ],
  });
  const steps = stepsOf(deployToPlan(v2({ canaryDeploySettings })));
  const gates = [
    { gate: 1, type: 'MANUAL', leastMillis: 0, message: 'ask' },
    { gate: 2, type: 'BAKE', leastMillis: 5_000, message: undefined },
    { gate: 3, type: 'HTTP', leastMillis: 2_000, message: undefined },
  ];
  expect(steps.map((step) => [step.start.length, step.stop.length, step.gates])).toEqual([
    [1, 1, gates],
    [2, 2, gates],
  ]);
});
