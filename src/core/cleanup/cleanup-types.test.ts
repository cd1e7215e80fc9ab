import { describe, expect, test } from 'vitest';
import { healthSettings, launchedAt, observed } from '../../../test/support/fixtures/health.js';
import type { Deploy } from '../model/deploy.js';
import {
  isLongRunning,
  requestTypes,
  taskCleanupTypes,
  type RequestType,
  type TaskCleanupType,
} from '../model/enums.js';
import { cleanupRules, decideKills, killGraceMillis, type CleanupTask, type CleanupView } from './index.js';

/* Every cleanup type with every type of request: at once, or after what. */

type Until =
  | 'at once'
  | 'replacements healthy'
  | 'the one in its place healthy'
  | 'one healthy replacement each'
  | 'the active deploy is complete';
interface Rule {
  /** SERVICE and WORKER. */
  longRunning: Until;
  /** SCHEDULED, ON_DEMAND, RUN_ONCE. */
  others: 'at once' | 'a day';
  forced?: true;
}

const table: Record<TaskCleanupType, Rule> = {
  BOUNCING: { longRunning: 'replacements healthy', others: 'a day' },
  INCREMENTAL_BOUNCE: { longRunning: 'one healthy replacement each', others: 'a day' },
  USER_REQUESTED: { longRunning: 'at once', others: 'at once' },
  USER_REQUESTED_TASK_BOUNCE: { longRunning: 'replacements healthy', others: 'a day' },
  USER_REQUESTED_DESTROY: { longRunning: 'at once', others: 'at once', forced: true },
  DECOMISSIONING: { longRunning: 'replacements healthy', others: 'a day' },
  DECOMMISSION_TIMEOUT: { longRunning: 'at once', others: 'at once' },
  SCALING_DOWN: { longRunning: 'at once', others: 'a day' },
  DEPLOY_STEP_FINISHED: { longRunning: 'at once', others: 'a day' },
  NEW_DEPLOY_SUCCEEDED: { longRunning: 'at once', others: 'a day' },
  DEPLOY_FAILED: { longRunning: 'at once', others: 'at once' },
  DEPLOY_CANCELED: { longRunning: 'at once', others: 'at once' },
  INCREMENTAL_DEPLOY_FAILED: { longRunning: 'the active deploy is complete', others: 'at once' },
  INCREMENTAL_DEPLOY_CANCELLED: { longRunning: 'the active deploy is complete', others: 'at once' },
  REPLACED_BY_NEXT_RUN: { longRunning: 'the active deploy is complete', others: 'at once' },
  UNHEALTHY_NEW_TASK: { longRunning: 'at once', others: 'at once' },
  UNHEALTHY_TASK: { longRunning: 'the one in its place healthy', others: 'a day' },
  OVERDUE_NEW_TASK: { longRunning: 'at once', others: 'at once' },
  PAUSE: { longRunning: 'at once', others: 'at once' },
  PAUSING: { longRunning: 'replacements healthy', others: 'a day' },
  REQUEST_DELETING: { longRunning: 'at once', others: 'at once' },
  PRIORITY_KILL: { longRunning: 'at once', others: 'at once' },
  TASK_EXCEEDED_TIME_LIMIT: { longRunning: 'at once', others: 'at once' },
  REBALANCE_RACKS: { longRunning: 'replacements healthy', others: 'a day' },
  REBALANCE_SLAVE_ATTRIBUTES: { longRunning: 'replacements healthy', others: 'a day' },
  REBALANCE_CPU_USAGE: { longRunning: 'replacements healthy', others: 'a day' },
  REBALANCE_MEMORY_USAGE: { longRunning: 'replacements healthy', others: 'a day' },
};

const orderedAt = launchedAt + 60_000;
const day = 86_400_000;
const settings = {
  loadBalancerRemovalGracePeriodMillis: 0,
  ...healthSettings,
  killNonLongRunningTasksInCleanupAfterSeconds: day / 1000,
  pendingDeployHoldTaskDuringDecommissionMillis: 600_000,
  killTaskIfNotHealthyAfterSeconds: 600,
};
const deploys = new Map<string, Deploy>(['d1', 'd2'].map((id) => [id, { requestId: 'web', id }]));
const instances = 2;

const staying = (instanceNo: number, deployId = 'd1', changes: Partial<CleanupTask> = {}): CleanupTask => ({
  ...observed({ instanceNo, deployId }),
  killed: false,
  ...changes,
});
/** Runs, but not for long enough to count as healthy. */
const young = { runningAt: orderedAt - 1 };
/** A task of the deploy that goes, beside the others. */
const going = (cleanupType: TaskCleanupType, instanceNo = 1): CleanupTask => {
  const task = staying(instanceNo, goingFrom(cleanupType));
  return { ...task, cleanup: { taskId: task.taskId, cleanupType, timestamp: orderedAt } };
};
/** Tasks of a deploy that failed or was cancelled belong to that deploy; the active one is d1. */
const goingFrom = (type: TaskCleanupType): string =>
  table[type].longRunning === 'the active deploy is complete' ? 'd2' : 'd1';

