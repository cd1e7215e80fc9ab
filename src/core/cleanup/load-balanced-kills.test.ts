import { describe, expect, test } from 'vitest';
import { healthSettings, launchedAt, observed } from '../../../test/support/fixtures/health.js';
import { records, update } from '../../../test/support/fixtures/load-balancer.js';
import type { BalancerRecords } from '../load-balancer/index.js';
import type { Deploy } from '../model/deploy.js';
import { taskCleanupTypes, type TaskCleanupType } from '../model/enums.js';
import { decideKills, type CleanupTask, type CleanupView } from './index.js';

const orderedAt = launchedAt + 60_000;
const inside = records({ add: update('SUCCESS') });
const removed = (timestamp = orderedAt) =>
  records({ add: update('SUCCESS'), remove: update('SUCCESS', 'REMOVE', { timestamp }) });

const task = (instanceNo: number, balancing: BalancerRecords | undefined): CleanupTask => ({
  ...observed({ instanceNo }),
  killed: false,
  balancing,
});
const going = (instanceNo: number, balancing: BalancerRecords, cleanupType: TaskCleanupType): CleanupTask => {
  const { taskId } = observed({ instanceNo });
  return { ...task(instanceNo, balancing), cleanup: { taskId, cleanupType, timestamp: orderedAt } };
};
const view = (tasks: CleanupTask[], changes: Partial<CleanupView> = {}): CleanupView => ({
  request: { id: 'web', requestType: 'SERVICE', loadBalanced: true },
  requestState: 'ACTIVE',
  activeDeployId: 'd1',
  deploys: new Map([['d1', { requestId: 'web', id: 'd1' } satisfies Deploy]]),
  loadBalanced: true,
  tasks,
  settings: {
    ...healthSettings,
    killNonLongRunningTasksInCleanupAfterSeconds: 86_400,
    pendingDeployHoldTaskDuringDecommissionMillis: 600_000,
    loadBalancerRemovalGracePeriodMillis: 0,
    killTaskIfNotHealthyAfterSeconds: 600,
  },
  ...changes,
});
const missing = 'TOO_FEW_AVAILABLE';
const decide = (given: CleanupView, after = 0) =>
  decideKills(given, orderedAt + after).map((decision) =>
    decision.kind === 'wait' ? decision.because : decision.kind,
  );

describe('a kill waits for the load balancer', () => {
  test.each(taskCleanupTypes.filter((type) => type !== 'PAUSE'))('%s', (type) => {
    const goes = (balancing: BalancerRecords) =>
      decide(view([going(1, balancing, type), task(2, inside)], { activeDeployId: undefined }));
    expect(goes(inside)).toEqual(['leave']);
    expect(goes(removed())).toEqual(['kill']);
    expect(goes(records())).toEqual(['kill']);
  });
  test('but not that of a pause that kills: what it leaves behind is removed after its end', () =>
    expect(decide(view([going(1, inside, 'PAUSE')]))).toEqual(['kill']));
  test('even when its request is gone', () =>
    expect(decide(view([going(1, inside, 'USER_REQUESTED')], { request: undefined }))).toEqual(['leave']));
  test('nothing is removed before the task may go', () =>
    expect(decide(view([going(1, inside, 'BOUNCING')]))).toEqual(['TOO_FEW_REPLACEMENTS']));
  test('a sick task leaves before it is replaced, and waits for that afterwards', () => {
    expect(decide(view([going(1, inside, 'UNHEALTHY_TASK')]))).toEqual(['leave']);
    expect(decide(view([going(1, removed(), 'UNHEALTHY_TASK')]))).toEqual(['TOO_FEW_REPLACEMENTS']);
  });
  test('until the grace period after the removal is over', () => {
    const given = view([going(1, removed(), 'USER_REQUESTED')]);
    const settings = { ...given.settings, loadBalancerRemovalGracePeriodMillis: 10 };
    expect(decide({ ...given, settings }, 9)).toEqual(['leave']);
    expect(decide({ ...given, settings }, 10)).toEqual(['kill']);
  });
});

describe('a replacement counts when it gets traffic', () => {
  test.each<{ name: string; balancing: BalancerRecords | undefined; decision: string }>([
    { name: 'it was not told about', balancing: undefined, decision: 'REPLACEMENTS_NOT_IN_LOAD_BALANCER' },
    { name: 'it waits', balancing: records({ add: update('WAITING') }), decision: 'REPLACEMENTS_NOT_IN_LOAD_BALANCER' },
    { name: 'it is being removed', balancing: removed(), decision: 'REPLACEMENTS_NOT_IN_LOAD_BALANCER' },
    { name: 'it is in', balancing: inside, decision: 'leave' },
  ])('$name: $decision', ({ balancing, decision }) =>
    expect(decide(view([going(1, inside, 'BOUNCING'), task(2, balancing)]))).toEqual([decision]),
  );
  test('one by one, too', () => {
    const waits = [going(1, inside, 'INCREMENTAL_BOUNCE'), task(2, records())];
    expect(decide(view(waits))).toEqual(['TOO_FEW_REPLACEMENTS']);
    expect(decide(view([waits[0]!, task(2, inside)]))).toEqual(['leave']);
  });
  test('whatever the load balancer says where there is none', () =>
    expect(decide(view([going(1, records(), 'BOUNCING'), task(2, undefined)], { loadBalanced: false }))).toEqual([
      'kill',
    ]));
});

describe('where old tasks end first', () => {
  const deploys = new Map([['d1', { requestId: 'web', id: 'd1', deployStrategy: 'OLD_FIRST' } satisfies Deploy]]);
  const told = records({ add: update('UNKNOWN') });
  const bounce = (...balancing: BalancerRecords[]) =>
    decide(
      view(
        balancing.map((each, index) => going(index + 1, each, 'BOUNCING')),
        { deploys, request: { id: 'web', requestType: 'SERVICE', loadBalanced: true, instances: balancing.length } },
      ),
    );
  test.each<{ name: string; balancing: BalancerRecords[]; decisions: string[] }>([
    { name: 'one leaves while the others get traffic', balancing: [inside, inside], decisions: ['leave', missing] },
    { name: 'none while others are not confirmed', balancing: [told, told], decisions: [missing, missing] },
    { name: 'nor the only one that is', balancing: [inside, told], decisions: [missing, 'leave'] },
    { name: 'no second one while the first leaves', balancing: [removed(), inside], decisions: ['kill', missing] },
    { name: 'those that get none go at once', balancing: [records(), records()], decisions: ['kill', 'kill'] },
  ])('$name', ({ balancing, decisions }) => expect(bounce(...balancing)).toEqual(decisions));
  test('no second one while the first is to leave, though the load balancer does not know of it yet', () => {
    const tasks = [going(1, inside, 'BOUNCING'), { ...going(2, inside, 'BOUNCING'), isLeaving: true }];
    const request = { id: 'web', requestType: 'SERVICE', loadBalanced: true, instances: 2 } as const;
    expect(decide(view(tasks, { deploys, request }))).toEqual([missing, 'leave']);
  });
});
