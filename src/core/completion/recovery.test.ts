import { describe, expect, test } from 'vitest';
import type { RequestState, RequestType } from '../model/enums.js';
import { update } from '../../../test/support/fixtures/load-balancer.js';
import { makeTaskId } from '../task-id.js';
import { decideRecovery, type RecoveredTask } from './index.js';

const now = 1_800_000_000_000;
const lost = (own: Partial<RecoveredTask> = {}): RecoveredTask => ({
  taskId: makeTaskId({ requestId: 'svc', deployId: 'd1', startedAt: now, instanceNo: 1, host: 'h', rackId: 'r' }),
  end: { state: 'TASK_LOST', reason: 'REASON_AGENT_REMOVED' },
  hadToGo: false,
  updates: 3,
  ...own,
});
const request = (
  own: { state?: RequestState; activeDeployId?: string; requestType?: RequestType } = {},
): Parameters<typeof decideRecovery>[1] => {
  const { state = 'ACTIVE', activeDeployId = 'd1', requestType = 'SERVICE' } = own;
  return { request: { id: 'svc', requestType }, state, activeDeployId };
};
const counted = { requestId: 'svc', deployId: 'd1', timestamp: now, pendingType: 'TASK_RECOVERED' };

describe('a task that was given up and is alive', () => {
  test.each([
    { name: 'goes on when its deploy is the active one', task: lost(), of: request(), killedBecause: undefined },
    {
      name: 'goes on while its request cools down',
      task: lost(),
      of: request({ state: 'SYSTEM_COOLDOWN' }),
      killedBecause: undefined,
    },
    {
      name: 'is killed when another deploy is active',
      task: lost(),
      of: request({ activeDeployId: 'd2' }),
      killedBecause: 'DEPLOY_NOT_ACTIVE',
    },
    {
      name: 'is killed when its request is not to run',
      task: lost(),
      of: request({ state: 'PAUSED' }),
      killedBecause: 'REQUEST_NOT_RUNNABLE',
    },
    {
      name: 'is killed when it had been told to go',
      task: lost({ hadToGo: true }),
      of: request(),
      killedBecause: 'HAD_TO_GO',
    },
    {
      name: 'is killed when nothing of it was known before its end',
      task: lost({ updates: 1 }),
      of: request(),
      killedBecause: 'NO_STATUS_BEFORE_ITS_END',
    },
    {
      name: 'is killed when another one runs in its place',
      task: lost({ isReplaced: true }),
      of: request(),
      killedBecause: 'REPLACED',
    },
    {
      name: 'is killed when it was unreachable only, and another one runs in its place',
      task: lost({ isReplaced: true, end: { state: 'TASK_UNREACHABLE' } }),
      of: request(),
      killedBecause: 'REPLACED',
    },
  ])('$name, and the tasks of its request are counted again in any case', ({ task, of, killedBecause }) =>
    expect(decideRecovery(task, of, now)).toEqual({ killedBecause, hasToGo: false, enqueue: counted }),
  );

  test('is killed when its request is gone, and there is nothing to count', () =>
    expect(decideRecovery(lost(), undefined, now)).toEqual({ killedBecause: 'REQUEST_GONE', hasToGo: false }));

  test.each(['RUN_ONCE', 'ON_DEMAND'] as const)('being killed, it makes no %s job run once more', (requestType) => {
    expect(decideRecovery(lost({ hadToGo: true }), request({ requestType }), now).enqueue).toBeUndefined();
    const end = { state: 'TASK_UNREACHABLE' } as const;
    expect(decideRecovery(lost({ end }), request({ requestType }), now).enqueue).toEqual(counted);
  });

  test.each(['RUN_ONCE', 'ON_DEMAND'] as const)('of a %s job goes on whichever deploy is active now', (requestType) => {
    const end = { state: 'TASK_UNREACHABLE' } as const;
    const decision = decideRecovery(lost({ end }), request({ requestType, activeDeployId: 'd2' }), now);
    expect(decision.killedBecause).toBeUndefined();
  });

  test('of an ON_DEMAND job goes on beside other runs, which have its number, too', () => {
    const task = lost({ end: { state: 'TASK_UNREACHABLE' }, isReplaced: true });
    expect(decideRecovery(task, request({ requestType: 'ON_DEMAND' }), now).killedBecause).toBeUndefined();
  });

  test.each(['RUN_ONCE', 'ON_DEMAND', 'SCHEDULED'] as const)(
    'of a %s job is killed when the same run was asked for once more',
    (requestType) => expect(decideRecovery(lost(), request({ requestType }), now).killedBecause).toBe('RUNS_AGAIN'),
  );

  test.each([
    { name: 'goes on as before when it is off the load balancer', state: 'SUCCESS', hasToGo: false },
    { name: 'goes on as before when it is unknown', state: 'UNKNOWN', hasToGo: false },
    { name: 'has to go once it is replaced while the load balancer lets go of it', state: 'WAITING', hasToGo: true },
    { name: 'the same while that is being taken back', state: 'CANCELING', hasToGo: true },
  ] as const)('$name, and the tasks of its request are counted again', ({ state, hasToGo }) => {
    const removal = update(state, 'REMOVE');
    expect(decideRecovery(lost({ removal }), request(), now)).toEqual({ hasToGo, enqueue: counted });
    const killed = decideRecovery(lost({ removal, hadToGo: true }), request(), now);
    expect(killed).toMatchObject({ killedBecause: 'HAD_TO_GO', hasToGo: false });
  });
});
