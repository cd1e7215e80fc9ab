import { describe, expect, test } from 'vitest';
import type { CanaryDeployProgress } from './progress.js';
import {
  begunAt,
  canarySettings,
  deploySettings,
  deployTask,
  deployTasks,
  deployView,
  short,
} from '../../../test/support/fixtures/deploys.js';
import type { DeployGate, GateRow } from '../model/gate.js';
import { firstProgress, nextDeployStep, type DeploySnapshot } from './index.js';

const gates: DeployGate[] = [{ type: 'MANUAL' }, { type: 'BAKE', durationMillis: 10_000 }];
const canaryDeploySettings = canarySettings({ allowedTasksFailuresPerGroup: 1, gates });
const deploy = { requestId: 'web', id: 'v2', command: 'serve', canaryDeploySettings };
const request = { id: 'web', requestType: 'SERVICE', instances: 3 } as const;
const launched: CanaryDeployProgress = {
  ...(firstProgress(request, deploy, deploySettings, begunAt) as CanaryDeployProgress),
  stepLaunchComplete: true,
};
const row = (gate: number, changes: Partial<GateRow> = {}): GateRow => ({
  step: 1,
  gate,
  type: gates[gate - 1]!.type,
  state: 'PASSED',
  since: begunAt,
  passes: 0,
  failures: 0,
  inconclusive: 0,
  ...changes,
});
const old = deployTasks('v1', 3);
const look = (view: Partial<DeploySnapshot>, after = 5_000) =>
  nextDeployStep(
    deployView({ deploy, progress: launched, tasks: [...old, deployTask('v2', 1)], gates: [], ...view }),
    begunAt + after,
  );

test('only a deploy with gates counts its steps', () => {
  expect(launched.step).toBe(1);
  const { gates: _gates, ...plain } = canaryDeploySettings;
  const first = firstProgress(request, { ...deploy, canaryDeploySettings: plain }, deploySettings, begunAt);
  expect(first).not.toHaveProperty('step');
});

describe('a healthy step', () => {
  test('takes nothing over before its gates have passed', () => {
    const starting = { ...launched, stepLaunchComplete: false };
    expect(look({ progress: starting })).toMatchObject({
      kind: 'proceed',
      progress: { stepLaunchComplete: true, stepComplete: false, currentActiveInstances: 0 },
    });
  });
  test('opens its first gate', () =>
    expect(look({})).toEqual({ kind: 'gate', row: row(1, { state: 'WAITING', since: begunAt + 5_000 }) }));
  test('waits for a gate, and lets no old task go', () =>
    expect(look({ gates: [row(1, { state: 'WAITING' })] })).toEqual({ kind: 'wait', scheduleMissing: false }));
  test('whose gates have passed hands over to the next one, which has gates of its own', () => {
    const decided = look({ gates: [row(1), row(2)] });
    expect(decided).toMatchObject({
      kind: 'proceed',
      progress: { step: 2, targetActiveInstances: 2, currentActiveInstances: 1 },
    });
    expect(decided.kind === 'proceed' && short(decided.retire)).toEqual(['v1/1']);
  });
  test('whose gate has failed ends the deploy, naming it', () =>
    expect(look({ gates: [row(1, { state: 'FAILED', message: 'rejected by bob' })] })).toMatchObject({
      kind: 'finish',
      outcome: { deployState: 'FAILED', message: 'Gate 1 (MANUAL) after step 1 failed: rejected by bob' },
    }));
});

test('the last step has gates as well: old tasks go when they have passed', () => {
  const last = { ...launched, step: 3, targetActiveInstances: 3, currentActiveInstances: 2 };
  const all = [...old, ...deployTasks('v2', 3)];
  expect(look({ progress: last, tasks: all })).toMatchObject({ kind: 'gate', row: { step: 3 } });
  const passed = [row(1, { step: 3 }), row(2, { step: 3 })];
  expect(look({ progress: last, tasks: all, gates: passed })).toMatchObject({
    kind: 'finish',
    outcome: { deployState: 'SUCCEEDED' },
  });
});

test('a forgiven failure is made up for before the gates go on, as in any launch', () => {
  const dead = deployTask('v2', 1, { state: 'TASK_FAILED' });
  const decided = look({ tasks: [...old, dead], gates: [row(1), row(2, { state: 'WAITING' })] });
  expect(decided).toMatchObject({
    kind: 'proceed',
    progress: { step: 1, stepLaunchComplete: false, timestamp: begunAt + 5_000 },
    retire: [],
    schedule: ['NEW'],
  });
});

test('a task that turns unhealthy fails the gate that waits for a healthy time', () => {
  const sick = deployTask('v2', 1, { isSick: true });
  const decided = look({ tasks: [...old, sick], gates: [row(1), row(2, { state: 'WAITING' })] });
  expect(decided).toMatchObject({
    kind: 'gate',
    row: { gate: 2, state: 'FAILED', message: 'instance 1 fails its liveness checks' },
  });
});

test('a cancel ends the deploy while a gate waits', () =>
  expect(look({ cancel: { user: 'ann', requestedAt: begunAt }, gates: [row(1, { state: 'WAITING' })] })).toMatchObject({
    outcome: { deployState: 'CANCELED' },
  }));

test('another target restarts the step: what passed before does not count', () =>
  expect(look({ updateTargetInstances: 1, gates: [row(1), row(2)] })).toMatchObject({
    kind: 'proceed',
    progress: { step: 2, targetActiveInstances: 1, stepLaunchComplete: false },
  }));
