import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { CanaryDeploySettings, Deploy } from '../model/deploy.js';
import type { LoadBalancerState } from '../model/enums.js';
import type { LoadBalancerUpdate } from '../model/load-balancer.js';
import { makeTaskId } from '../task-id.js';
import { balancedView, begunAt, deployTasks } from '../../../test/support/fixtures/deploys.js';
import {
  balanceIdText,
  firstProgress,
  nextDeployStep,
  withBalance,
  type DeployBalance,
  type DeployOutcome,
  type DeployTask,
  type DeploySnapshot,
  type LoadBalancerCall,
} from './index.js';

/** ok: done and said so. late: done when asked about it. lost: done, and the answer is lost. down: nothing happens. */
type Mood = 'ok' | 'late' | 'refuse' | 'lost' | 'down';

interface Plan {
  instances: number;
  perStep?: number;
  canary?: Partial<CanaryDeploySettings>;
  moods: Mood[];
  /** Second at which a user cancels. */
  cancelAt?: number;
  /** Second at which a new task dies. */
  dieAt?: number;
  maxTaskRetries: number;
}

/** A load balancer that does what its moods say, each change once. */
class MoodyBalancer {
  readonly serving = new Set<string>();
  private readonly changes = new Map<string, { state: LoadBalancerState; balance: DeployBalance }>();
  private calls = 0;

  constructor(private readonly moods: readonly Mood[]) {}

  call({ call, balance }: LoadBalancerCall, now: number): LoadBalancerUpdate {
    const mood = this.moods[this.calls++ % this.moods.length]!;
    const method = call === 'STATE' ? 'CHECK_STATE' : call;
    return { ...balance.update, method, timestamp: now, loadBalancerState: this.answer(call, balance, mood) };
  }

  private answer(call: LoadBalancerCall['call'], balance: DeployBalance, mood: Mood): LoadBalancerState {
    if (mood === 'down') return 'UNKNOWN';
    const id = balanceIdText(balance);
    const known = this.changes.get(id);
    if (call === 'CANCEL' && known?.state === 'WAITING') known.state = 'CANCELED';
    if (call === 'STATE' && known?.state === 'WAITING') this.carryOut(known);
    if (call === 'ENQUEUE' && !known) {
      const change = { state: 'WAITING' as LoadBalancerState, balance };
      this.changes.set(id, change);
      if (mood === 'refuse') change.state = 'FAILED';
      else if (mood !== 'late') this.carryOut(change);
    }
    return mood === 'lost' ? 'UNKNOWN' : (this.changes.get(id)?.state ?? 'UNKNOWN');
  }

  private carryOut(change: { state: LoadBalancerState; balance: DeployBalance }): void {
    change.state = 'SUCCESS';
    for (const { id } of change.balance.removed) this.serving.delete(id);
    for (const { id } of change.balance.added) this.serving.add(id);
  }
}

/** Plays every part around the engine, second by second, until the deploy ends. */
function rollOut({ instances, perStep, canary, moods, cancelAt, dieAt, maxTaskRetries }: Plan) {
  const request = { id: 'web', requestType: 'SERVICE' as const, instances, loadBalanced: true };
  const canaryDeploySettings = canary && { ...plainCanary, ...canary };
  const deploy: Deploy = {
    requestId: 'web',
    id: 'v2',
    command: 'serve',
    deployInstanceCountPerStep: perStep,
    maxTaskRetries,
    deployHealthTimeoutSeconds: 10,
    canaryDeploySettings,
  };
  const balancer = new MoodyBalancer(moods);
  let tasks: DeployTask[] = deployTasks('v1', instances, { runningAt: begunAt - 60_000 });
  for (const { taskId } of tasks) balancer.serving.add(taskId.id);
  let view: DeploySnapshot = balancedView({ request, deploy });
  view = { ...view, progress: firstProgress(request, deploy, view.settings, begunAt) };
  let launches = 0;
  let leastServing = instances;
  let outcome: DeployOutcome | undefined;
  const isUp = (task: DeployTask) => task.state === 'TASK_RUNNING';
  for (let second = 0; second < 1_000 && !outcome; second++) {
    const now = begunAt + second * 1000;
    if (second === dieAt) {
      const victim = tasks.find((task) => task.taskId.deployId === 'v2' && isUp(task));
      tasks = tasks.map((task) => (task === victim ? { ...task, state: 'TASK_FAILED' } : task));
    }
    if (second === cancelAt) view = { ...view, cancel: { requestedAt: now } };
    for (let looks = 0; looks < 2 && !outcome; looks++) {
      const step = nextDeployStep({ ...view, tasks }, now);
      if (step.kind === 'finish') outcome = step.outcome;
      if (step.kind === 'wait' && step.state) view = { ...view, state: step.state };
      if (step.kind === 'proceed') {
        view = { ...view, state: 'WAITING', progress: step.progress };
        const retired = new Set(step.retire.map(({ id }) => id));
        tasks = tasks.map((task) =>
          retired.has(task.taskId.id) ? { ...task, state: 'TASK_KILLED', cleanup: 'DEPLOY_STEP_FINISHED' } : task,
        );
      }
      if (step.kind === 'balance') {
        const { state, progress = view.progress, ending = view.ending } = step;
        const balance = { ...step.balance, update: balancer.call(step, now) };
        view = { ...view, state, ending, balance, progress: withBalance(progress, balance) };
      }
    }
    const active = tasks.filter((task) => task.taskId.deployId === 'v2' && isUp(task)).length;
    for (let missing = view.progress!.targetActiveInstances - active; missing > 0 && !view.ending; missing--) {
      launches += 1;
      const parts = { requestId: 'web', deployId: 'v2', instanceNo: launches, host: 'h', rackId: 'r' };
      const [fresh] = deployTasks('v2', 1, { taskId: makeTaskId({ ...parts, startedAt: now }), runningAt: now });
      tasks = [...tasks, fresh!];
    }
    leastServing = Math.min(
      leastServing,
      tasks.filter((task) => isUp(task) && balancer.serving.has(task.taskId.id)).length,
    );
  }
  const stays = outcome?.deployState === 'SUCCEEDED' ? 'v2' : 'v1';
  const staying = tasks.filter((task) => task.taskId.deployId === stays && isUp(task)).map(({ taskId }) => taskId.id);
  return { outcome, leastServing, staying, serving: balancer.serving };
}

