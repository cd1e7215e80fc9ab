import { describe, expect, test } from 'vitest';
import type { Request } from '../model/request.js';
import {
  balance,
  balancedView,
  begunAt,
  deployTask,
  deployTasks,
  progress,
  short,
} from '../../../test/support/fixtures/deploys.js';
import { nextDeployStep, type DeployStep, type DeploySnapshot } from './index.js';

const step = (view: Partial<DeploySnapshot>, after = 5_000): DeployStep =>
  nextDeployStep(balancedView(view), begunAt + after);
const old = deployTasks('v1', 3);
const all = [...old, ...deployTasks('v2', 3)];
/** The decided change of the load balancer: the call, its id, the tasks added and removed. */
function asked(decided: DeployStep) {
  if (decided.kind !== 'balance') return decided;
  const { id, requestType, attemptNumber } = decided.balance.update.loadBalancerRequestId;
  const { added, removed } = decided.balance;
  const came = short(added);
  return { call: decided.call, id: `${id}-${requestType}-${attemptNumber}`, added: came, removed: short(removed) };
}

describe('a healthy step of a load balanced request', () => {
  test('is handed to the load balancer in one change: all new tasks come, the old ones to shut down go', () => {
    const decided = step({ tasks: all });
    expect(asked(decided)).toEqual({
      call: 'ENQUEUE',
      id: 'web-v2-3-DEPLOY-1',
      added: ['v2/1', 'v2/2', 'v2/3'],
      removed: ['v1/1', 'v1/2', 'v1/3'],
    });
    expect(decided).toMatchObject({
      state: 'WAITING',
      balance: { update: { loadBalancerState: 'UNKNOWN', method: 'PRE_ENQUEUE' } },
      progress: { timestamp: begunAt + 5_000, stepComplete: false },
    });
  });
  test('takes only as many old tasks out as the step replaces', () => {
    const one = progress({ targetActiveInstances: 1, deployInstanceCountPerStep: 1 });
    expect(asked(step({ progress: one, tasks: [...old, deployTask('v2', 1)] }))).toEqual({
      call: 'ENQUEUE',
      id: 'web-v2-1-DEPLOY-1',
      added: ['v2/1'],
      removed: ['v1/1'],
    });
  });
  test('fails when no load balancer is configured', () => {
    expect(step({ tasks: all, hasLoadBalancer: false })).toMatchObject({
      kind: 'finish',
      outcome: {
        deployState: 'FAILED',
        message: 'Request is load balanced, but no load balancer is configured',
        deployFailures: [],
      },
    });
  });
  test('is not handed over while another target is asked for', () => {
    expect(step({ tasks: all, updateTargetInstances: 2 })).toMatchObject({
      kind: 'proceed',
      progress: { targetActiveInstances: 2 },
    });
  });
});

describe('the answer of the load balancer', () => {
  test('SUCCESS completes the deploy in the same look', () => {
    expect(step({ tasks: all, balance: balance('SUCCESS') })).toMatchObject({
      kind: 'finish',
      outcome: { deployState: 'SUCCEEDED' },
    });
  });
  test('SUCCESS of an earlier step lets its old tasks go', () => {
    const one = progress({ targetActiveInstances: 1, deployInstanceCountPerStep: 1 });
    const tasks = [...old, deployTask('v2', 1)];
    const done = balance('SUCCESS', {
      targetActiveInstances: 1,
      added: [tasks[3]!.taskId],
      removed: [old[1]!.taskId],
    });
    const decided = step({ progress: one, tasks, balance: done });
    expect(decided).toMatchObject({ kind: 'proceed', progress: { stepComplete: true, currentActiveInstances: 1 } });
    // What gets no more work has to go, whatever the order would be now.
    expect(decided.kind === 'proceed' && short(decided.retire)).toEqual(['v1/2']);
  });
  test('WAITING is polled, at most once a second', () => {
    const waiting = balance('WAITING');
    expect(step({ tasks: all, balance: waiting }, 5_500)).toMatchObject({
      kind: 'wait',
      checkAgainAt: begunAt + 6_000,
      keepsUpdate: true,
    });
    expect(asked(step({ tasks: all, balance: waiting }, 6_000))).toMatchObject({
      call: 'STATE',
      id: 'web-v2-3-DEPLOY-1',
    });
  });
  test('UNKNOWN: the same is asked again under the same id, and the deploy is WAITING as before', () => {
    const decided = step({ tasks: all, balance: balance('UNKNOWN') }, 6_000);
    expect(asked(decided)).toMatchObject({ call: 'ENQUEUE', id: 'web-v2-3-DEPLOY-1' });
    expect(decided).toMatchObject({ state: 'WAITING' });
  });
  test('none, because of a crash before the call: it is made at once', () => {
    const written = balance('UNKNOWN', { method: 'PRE_ENQUEUE' });
    expect(asked(step({ tasks: all, balance: written }, 5_001))).toMatchObject({ call: 'ENQUEUE' });
  });
  test.each(['FAILED', 'INVALID_REQUEST_NOOP'] as const)(
    '%s fails the deploy, in the words of the load balancer',
    (state) => {
      expect(step({ tasks: all, balance: balance(state, { message: 'no such group' }) })).toMatchObject({
        kind: 'finish',
        closeChecks: true,
        outcome: {
          deployState: 'FAILED',
          message: `Load balancer update is ${state}: no such group`,
          deployFailures: [],
        },
      });
    },
  );
  test('CANCELED cancels the deploy', () => {
    expect(step({ tasks: all, balance: balance('CANCELED') })).toMatchObject({
      kind: 'finish',
      outcome: { deployState: 'CANCELED', message: 'Load balancer update is CANCELED' },
    });
  });
  test('CANCELING makes the deploy CANCELING, and is polled again', () => {
    const decided = step({ tasks: all, balance: balance('CANCELING') }, 6_000);
    expect(asked(decided)).toMatchObject({ call: 'STATE' });
    expect(decided).toMatchObject({ state: 'CANCELING' });
  });
  test('of refusal leaves the old tasks where they are', () => {
    const decided = step({ tasks: all, balance: balance('FAILED') });
    expect(decided.kind === 'finish' && short(decided.stillBalanced)).toEqual(['v1/1', 'v1/2', 'v1/3']);
  });
});

