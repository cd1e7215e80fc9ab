import { describe, expect, test } from 'vitest';
import { isLongRunning, isTerminal, requestTypes, taskStates, type TaskFailureType } from '../model/enums.js';
import { endedTask } from '../../../test/support/fixtures/completion.js';
import { failureType } from './index.js';

const ofService = (...parameters: Parameters<typeof endedTask>): TaskFailureType | undefined =>
  failureType(endedTask(...parameters), 'SERVICE');

describe('UNEXPECTED_EXIT', () => {
  test.each(requestTypes)('a %s that finishes: only when it is long-running', (type) =>
    expect(failureType(endedTask('TASK_FINISHED'), type)).toBe(isLongRunning(type) ? 'UNEXPECTED_EXIT' : undefined),
  );
  test('even of a task that had to go', () =>
    expect(ofService('TASK_FINISHED', { cleanupType: 'SCALING_DOWN' })).toBe('UNEXPECTED_EXIT'));
});

test('a task that was killed because it stopped to be healthy is an exit that nobody asked for', () => {
  expect(ofService('TASK_KILLED', { cleanupType: 'UNHEALTHY_TASK', hadToGo: true })).toBe('UNEXPECTED_EXIT');
  expect(ofService('TASK_FAILED', { cleanupType: 'UNHEALTHY_TASK', hadToGo: true })).toBeUndefined();
});

describe('STARTUP_FAILURE', () => {
  test.each(['OVERDUE_NEW_TASK', 'UNHEALTHY_NEW_TASK'] as const)('a task killed as %s', (type) => {
    expect(ofService('TASK_KILLED', { message: `${type} - too late` })).toBe('STARTUP_FAILURE');
    expect(ofService('TASK_KILLED', { cleanupType: type })).toBe('STARTUP_FAILURE');
    expect(ofService('TASK_KILLED', { message: `Killed: ${type}` })).toBeUndefined();
    expect(ofService('TASK_FAILED', { message: type })).toBe('BAD_EXIT_CODE');
  });
  test.each(['USER_REQUESTED', 'BOUNCING', 'SCALING_DOWN'] as const)('not one killed as %s', (cleanupType) =>
    expect(ofService('TASK_KILLED', { cleanupType })).toBeUndefined(),
  );
});

describe('a failed task', () => {
  test.each([
    { message: 'Memory limit exceeded: Requested: 64 MB', is: 'OOM' },
    { message: 'ended: Memory limit exceeded', is: 'OOM' },
    { reason: 'REASON_CONTAINER_LIMITATION_MEMORY', is: 'OOM' },
    { reason: 'REASON_CONTAINER_LIMITATION_DISK', is: 'OUT_OF_DISK_SPACE' },
    { message: 'Memory limit exceeded', reason: 'REASON_CONTAINER_LIMITATION_DISK', is: 'OOM' },
    { reason: 'REASON_COMMAND_EXECUTOR_FAILED', is: 'BAD_EXIT_CODE' },
    { message: 'exit code 1', is: 'BAD_EXIT_CODE' },
    { is: 'BAD_EXIT_CODE' },
  ])('with message $message and reason $reason: $is', ({ is, ...own }) => {
    expect(ofService('TASK_FAILED', own)).toBe(is);
    expect(ofService('TASK_FAILED', { ...own, hadToGo: true })).toBeUndefined();
  });
});

describe('a lost task', () => {
  const clusterErrors = `COMMAND_EXECUTOR_FAILED CONTAINER_LAUNCH_FAILED CONTAINER_PREEMPTED CONTAINER_UPDATE_FAILED
    EXECUTOR_REGISTRATION_TIMEOUT EXECUTOR_REREGISTRATION_TIMEOUT EXECUTOR_TERMINATED EXECUTOR_UNREGISTERED
    FRAMEWORK_REMOVED GC_ERROR INVALID_FRAMEWORKID INVALID_OFFERS MASTER_DISCONNECTED RECONCILIATION RESOURCES_UNKNOWN
    TASK_GROUP_INVALID TASK_GROUP_UNAUTHORIZED TASK_INVALID TASK_UNAUTHORIZED TASK_UNKNOWN`.split(/\s+/);
  const lostSlave = 'AGENT_REMOVED AGENT_RESTARTED AGENT_UNKNOWN AGENT_DISCONNECTED AGENT_REMOVED_BY_OPERATOR'.split(
    ' ',
  );
  test.each([
    ...clusterErrors.map((reason) => ({ reason, is: 'MESOS_ERROR' })),
    ...lostSlave.map((reason) => ({ reason, is: 'LOST_SLAVE' })),
    { reason: 'CONTAINER_LIMITATION_MEMORY', is: undefined },
    { reason: 'SOMETHING_NEW', is: undefined },
  ])('for $reason: $is', ({ reason, is }) => {
    const own = { reason: `REASON_${reason}` };
    expect(ofService('TASK_LOST', own)).toBe(is);
    expect(ofService('TASK_LOST', { ...own, cleanupType: 'BOUNCING' })).toBeUndefined();
    expect(ofService('TASK_FAILED', own)).not.toBe('LOST_SLAVE');
  });
  test('without a reason leaves no event', () => expect(ofService('TASK_LOST')).toBeUndefined());
});

const leavingEvents = new Set(['TASK_FINISHED', 'TASK_KILLED', 'TASK_FAILED', 'TASK_LOST']);
test.each(taskStates.filter((state) => isTerminal(state) && !leavingEvents.has(state)))('%s leaves no event', (state) =>
  expect(
    ofService(state, { message: 'OVERDUE_NEW_TASK Memory limit exceeded', reason: 'REASON_AGENT_REMOVED' }),
  ).toBeUndefined(),
);