const plainCanary: CanaryDeploySettings = {
  enableCanaryDeploy: false,
  instanceGroupSize: 1,
  acceptanceMode: 'NONE',
  waitMillisBetweenGroups: 0,
  allowedTasksFailuresPerGroup: 0,
  canaryCycleCount: 3,
};
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const anyMood = fc.constantFrom<Mood>('ok', 'late', 'refuse', 'lost', 'down');
const anyPlan = (moods: fc.Arbitrary<Mood>) =>
  fc.record<Plan>({
    instances: fc.integer({ min: 1, max: 5 }),
    perStep: maybe(fc.integer({ min: 1, max: 6 })),
    canary: maybe(
      fc.record<Partial<CanaryDeploySettings>>({
        enableCanaryDeploy: fc.boolean(),
        instanceGroupSize: fc.integer({ min: 1, max: 3 }),
        allowedTasksFailuresPerGroup: fc.nat(2),
        canaryCycleCount: fc.integer({ min: 1, max: 3 }),
      }),
    ),
    moods: fc.array(moods, { minLength: 1, maxLength: 12 }),
    cancelAt: maybe(fc.nat(30)),
    dieAt: maybe(fc.nat(30)),
    maxTaskRetries: fc.nat(2),
  });

test('whatever the load balancer does, the deploy ends', () => {
  fc.assert(
    fc.property(anyPlan(anyMood), (plan) => {
      expect(rollOut(plan).outcome).toBeDefined();
    }),
    { numRuns: 300 },
  );
});

test('at its end all tasks that stay get traffic, unless the load balancer was away for too long', () => {
  fc.assert(
    fc.property(anyPlan(anyMood), (plan) => {
      const { outcome, staying, serving } = rollOut(plan);
      fc.pre(outcome?.message?.includes('did not take the old tasks back in time') !== true);
      expect(staying.filter((id) => !serving.has(id))).toEqual([]);
    }),
    { numRuns: 500 },
  );
});

test('a load balancer that answers in the end never leaves fewer tasks with traffic than there were before', () => {
  fc.assert(
    fc.property(anyPlan(fc.constantFrom<Mood>('ok', 'late', 'refuse', 'lost')), (plan) => {
      const { leastServing } = rollOut({ ...plan, dieAt: undefined });
      expect(leastServing).toBe(plan.instances);
    }),
    { numRuns: 500 },
  );
});

test('a load balancer that does what it is told, and no user who interferes: the deploy succeeds', () => {
  fc.assert(
    fc.property(anyPlan(fc.constantFrom<Mood>('ok', 'late', 'lost')), (plan) => {
      // One answer now and then is enough.
      const moods: Mood[] = [...plan.moods.slice(-4), 'ok'];
      const { outcome } = rollOut({ ...plan, moods, cancelAt: undefined, dieAt: undefined });
      expect(outcome?.deployState).toBe('SUCCEEDED');
    }),
    { numRuns: 300 },
  );
});
