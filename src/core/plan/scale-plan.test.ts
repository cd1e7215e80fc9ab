import fc from 'fast-check';
import { expect, test } from 'vitest';
import { progress } from '../../../test/support/fixtures/deploys.js';
import { brief, plannedAt, planTask, planTasks, scaleToPlan } from '../../../test/support/fixtures/plan.js';
import { planScale, type ScaleToPlan } from './index.js';

const waiting = scaleToPlan(3).waiting;
const down = (...numbers: number[]) => numbers.map((number) => `v1/${number} SCALING_DOWN`);

test.each<{ name: string; to: number; changes?: Partial<ScaleToPlan>; step: unknown }>([
  { name: 'up: the next numbers start', to: 5, step: { start: [4, 5], stop: [] } },
  { name: 'down: those beyond the new number go', to: 1, step: { start: [], stop: down(2, 3) } },
  {
    name: 'a gap is filled first',
    to: 4,
    changes: { tasks: [planTask('v1', 1), planTask('v1', 3)] },
    step: { start: [2, 4], stop: [] },
  },
  {
    name: 'one that has to go already is not told again, and is replaced',
    to: 2,
    changes: { tasks: [planTask('v1', 1, { cleanup: 'BOUNCING' }), planTask('v1', 2), planTask('v1', 3)] },
    step: { start: [1], stop: down(3) },
  },
  {
    name: 'a paused request starts nothing',
    to: 5,
    changes: { waiting: { ...waiting, state: 'PAUSED' }, tasks: [] },
    step: { start: [], stop: [] },
  },
  {
    name: 'a request without a deploy has no tasks',
    to: 5,
    changes: { waiting: { ...waiting, activeDeployId: undefined }, tasks: [] },
    step: { start: [], stop: [] },
  },
  {
    name: 'with a bounce: all start anew, and the old ones go when they are replaced',
    to: 4,
    changes: { bounce: { incremental: true } },
    step: { start: [1, 2, 3, 4], stop: [1, 2, 3].map((number) => `v1/${number} INCREMENTAL_BOUNCE`) },
  },
  {
    name: 'down with a bounce: those beyond the new number go for that reason',
    to: 2,
    changes: { bounce: { incremental: false } },
    step: { start: [1, 2], stop: [...down(3), 'v1/1 BOUNCING', 'v1/2 BOUNCING'] },
  },
  {
    name: 'while a deploy is in progress the old deploy gets what it does not take over',
    to: 5,
    changes: {
      waiting: {
        ...waiting,
        pendingDeploy: {
          deployId: 'v2',
          state: 'WAITING',
          progress: progress({ deployInstanceCountPerStep: 1, targetActiveInstances: 2, stepComplete: true }),
        },
      },
      tasks: [planTask('v1', 3), ...planTasks('v2', 2)],
    },
    step: { start: [1, 2], stop: [] },
  },
])('$name', ({ to, changes, step }) => expect(brief(planScale(scaleToPlan(to, changes), plannedAt))).toEqual(step));

test('a request that cools down starts later', () => {
  const cooling = { waiting: { ...waiting, state: 'SYSTEM_COOLDOWN' as const }, failingFast: true };
  const { start } = planScale(scaleToPlan(4, cooling), plannedAt);
  expect(start.map(({ pendingTaskId }) => pendingTaskId.nextRunAt - plannedAt)).toEqual([60_000]);
});

test('after any scale as many tasks stay as were asked for', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 9 }), fc.uniqueArray(fc.integer({ min: 1, max: 3 })), (to, numbers) => {
      fc.pre(to !== 3);
      const tasks = numbers.map((number) => planTask('v1', number));
      const { start, stop } = planScale(scaleToPlan(to, { tasks }), plannedAt);
      expect(tasks.length + start.length - stop.length).toBe(to);
    }),
  );
});
