import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isTerminal } from '../model/enums.js';
import { judgeTask } from '../health/index.js';
import { begunAt, deployTask, deployTasks, deployView } from '../../../test/support/fixtures/deploys.js';
import { firstProgress, nextDeployStep, type DeployOutcome, type DeployTask } from './index.js';

interface Plan {
  instances: number;
  perStep: number | undefined;
  /** Seconds that starting takes, per task in the order of launches. */
  startSeconds: number[];
  /** Launches that die immediately. */
  dies: boolean[];
  maxTaskRetries: number;
}

/** Plays scheduler, machines and cleaner around the engine, second by second, until the deploy ends. */
function rollOut({ instances, perStep, startSeconds, dies, maxTaskRetries }: Plan) {
  const request = { id: 'web', requestType: 'SERVICE' as const, instances };
  const deploy = { requestId: 'web', id: 'v2', deployInstanceCountPerStep: perStep, maxTaskRetries };
  const base = deployView({ request, deploy });
  let progress = firstProgress(request, deploy, base.settings, begunAt)!;
  let tasks: DeployTask[] = deployTasks('v1', instances, { runningAt: begunAt - 60_000 });
  let launches = 0;
  let leastHealthy = instances;
  let outcome: DeployOutcome | undefined;
  for (let second = 0; second < 2_000 && !outcome; second++) {
    const now = begunAt + second * 1000;
    tasks = tasks.map((task) =>
      task.state === 'TASK_STAGING' && now >= task.runningAt! ? { ...task, state: 'TASK_RUNNING' } : task,
    );
    const seen = tasks.map((task) => (task.state === 'TASK_STAGING' ? { ...task, runningAt: undefined } : task));
    const step = nextDeployStep({ ...base, progress, tasks: seen }, now);
    if (step.kind === 'finish') outcome = step.outcome;
    if (step.kind === 'proceed') {
      progress = step.progress;
      const retired = new Set(step.retire.map(({ id }) => id));
      tasks = tasks.map((task) =>
        retired.has(task.taskId.id) ? { ...task, state: 'TASK_KILLED', cleanup: 'DEPLOY_STEP_FINISHED' } : task,
      );
    }
    const active = tasks.filter((task) => task.taskId.deployId === 'v2' && !isTerminal(task.state)).length;
    for (let missing = progress.targetActiveInstances - active; missing > 0; missing--) {
      const runningAt = now + (startSeconds[launches % startSeconds.length] ?? 1) * 1000;
      const died = dies[launches % dies.length] === true;
      launches += 1;
      tasks = [
        ...tasks,
        deployTask('v2', launches, died ? { state: 'TASK_FAILED' } : { state: 'TASK_STAGING', runningAt }),
      ];
    }
    const healthy = tasks.filter(
      (task) =>
        task.state === 'TASK_RUNNING' &&
        judgeTask(task, { ...base, deploy, deployPending: false, requestSkips: false }, now) === 'HEALTHY',
    );
    leastHealthy = Math.min(leastHealthy, healthy.length);
  }
  return { outcome, leastHealthy, tasks };
}

const anyPlan = fc.record<Plan>({
  instances: fc.integer({ min: 1, max: 6 }),
  perStep: fc.option(fc.integer({ min: 1, max: 7 }), { nil: undefined }),
  startSeconds: fc.array(fc.nat(20), { minLength: 1, maxLength: 5 }),
  dies: fc.array(fc.boolean(), { minLength: 1, maxLength: 5 }),
  maxTaskRetries: fc.nat(3),
});

test('a deploy always ends, and the number of healthy instances never falls while it goes on', () => {
  fc.assert(
    fc.property(anyPlan, (plan) => {
      const { outcome, leastHealthy } = rollOut(plan);
      expect(outcome?.deployState).toMatch(/^(SUCCEEDED|FAILED|OVERDUE)$/);
      expect(leastHealthy).toBe(plan.instances);
    }),
  );
});

test('it succeeds exactly when no more launches die than it forgives', () => {
  fc.assert(
    fc.property(anyPlan, (plan) => {
      const { outcome, tasks } = rollOut(plan);
      const dead = tasks.filter((task) => task.state === 'TASK_FAILED').length;
      expect(outcome?.deployState === 'SUCCEEDED').toBe(
        dead === 0 || (plan.maxTaskRetries > 0 && dead <= plan.maxTaskRetries),
      );
    }),
  );
});

test('a deploy of all tasks at once that fails has touched no old task', () => {
  fc.assert(
    fc.property(anyPlan, (plan) => {
      const { outcome, tasks } = rollOut({ ...plan, perStep: undefined });
      const retired = tasks.filter((task) => task.taskId.deployId === 'v1' && isTerminal(task.state));
      if (outcome?.deployState !== 'SUCCEEDED') expect(retired).toEqual([]);
    }),
  );
});
