import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  begunAt,
  canarySettings,
  deployTask,
  deployTasks,
  deployView,
} from '../../../test/support/fixtures/deploys.js';
import { afterMeasurement, answerGate, isMeasured } from '../gates/index.js';
import { judgeTask } from '../health/index.js';
import { isTerminal } from '../model/enums.js';
import type { DeployGate, GateRow, MeasurementOutcome } from '../model/gate.js';
import { firstProgress, nextDeployStep, type DeployOutcome, type DeployTask } from './index.js';

interface Plan {
  instances: number;
  groupSize: number;
  cycles: number;
  inGroups: boolean;
  gates: DeployGate[];
  /** Launches that die immediately. */
  dies: boolean[];
  allowed: number;
  /** Seconds until a person answers, and the answers. */
  answerSeconds: number;
  approvals: boolean[];
  measurements: MeasurementOutcome[];
}

/** Plays scheduler, machines, people and judges around the engine, second by second, until the deploy ends. */
function rollOut(plan: Plan) {
  const { instances, groupSize, cycles, inGroups, gates, dies, allowed, answerSeconds, approvals, measurements } = plan;
  const request = { id: 'web', requestType: 'SERVICE' as const, instances };
  const canaryDeploySettings = canarySettings({
    enableCanaryDeploy: inGroups,
    instanceGroupSize: groupSize,
    allowedTasksFailuresPerGroup: allowed,
    canaryCycleCount: cycles,
    gates,
  });
  const deploy = { requestId: 'web', id: 'v2', canaryDeploySettings };
  const base = deployView({ request, deploy });
  let progress = firstProgress(request, deploy, base.settings, begunAt)!;
  let tasks: DeployTask[] = deployTasks('v1', instances, { runningAt: begunAt - 60_000 });
  let rows: GateRow[] = [];
  let launches = 0;
  let asked = 0;
  let answered = 0;
  let leastHealthy = instances;
  let outcome: DeployOutcome | undefined;
  const put = (row: GateRow): void => {
    rows = [...rows.filter(({ step, gate }) => step !== row.step || gate !== row.gate), row];
  };
  for (let second = 0; second < 4_000 && !outcome; second++) {
    const now = begunAt + second * 1000;
    const opened = rows.filter(({ step }) => step === progress.step);
    const step = nextDeployStep({ ...base, progress, tasks, gates: opened }, now);
    if (step.kind === 'finish') outcome = step.outcome;
    if (step.kind === 'gate') put(step.row);
    if (step.kind === 'proceed') {
      // Nothing goes on, and no old task goes, before all gates of the step have passed.
      if (step.progress.step !== progress.step)
        expect(opened.map(({ state }) => state)).toEqual(gates.map(() => 'PASSED'));
      else expect(step.retire).toEqual([]);
      progress = step.progress;
      const retired = new Set(step.retire.map(({ id }) => id));
      tasks = tasks.map((task) =>
        retired.has(task.taskId.id) ? { ...task, state: 'TASK_KILLED', cleanup: 'DEPLOY_STEP_FINISHED' } : task,
      );
    }
    const open = rows.find(
      ({ step: at, state }) => at === progress.step && (state === 'WAITING' || state === 'PAUSED'),
    );
    if (open) {
      const gate = gates[open.gate - 1]!;
      if (open.nextAt !== undefined && now >= open.nextAt) {
        const result = measurements[asked++ % measurements.length]!;
        put(afterMeasurement(gate, open, { at: now, outcome: result, message: '' }, now));
      } else if ((open.type === 'MANUAL' || open.state === 'PAUSED') && now >= open.since + answerSeconds * 1000) {
        const approves = approvals[answered++ % approvals.length]!;
        const answer = answerGate(gate, open, { approves, isDeployer: false }, now);
        if (answer.kind === 'changed') put(answer.row);
      }
    }
    const active = tasks.filter((task) => task.taskId.deployId === 'v2' && !isTerminal(task.state)).length;
    for (let missing = progress.targetActiveInstances - active; missing > 0; missing--) {
      const died = dies[launches++ % dies.length] === true;
      tasks = [...tasks, deployTask('v2', launches, died ? { state: 'TASK_FAILED' } : { runningAt: now })];
    }
    const healthy = tasks.filter(
      (task) =>
        !isTerminal(task.state) &&
        judgeTask(task, { ...base, deploy, deployPending: false, requestSkips: false }, now) === 'HEALTHY',
    );
    leastHealthy = Math.min(leastHealthy, healthy.length);
  }
  return { outcome, leastHealthy, rows };
}

const anyGate: fc.Arbitrary<DeployGate> = fc.oneof(
  fc.constant<DeployGate>({ type: 'MANUAL' }),
  fc.record({ type: fc.constant('BAKE' as const), durationMillis: fc.nat(20_000) }),
  fc.record({
    type: fc.constant('HTTP' as const),
    count: fc.integer({ min: 1, max: 3 }),
    failureLimit: fc.nat(2),
    inconclusive: fc.constantFrom('FAIL' as const, 'PAUSE' as const),
    intervalMillis: fc.constant(1_000),
  }),
);
const anyPlan = fc.record<Plan>({
  instances: fc.integer({ min: 1, max: 5 }),
  groupSize: fc.integer({ min: 1, max: 3 }),
  cycles: fc.integer({ min: 1, max: 3 }),
  inGroups: fc.boolean(),
  gates: fc.array(anyGate, { minLength: 1, maxLength: 4 }),
  dies: fc.array(fc.boolean(), { minLength: 1, maxLength: 5 }),
  allowed: fc.nat(3),
  answerSeconds: fc.nat(30),
  approvals: fc.array(fc.boolean(), { minLength: 1, maxLength: 4 }),
  measurements: fc.array(fc.constantFrom<MeasurementOutcome>('PASSED', 'FAILED', 'INCONCLUSIVE'), {
    minLength: 1,
    maxLength: 6,
  }),
});

test('whatever gates say, a deploy ends, never with fewer healthy tasks, and succeeds only when all of them have passed', () => {
  fc.assert(
    fc.property(anyPlan, (plan) => {
      const { outcome, leastHealthy, rows } = rollOut(plan);
      expect(outcome?.deployState).toMatch(/^(SUCCEEDED|FAILED)$/);
      expect(leastHealthy).toBe(plan.instances);
      const failed = rows.filter(({ state }) => state === 'FAILED');
      if (outcome?.deployState === 'SUCCEEDED')
        expect(new Set(rows.map(({ state }) => state))).toEqual(new Set(['PASSED']));
      if (outcome?.message?.startsWith('Gate')) expect(failed).toHaveLength(1);
      else expect(failed).toEqual([]);
      for (const { type, nextAt, state } of rows)
        expect(nextAt !== undefined).toBe(isMeasured(type) && state === 'WAITING');
    }),
  );
});