describe('the time limit of a step that waits for the load balancer', () => {
  const limit = 125_000;
  test.each(['WAITING', 'UNKNOWN'] as const)('counts for %s, and then the change is cancelled', (state) => {
    const asked1 = balance(state, { timestamp: begunAt + limit - 1_000 });
    expect(asked(step({ tasks: all, balance: asked1 }, limit))).not.toMatchObject({ call: 'CANCEL' });
    const decided = step({ tasks: all, balance: asked1 }, limit + 1);
    expect(asked(decided)).toMatchObject({ call: 'CANCEL', id: 'web-v2-3-DEPLOY-1' });
    expect(decided).toMatchObject({ state: 'CANCELING' });
  });
  test('a cancel that came too late completes the step', () => {
    const done = balance('SUCCESS', { method: 'CANCEL' });
    expect(step({ tasks: all, balance: done, state: 'CANCELING' }, limit + 1)).toMatchObject({
      outcome: { deployState: 'SUCCEEDED' },
    });
  });
  test('a cancel without an answer is repeated, and ends the deploy when the same time has gone by again', () => {
    const silent = balance('UNKNOWN', { method: 'CANCEL', timestamp: begunAt + 2 * limit - 1_000 });
    const view = { tasks: all, balance: silent, state: 'CANCELING' as const };
    expect(asked(step(view, 2 * limit))).toMatchObject({ call: 'CANCEL' });
    expect(step(view, 2 * limit + 1)).toMatchObject({
      kind: 'balance',
      call: 'ENQUEUE',
      balance: { isRevert: true },
      ending: { outcome: { deployState: 'OVERDUE' } },
    });
  });
});

describe('tasks that change while the load balancer works', () => {
  const dead = deployTask('v2', 3, { state: 'TASK_FAILED' });
  const deploy = { requestId: 'web', id: 'v2', maxTaskRetries: 1 };
  const forgiven = progress({ failedDeployTasks: [dead.taskId] });
  const replacement = { ...deployTask('v2', 4), taskId: { ...deployTask('v2', 3).taskId, id: 'web-v2-later' } };

  test('one that dies and may be retried is replaced before the step is complete', () => {
    const tasks = [...old, ...deployTasks('v2', 2), dead];
    const view = { deploy, progress: forgiven, tasks, balance: balance('SUCCESS') };
    expect(step(view)).toMatchObject({ kind: 'wait', scheduleMissing: true });
  });
  test('its replacement comes in with a further change under the next number', () => {
    const tasks = [...old, ...deployTasks('v2', 2), dead, replacement];
    const decided = step({ deploy, progress: forgiven, tasks, balance: balance('SUCCESS') });
    expect(asked(decided)).toMatchObject({ call: 'ENQUEUE', id: 'web-v2-3-DEPLOY-2' });
    expect(decided).toMatchObject({ balance: { usedIds: ['web-v2-3-DEPLOY-1'] } });
    expect(decided.kind === 'balance' && decided.balance.added.map(({ id }) => id)).toContain('web-v2-later');
  });
  test('one that dies for good fails the deploy, and what the load balancer was asked for is cancelled', () => {
    const tasks = [...old, ...deployTasks('v2', 2), dead];
    expect(step({ tasks, balance: balance('WAITING') })).toMatchObject({
      kind: 'balance',
      call: 'CANCEL',
      state: 'CANCELING',
      ending: { outcome: { deployState: 'FAILED', deployFailures: [{ reason: 'TASK_FAILED_ON_STARTUP' }] } },
    });
  });
  test('another target is taken up when the load balancer has answered', () => {
    const view = { tasks: all, updateTargetInstances: 2 };
    expect(step({ ...view, balance: balance('WAITING') }, 6_000)).toMatchObject({ kind: 'balance', call: 'STATE' });
    expect(step({ ...view, balance: balance('SUCCESS') })).toMatchObject({
      kind: 'proceed',
      progress: { targetActiveInstances: 2 },
    });
  });
  test('old tasks that left with a higher target and stay come back with the lower one', () => {
    const two = progress({ targetActiveInstances: 2 });
    const tasks = [...old, ...deployTasks('v2', 2)];
    const decided = step({ progress: two, tasks, balance: balance('SUCCESS') });
    expect(asked(decided)).toMatchObject({ added: ['v2/1', 'v2/2', 'v1/3'], removed: ['v1/1', 'v1/2'] });
    expect(decided.kind === 'balance' && short(decided.putBack)).toEqual(['v1/3']);
  });
});

