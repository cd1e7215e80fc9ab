import { describe, expect, test } from 'vitest';
import type { PendingType } from '../model/enums.js';
import type { RestartPolicy } from '../model/request.js';
import type { InstanceFailures } from '../restarts/index.js';
import { makeTaskId } from '../task-id.js';
import { drain } from './index.js';

const now = 1_000_000;
const policy: RestartPolicy = { initialDelayMillis: 1_000, maxRestarts: 3 };

/** Starts of the missing instances, from now on, by instance number; and if a user began anew. */
function plan(pendingType: PendingType, failures: [number, InstanceFailures][], given: RestartPolicy | null = policy) {
  const running = makeTaskId({ requestId: 'svc', deployId: 'd1', startedAt: 1, instanceNo: 1, host: 'h', rackId: 'r' });
  const { create, forgetsFailures } = drain(
    {
      request: {
        request: { id: 'svc', requestType: 'SERVICE', instances: 3, restart: given ?? undefined },
        state: 'ACTIVE',
        activeDeployId: 'd1',
        ...(pendingType === 'NEW_DEPLOY' && { pendingDeploy: { deployId: 'd1', state: 'WAITING' } }),
      },
      deployId: 'd1',
      entries: [{ requestId: 'svc', deployId: 'd1', timestamp: now, pendingType }],
      tasks: [{ taskId: running, slaveId: 's1', rackId: 'r', killed: false }],
      pendingTaskIds: new Set(),
      runWaits: false,
      failingFast: false,
      failures: new Map(failures),
    },
    { cooldownMinScheduleMillis: 120_000, rebalanceRacksOnScaleDown: false, rackCount: 1, attributesOf: () => ({}) },
    now,
  );
  const starts = create.map(({ pendingTaskId: id }) => [id.instanceNo, id.nextRunAt - now]);
  return { starts: Object.fromEntries(starts) as Record<number, number>, forgetsFailures };
}

describe('instances that failed', () => {
  const second: [number, InstanceFailures] = [2, { count: 2, lastAt: now - 500 }];
  const third: [number, InstanceFailures] = [3, { count: 4, lastAt: now - 500 }];

  test('start after a delay of their own', () =>
    expect(plan('TASK_DONE', [second]).starts).toEqual({ 2: 1_500, 3: 0 }));
  test('start at the same time whatever else is planned meanwhile', () =>
    expect(plan('UPDATED_REQUEST', [second]).starts).toEqual({ 2: 1_500, 3: 0 }));
  test('do not start when they failed more often than allowed', () =>
    expect(plan('TASK_DONE', [second, third]).starts).toEqual({ 2: 1_500 }));
  test('start at once without a policy', () =>
    expect(plan('TASK_DONE', [second, third], null)).toEqual({ starts: { 2: 0, 3: 0 }, forgetsFailures: false }));
  test.each(['NEW_DEPLOY', 'BOUNCE', 'UNPAUSED'] as const)('start at once, and anew, for %s', (type) =>
    expect(plan(type, [second, third])).toEqual({ starts: { 2: 0, 3: 0 }, forgetsFailures: true }),
  );
});
