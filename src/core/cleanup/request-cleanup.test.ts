import { describe, expect, test } from 'vitest';
import { observed } from '../../../test/support/fixtures/health.js';
import type { RequestCleanup } from '../model/request.js';
import { decideRequestCleanup, type RequestCleanupView } from './index.js';

const now = 5_000_000;
const order = (cleanupType: RequestCleanup['cleanupType'], changes: Partial<RequestCleanup> = {}): RequestCleanup => ({
  requestId: 'web',
  cleanupType,
  timestamp: now - 1_000,
  user: 'ann',
  message: 'because',
  actionId: 'a1',
  ...changes,
});
type ViewTask = RequestCleanupView['tasks'][number];
const task = (instanceNo: number, changes: Partial<ViewTask> = {}, deployId = 'd1'): ViewTask => ({
  taskId: observed({ instanceNo, deployId }).taskId,
  state: 'TASK_RUNNING',
  ...changes,
});
const view = (changes: Partial<RequestCleanupView> = {}): RequestCleanupView => ({
  requestState: 'PAUSED',
  deploying: false,
  tasks: [task(1), task(2, { state: 'TASK_FAILED' })],
  settings: { defaultValueForKillTasksOfPausedRequests: true },
  ...changes,
});
const told = (cleanup: RequestCleanup, given = view()) => {
  const step = decideRequestCleanup(cleanup, given, now);
  return 'cleanups' in step
    ? step.cleanups.map(({ taskId, cleanupType }) => `${taskId.instanceNo} ${cleanupType}`)
    : step.kind;
};

describe('a pause', () => {
  test('kills by default, and carries on who wanted it', () => {
    const step = decideRequestCleanup(order('PAUSING'), view(), now);
    expect(step).toMatchObject({ kind: 'clean', overwrite: false, dropPendingTasks: true, done: true });
    expect(step).toHaveProperty(
      'cleanups.0',
      expect.objectContaining({
        cleanupType: 'PAUSE',
        user: 'ann',
        message: 'because',
        actionId: 'a1',
        timestamp: now,
      }),
    );
  });
  test('spares jobs when told so, or when a command has to run first', () => {
    expect(told(order('PAUSING', { killTasks: false }))).toEqual(['1 PAUSING']);
    expect(told(order('PAUSING', { killTasks: true, runShellCommandBeforeKill: { name: 'jstack' } }))).toEqual([
      '1 PAUSING',
    ]);
    expect(told(order('PAUSING'), view({ settings: { defaultValueForKillTasksOfPausedRequests: false } }))).toEqual([
      '1 PAUSING',
    ]);
  });
  test('that was taken back has no effect', () => {
    expect(told(order('PAUSING'), view({ requestState: 'ACTIVE' }))).toBe('drop');
    expect(told(order('PAUSING'), view({ requestState: 'ACTIVE', deploysInUse: ['d1', undefined] }))).toBe('drop');
  });
  test('that was taken back after it ended a deploy takes the tasks of that one, and no pending ones', () => {
    const tasks = [task(1), task(1, {}, 'd2'), task(2, { state: 'TASK_FAILED' }, 'd2')];
    const given = view({ requestState: 'ACTIVE', deploysInUse: ['d1', undefined], tasks });
    const step = decideRequestCleanup(order('PAUSING'), given, now);
    expect(step).toMatchObject({ kind: 'clean', dropPendingTasks: false, done: true });
    expect(step).toHaveProperty('cleanups', [
      expect.objectContaining({ taskId: expect.objectContaining({ deployId: 'd2', instanceNo: 1 }) }),
    ]);
  });
});

describe('a deletion', () => {
  test('tells every active task once', () => {
    const tasks = [
      task(1),
      task(2, { cleanupType: 'BOUNCING' }),
      task(3, { cleanupType: 'REQUEST_DELETING' }),
      task(4, { killedFor: 'REQUEST_DELETING' }),
      task(5, { killedFor: 'PAUSE' }),
    ];
    expect(told(order('DELETING'), view({ tasks }))).toEqual([
      '1 REQUEST_DELETING',
      '2 REQUEST_DELETING',
      '5 REQUEST_DELETING',
    ]);
    expect(told(order('DELETING', { force: true }), view({ tasks }))).toEqual([
      '1 USER_REQUESTED_DESTROY',
      '2 USER_REQUESTED_DESTROY',
      '3 USER_REQUESTED_DESTROY',
      '4 USER_REQUESTED_DESTROY',
      '5 USER_REQUESTED_DESTROY',
    ]);
    expect(decideRequestCleanup(order('DELETING', { waitForTasks: true }), view({ tasks }), now)).toMatchObject({
      cleanups: [],
      dropPendingTasks: true,
      done: false,
    });
    expect(decideRequestCleanup(order('DELETING'), view({ tasks }), now)).toMatchObject({
      overwrite: true,
      done: false,
    });
  });
  test('is complete when nothing runs and no deploy is in progress', () => {
    const idle = view({ tasks: [task(1, { state: 'TASK_KILLED' })] });
    expect(told(order('DELETING'), { ...idle, deploying: true })).toBe('wait');
    expect(told(order('DELETING'), idle)).toBe('remove');
    expect(told(order('DELETING'), { ...idle, requestState: undefined })).toBe('remove');
  });
});

describe('a bounce', () => {
  const serving = view({
    requestState: 'ACTIVE',
    tasks: [task(1), task(2), task(1, {}, 'd0'), task(3, { state: 'TASK_LOST' })],
  });
  test.each([
    ['BOUNCE', 'BOUNCING'],
    ['INCREMENTAL_BOUNCE', 'INCREMENTAL_BOUNCE'],
  ] as const)('%s marks the active tasks of its deploy and asks for as many new ones', (type, cleanupType) => {
    expect(told(order(type, { deployId: 'd1' }), serving)).toEqual([`1 ${cleanupType}`, `2 ${cleanupType}`]);
    expect(decideRequestCleanup(order(type, { deployId: 'd1', skipHealthchecks: true }), serving, now)).toMatchObject({
      kind: 'bounce',
      queue: { pendingType: 'BOUNCE', deployId: 'd1', skipHealthchecks: true, actionId: 'a1' },
    });
  });
  test('of a request that is gone has no effect', () => {
    expect(told(order('BOUNCE', { deployId: 'd1' }), view({ requestState: undefined }))).toBe('drop');
  });
});