describe('an end without success', () => {
  const cancel = { user: 'bob@example.org', requestedAt: begunAt };
  const outcome = { deployState: 'CANCELED' as const, message: 'Canceled', deployFailures: [] };
  const ending = { outcome, since: begunAt + 5_000, closeChecks: false };
  const revert = (state: Parameters<typeof balance>[0], changes: Parameters<typeof balance>[1] = {}) =>
    balance(state, {
      id: 'web-v1-ADD-FOR-REVERT-1',
      added: old.map(({ taskId }) => taskId),
      removed: deployTasks('v2', 3).map(({ taskId }) => taskId),
      isRevert: true,
      ...changes,
    });

  test('by a user in the middle of a swap cancels the swap first', () => {
    const decided = step({ tasks: all, cancel, balance: balance('WAITING') });
    expect(asked(decided)).toMatchObject({ call: 'CANCEL', id: 'web-v2-3-DEPLOY-1' });
    expect(decided).toMatchObject({
      state: 'CANCELING',
      ending: { outcome: { deployState: 'CANCELED' }, since: begunAt + 5_000 },
    });
  });
  test('is over when the load balancer has cancelled the swap; the old tasks never left', () => {
    const decided = step({ tasks: all, ending, balance: balance('CANCELED', { method: 'CANCEL' }) });
    expect(decided).toMatchObject({ kind: 'finish', outcome });
    expect(decided.kind === 'finish' && short(decided.stillBalanced)).toEqual(['v1/1', 'v1/2', 'v1/3']);
  });
  test.each(['WAITING', 'CANCELING'] as const)('waits while the cancel is %s', (state) => {
    const cancelled = balance(state, { method: 'CANCEL' });
    expect(step({ tasks: all, ending, balance: cancelled }, 5_500)).toMatchObject({ kind: 'wait', state: 'CANCELING' });
    expect(asked(step({ tasks: all, ending, balance: cancelled }, 6_000))).toMatchObject({ call: 'STATE' });
  });
  test.each(['SUCCESS', 'UNKNOWN'] as const)(
    'puts the old tasks back and takes the new ones out when the swap is %s',
    (state) => {
      const decided = step({ tasks: all, ending, balance: balance(state, { method: 'CANCEL' }) }, 6_000);
      expect(asked(decided)).toEqual({
        call: 'ENQUEUE',
        id: `web-v1-ADD-FOR-REVERT-${begunAt + 6_000}-DEPLOY-1`,
        added: ['v1/1', 'v1/2', 'v1/3'],
        removed: ['v2/1', 'v2/2', 'v2/3'],
      });
      expect(decided.kind === 'balance' && short(decided.putBack)).toEqual(['v1/1', 'v1/2', 'v1/3']);
    },
  );
  test('of a deploy in steps leaves the new tasks their traffic: others are not back yet', () => {
    const two = progress({ targetActiveInstances: 2, deployInstanceCountPerStep: 1, currentActiveInstances: 1 });
    const tasks = [...deployTasks('v1', 3).slice(1), ...deployTasks('v2', 2)];
    const swap = balance('UNKNOWN', { targetActiveInstances: 2, removed: [tasks[0]!.taskId], method: 'CANCEL' });
    const decided = step({ progress: two, tasks, ending, balance: swap }, 6_000);
    expect(asked(decided)).toMatchObject({ call: 'ENQUEUE', added: ['v1/2'], removed: [] });
  });
  test('is over when the old tasks are back', () => {
    expect(step({ tasks: all, ending, balance: revert('SUCCESS') })).toEqual({
      kind: 'finish',
      outcome,
      closeChecks: false,
      stillBalanced: [],
    });
  });
  test('polls while they are on their way', () => {
    expect(asked(step({ tasks: all, ending, balance: revert('WAITING') }, 6_000))).toMatchObject({ call: 'STATE' });
  });
  test.each(['FAILED', 'UNKNOWN', 'CANCELED', 'INVALID_REQUEST_NOOP'] as const)(
    'asks again under a new id when putting back is %s',
    (state) => {
      const decided = step({ tasks: all, ending, balance: revert(state) }, 7_000);
      expect(asked(decided)).toMatchObject({
        call: 'ENQUEUE',
        id: `web-v1-ADD-FOR-REVERT-${begunAt + 7_000}-DEPLOY-1`,
      });
    },
  );
  test('asks again under the same id when it is unknown whether it was asked', () => {
    const written = revert('UNKNOWN', { method: 'PRE_ENQUEUE' });
    expect(asked(step({ tasks: all, ending, balance: written }))).toMatchObject({
      call: 'ENQUEUE',
      id: 'web-v1-ADD-FOR-REVERT-1-DEPLOY-1',
    });
  });
  test('gives up after the time of a step, and says so', () => {
    const late = ending.since - begunAt + 125_001;
    expect(step({ tasks: all, ending, balance: revert('UNKNOWN') }, late)).toMatchObject({
      kind: 'finish',
      outcome: {
        deployState: 'CANCELED',
        message: 'Canceled; the load balancer did not take the old tasks back in time',
      },
    });
    const failing = { ...ending, outcome: { ...outcome, deployState: 'FAILED' as const } };
    expect(step({ tasks: all, ending: failing, balance: revert('UNKNOWN') }, late)).toMatchObject({
      outcome: { deployState: 'FAILED_INTERNAL_STATE' },
    });
  });
  test('without an active deploy has nothing to put back', () => {
    expect(step({ tasks: all, activeDeployId: undefined, cancel, balance: balance('SUCCESS') })).toMatchObject({
      kind: 'finish',
      outcome: { deployState: 'FAILED_INTERNAL_STATE' },
    });
  });
  test.each(['PAUSED', 'DELETING'] as const)('by state %s cancels once, whatever the answer is', (requestState) => {
    const paused = { tasks: all, requestState };
    expect(asked(step({ ...paused, balance: balance('WAITING') }))).toMatchObject({ call: 'CANCEL' });
    expect(step({ ...paused, balance: balance('UNKNOWN', { method: 'CANCEL' }) })).toMatchObject({
      kind: 'finish',
      outcome: { deployState: 'FAILED', message: `Request is in state ${requestState}, which ends the deploy` },
      stillBalanced: [],
    });
  });
  test('of a first deploy cancels once, for there is nothing to put back', () => {
    const tasks = deployTasks('v2', 3);
    const first = { tasks, activeDeployId: undefined, cancel };
    expect(asked(step({ ...first, balance: balance('WAITING', { removed: [] }) }))).toMatchObject({ call: 'CANCEL' });
    const cancelled = balance('WAITING', { removed: [], method: 'CANCEL' });
    expect(step({ ...first, balance: cancelled })).toMatchObject({
      kind: 'finish',
      outcome: { deployState: 'CANCELED' },
    });
  });
  test('leaves old tasks alone that were let go by an earlier step', () => {
    const gone = deployTasks('v1', 1, { cleanup: 'DEPLOY_STEP_FINISHED' });
    const done = balance('SUCCESS', { targetActiveInstances: 1, removed: [gone[0]!.taskId] });
    const two = progress({ targetActiveInstances: 2, deployInstanceCountPerStep: 1 });
    const tasks = [...gone, deployTask('v1', 2), ...deployTasks('v2', 2)];
    expect(step({ progress: two, tasks, cancel, balance: done })).toMatchObject({ kind: 'finish' });
  });
  test('puts back what an earlier change took out, though the last one was refused', () => {
    const before = [old[0]!.taskId];
    const refused = balance('FAILED', { removedBefore: before });
    const decided = step({ tasks: all, balance: refused });
    expect(asked(decided)).toMatchObject({ call: 'ENQUEUE', added: ['v1/1'] });
  });
});

test('a request that came with the deploy counts: whether it is load balanced, and its instances', () => {
  const updatedRequest: Request = { id: 'web', requestType: 'SERVICE', instances: 3 };
  expect(step({ tasks: all, updatedRequest })).toMatchObject({ kind: 'finish', outcome: { deployState: 'SUCCEEDED' } });
});