const decide = (
  requestType: RequestType,
  tasks: CleanupTask[],
  changes: Partial<CleanupView> = {},
  after = 0,
): string[] => {
  const view: CleanupView = {
    request: { id: 'web', requestType, instances: isLongRunning(requestType) ? instances : undefined },
    requestState: 'ACTIVE',
    activeDeployId: 'd1',
    deploys,
    tasks,
    settings,
    ...changes,
  };
  return decideKills(view, orderedAt + after).map(({ kind }) => kind);
};

test('the table has every type that there is', () => {
  expect(Object.keys(table).toSorted()).toEqual([...taskCleanupTypes].toSorted());
  expect(taskCleanupTypes).toHaveLength(27);
});

const cases = taskCleanupTypes.flatMap((type) =>
  requestTypes.map((requestType) => ({
    type,
    requestType,
    until: isLongRunning(requestType) ? table[type].longRunning : table[type].others,
  })),
);

describe('a task goes', () => {
  test.each(cases)('$type of a $requestType: $until', ({ type, requestType, until }) => {
    const task = going(type);
    switch (until) {
      case 'at once':
        return expect(decide(requestType, [task])).toEqual(['kill']);
      case 'a day':
        // Replacements are nothing to a run: it may end by itself.
        expect(decide(requestType, [task, staying(2), staying(3)], {}, day)).toEqual(['wait']);
        return expect(decide(requestType, [task], {}, day + 1)).toEqual(['kill']);
      case 'replacements healthy':
        expect(decide(requestType, [task], {}, 10 * day)).toEqual(['wait']);
        expect(decide(requestType, [task, staying(2)])).toEqual(['wait']);
        expect(decide(requestType, [task, staying(2), staying(3, 'd1', young)])).toEqual(['wait']);
        return expect(decide(requestType, [task, staying(2), staying(3)])).toEqual(['kill']);
      case 'the one in its place healthy': {
        const inItsPlace = { ...task.taskId, id: `${task.taskId.id}-new` };
        expect(decide(requestType, [task, staying(2), staying(3)])).toEqual(['wait']);
        expect(decide(requestType, [task, staying(1, 'd1', { taskId: inItsPlace, ...young })])).toEqual(['wait']);
        return expect(decide(requestType, [task, staying(1, 'd1', { taskId: inItsPlace })])).toEqual(['kill']);
      }
      case 'one healthy replacement each': {
        const both = [going(type, 1), going(type, 2)];
        expect(decide(requestType, [...both, staying(3, 'd1', young)])).toEqual(['wait', 'wait']);
        expect(decide(requestType, [...both, staying(3)])).toEqual(['kill', 'wait']);
        return expect(decide(requestType, [...both, staying(3), staying(4)])).toEqual(['kill', 'kill']);
      }
      case 'the active deploy is complete':
        expect(decide(requestType, [task, staying(2)])).toEqual(['wait']);
        expect(decide(requestType, [task, staying(2), staying(3, 'd1', young)])).toEqual(['wait']);
        expect(decide(requestType, [task, staying(2), staying(3, 'd2')])).toEqual(['wait']);
        return expect(decide(requestType, [task, staying(2), staying(3)])).toEqual(['kill']);
    }
  });

  test.each(cases)('$type of a $requestType that is paused: unless the pause spares it', (given) => {
    const { type, requestType, until } = given;
    const isSpared = type === 'PAUSING' && !isLongRunning(requestType);
    const expected = until === 'at once' || !isSpared ? 'kill' : 'wait';
    expect(decide(requestType, [going(type)], { requestState: 'PAUSED' })).toEqual([expected]);
  });

  test.each(cases)('$type of a $requestType that is gone: at once', ({ type, requestType }) => {
    expect(decide(requestType, [going(type)], { request: undefined, requestState: undefined })).toEqual(['kill']);
  });

  test.each(cases)('$type of a $requestType of which no deploy serves: services at once', (given) => {
    const { type, requestType, until } = given;
    const expected = until === 'at once' || isLongRunning(requestType) ? 'kill' : 'wait';
    expect(decide(requestType, [going(type)], { activeDeployId: undefined })).toEqual([expected]);
  });

  test.each(cases)('$type of a $requestType that has ended: nothing is left to do', ({ type, requestType }) => {
    expect(decide(requestType, [{ ...going(type), state: 'TASK_LOST' }])).toEqual(['drop']);
  });
});

test.each(taskCleanupTypes)('%s: SIGKILL without grace only where force was asked for', (type) =>
  expect(cleanupRules[type].forced).toBe(table[type].forced === true),
);

describe('the grace of a kill', () => {
  const deploy: Deploy = { requestId: 'web', id: 'd1', executorData: { sigKillProcessesAfterMillis: 7_000 } as never };
  test.each<{ type: TaskCleanupType; of?: Deploy; millis: number }>([
    { type: 'SCALING_DOWN', of: deploy, millis: 7_000 },
    { type: 'SCALING_DOWN', millis: 5_000 },
    { type: 'USER_REQUESTED_DESTROY', of: deploy, millis: 0 },
    { type: 'REQUEST_DELETING', of: deploy, millis: 7_000 },
    { type: 'REQUEST_DELETING', millis: 5_000 },
  ])('$type: $millis ms', ({ type, of, millis }) =>
    expect(killGraceMillis(type, of, { killGraceMillis: 5_000 })).toBe(millis),
  );
});
