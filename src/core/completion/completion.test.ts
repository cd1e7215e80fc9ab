import { describe, expect, test } from 'vitest';
import { type PendingType, type RequestType, type TaskState } from '../model/enums.js';
import type { Request } from '../model/request.js';
import { makePendingTaskId, makeTaskId } from '../task-id.js';
import {
  completeTask,
  countEnd,
  type DeployCounts,
  type EndedTask,
  failureType,
  noCounts,
  type RequestOfTask,
} from './index.js';

const now = 1_800_000_000_000;
const cooldown = { failureThreshold: 3, windowMillis: 60_000 };

const ended = (
  state: TaskState,
  own: Partial<EndedTask> & { pendingType?: PendingType; deployId?: string } = {},
): EndedTask => {
  const { pendingType = 'IMMEDIATE', deployId = 'd1', ...rest } = own;
  const parts = { requestId: 'svc', deployId, instanceNo: 1 };
  return {
    taskId: makeTaskId({ ...parts, startedAt: now - 10_000, host: 'h', rackId: 'r' }),
    state,
    endedAt: now,
    hadToGo: own.cleanupType !== undefined,
    pendingTask: {
      pendingTaskId: makePendingTaskId({ ...parts, nextRunAt: now - 11_000, pendingType, createdAt: now - 12_000 }),
    },
    ...rest,
  };
};
const afterRetries = (task: EndedTask, retries: number): EndedTask => ({
  ...task,
  pendingTask: { ...task.pendingTask, retries },
});
const request = (
  requestType: RequestType,
  own: Partial<Request> & Partial<Omit<RequestOfTask, 'request'>> = {},
): RequestOfTask => {
  const { state = 'ACTIVE', activeDeployId = 'd1', ...rest } = own;
  return { request: { id: 'svc', requestType, ...rest }, state, activeDeployId };
};
const failuresAgo = (...seconds: number[]): DeployCounts => ({
  ...noCounts,
  failureEvents: seconds.map((each) => ({
    instance: 1,
    timestamp: now - each * 1_000,
    type: 'BAD_EXIT_CODE' as const,
  })),
});
const complete = (task: EndedTask, of: RequestOfTask | undefined, counts = noCounts) =>
  completeTask(task, of, counts, cooldown, now);

describe('times of a schedule that pass without a run', () => {
  const everySecond = { quartzSchedule: '* * * * * ?' };
  const skipped = (task: EndedTask, of: RequestOfTask, counts = noCounts) =>
    complete(task, of, counts).counts.skippedRuns;
  const run = (state: TaskState = 'TASK_FINISHED') => ended(state, { pendingType: 'TASK_DONE' });
  test('are counted at the end of the run that they waited for, and added up', () => {
    expect(skipped(run(), request('SCHEDULED', everySecond))).toBe(11);
    expect(skipped(run(), request('SCHEDULED', everySecond), { ...noCounts, skippedRuns: 4 })).toBe(15);
    const retried = request('SCHEDULED', { ...everySecond, numRetriesOnFailure: 1 });
    expect(skipped(run('TASK_FAILED'), retried)).toBe(11);
  });
  test('are those since the request changed last', () => {
    const of = { ...request('SCHEDULED', everySecond), changedAt: now - 3_000 };
    expect(skipped(run(), of)).toBe(3);
  });
  test.each<[string, RequestOfTask]>([
    ['none came due', request('SCHEDULED', { quartzSchedule: '0 0 0 1 1 ? 2099' })],
    ['it is paused', request('SCHEDULED', { ...everySecond, state: 'PAUSED' })],
    ['it follows no schedule', request('ON_DEMAND')],
  ])('are none where %s', (_, of) => expect(skipped(run(), of)).toBeUndefined());
});

describe('a run whose launch never came', () => {
  const dropped = ended('TASK_DROPPED', { reason: 'REASON_TASK_UNKNOWN' });
  const counts = { ...noCounts, numTasks: 7, numFailures: 2, lastTaskState: 'TASK_UNREACHABLE' as const };
  test.each(['ON_DEMAND', 'SCHEDULED', 'RUN_ONCE'] as const)(
    'goes again, uses up no retry and is no failure: %s',
    (type) => {
      const completion = completeTask(dropped, request(type), counts, { ...cooldown, failureThreshold: 1 }, now);
      expect(completion).toMatchObject({ next: 'relaunch', enqueue: { pendingType: 'RETRY', deployId: 'd1' } });
      expect([completion.cooldown, completion.counts]).toEqual([
        undefined,
        { ...counts, lastTaskState: 'TASK_DROPPED' },
      ]);
    },
  );
  test('of a service has its tasks counted again', () =>
    expect(completeTask(dropped, request('SERVICE'), counts, cooldown, now).enqueue?.pendingType).toBe('TASK_DONE'));
  test('does not go again when it had to go', () => {
    const killed = { ...dropped, hadToGo: true, cleanupType: 'USER_REQUESTED' as const };
    expect(completeTask(killed, request('ON_DEMAND'), counts, cooldown, now).enqueue).toBeUndefined();
  });
});

describe('what is queued', () => {
  interface Case {
    name: string;
    task: EndedTask;
    of: RequestOfTask | undefined;
    counts?: DeployCounts;
    queued: PendingType | undefined;
  }
  test.each<Case>([
    { name: 'a service goes on', task: ended('TASK_FAILED'), of: request('SERVICE'), queued: 'TASK_DONE' },
    { name: 'so does a job', task: ended('TASK_FINISHED'), of: request('SCHEDULED'), queued: 'TASK_DONE' },
    { name: 'a run on demand is over', task: ended('TASK_FINISHED'), of: request('ON_DEMAND'), queued: undefined },
    {
      name: 'a failed one too, without retries',
      task: ended('TASK_FAILED'),
      of: request('RUN_ONCE'),
      queued: undefined,
    },
    {
      name: 'a failed run is tried again',
      task: ended('TASK_FAILED'),
      of: request('ON_DEMAND', { numRetriesOnFailure: 1 }),
      queued: 'RETRY',
    },
    {
      name: 'a killed one too',
      task: ended('TASK_KILLED'),
      of: request('RUN_ONCE', { numRetriesOnFailure: 1 }),
      queued: 'RETRY',
    },
    {
      name: 'as often as the request says',
      task: afterRetries(ended('TASK_FAILED'), 2),
      of: request('ON_DEMAND', { numRetriesOnFailure: 2 }),
      queued: undefined,
    },
    {
      name: 'a job that is out of retries waits for its next hit',
      task: afterRetries(ended('TASK_FAILED', { pendingType: 'RETRY' }), 2),
      of: request('SCHEDULED', { numRetriesOnFailure: 2 }),
      queued: 'TASK_DONE',
    },
    {
      name: 'a job that was run by hand is not tried again',
      task: ended('TASK_FAILED'),
      of: request('SCHEDULED', { numRetriesOnFailure: 2 }),
      queued: 'TASK_DONE',
    },
    {
      name: 'a run that a user killed stays killed',
      task: ended('TASK_KILLED', { cleanupType: 'USER_REQUESTED' }),
      of: request('ON_DEMAND', { numRetriesOnFailure: 2 }),
      queued: undefined,
    },
    {
      name: 'a paused run as well',
      task: ended('TASK_KILLED', { cleanupType: 'PAUSE' }),
      of: request('ON_DEMAND', { numRetriesOnFailure: 2 }),
      queued: undefined,
    },
    { name: 'nothing for a request that is gone', task: ended('TASK_FAILED'), of: undefined, queued: undefined },
    {
      name: 'nothing for a paused request',
      task: ended('TASK_FAILED'),
      of: request('SERVICE', { state: 'PAUSED' }),
      queued: undefined,
    },
    {
      name: 'nothing for the deploy in progress, which looks after itself',
      task: ended('TASK_FAILED', { deployId: 'd2' }),
      of: request('SERVICE'),
      queued: undefined,
    },
    {
      name: 'a run of a former deploy is retried by the active one',
      task: ended('TASK_FAILED', { deployId: 'd0' }),
      of: request('ON_DEMAND', { numRetriesOnFailure: 1 }),
      queued: 'RETRY',
    },
    {
      name: 'a run that was lost with its machine starts again',
      task: ended('TASK_LOST', { reason: 'REASON_AGENT_RESTARTED' }),
      of: request('ON_DEMAND'),
      queued: 'RETRY',
    },
    {
      name: 'unless a user was killing it',
      task: ended('TASK_LOST', { reason: 'REASON_AGENT_RESTARTED', cleanupType: 'USER_REQUESTED' }),
      of: request('ON_DEMAND'),
      queued: undefined,
    },
    {
      name: 'or the next run was replacing it',
      task: ended('TASK_LOST', { reason: 'REASON_AGENT_REMOVED', cleanupType: 'REPLACED_BY_NEXT_RUN' }),
      of: request('SCHEDULED', { overlapPolicy: 'REPLACE', numRetriesOnFailure: 1 }),
      queued: 'TASK_DONE',
    },
    {
      name: 'a service lost with its machine is replaced as ever',
      task: ended('TASK_LOST', { reason: 'REASON_AGENT_REMOVED' }),
      of: request('SERVICE'),
      queued: 'TASK_DONE',
    },
  ])('$name', ({ task, of, counts, queued }) => expect(complete(task, of, counts).enqueue?.pendingType).toBe(queued));

  test('a retry asks for all that the run asked for, of the active deploy', () => {
    const asked = {
      runId: 'r',
      user: 'u',
      envOverrides: { A: 'b' },
      cmdLineArgsList: ['x'],
      requiredSlaveAttributeOverrides: { c: 'd' },
    };
    const task = ended('TASK_FAILED', { deployId: 'd0' });
    const of = request('ON_DEMAND', { numRetriesOnFailure: 1 });
    const { enqueue } = complete({ ...task, pendingTask: { ...task.pendingTask, ...asked } }, of);
    expect(enqueue).toEqual({
      ...asked,
      requestId: 'svc',
      deployId: 'd1',
      timestamp: now,
      pendingType: 'RETRY',
      trigger: 'RETRY',
      attempt: 2,
      retries: 1,
    });
  });

  test('retries are counted by run; a relaunch is not one of them', () => {
    const of = request('ON_DEMAND', { numRetriesOnFailure: 5 });
    const counts = { ...noCounts, numSequentialRetries: 1 };
    expect(complete(afterRetries(ended('TASK_FAILED'), 1), of, counts).counts.numSequentialRetries).toBe(2);
    expect(complete(ended('TASK_FINISHED'), of, counts).counts.numSequentialRetries).toBe(0);
    expect(
      complete(ended('TASK_LOST', { reason: 'REASON_AGENT_REMOVED' }), of, counts).counts.numSequentialRetries,
    ).toBe(1);
  });
});

describe('cooldown', () => {
  test.each([
    {
      name: 'starts when failures come too fast',
      task: ended('TASK_FAILED'),
      of: request('SERVICE'),
      counts: failuresAgo(1, 2),
      is: 'ENTER',
    },
    {
      name: 'not before',
      task: ended('TASK_FAILED'),
      of: request('SERVICE'),
      counts: failuresAgo(1, 90),
      is: undefined,
    },
    {
      name: 'not for kills',
      task: ended('TASK_KILLED'),
      of: request('SERVICE'),
      counts: failuresAgo(1, 2),
      is: undefined,
    },
    {
      name: 'not for runs on demand',
      task: ended('TASK_FAILED'),
      of: request('ON_DEMAND'),
      counts: failuresAgo(1, 2),
      is: undefined,
    },
    {
      name: 'not twice',
      task: ended('TASK_FAILED'),
      of: request('SERVICE', { state: 'SYSTEM_COOLDOWN' }),
      counts: failuresAgo(1, 2),
      is: undefined,
    },
    {
      name: 'not for the deploy in progress',
      task: ended('TASK_FAILED', { deployId: 'd2' }),
      of: request('SERVICE'),
      counts: failuresAgo(1, 2),
      is: undefined,
    },
    {
      name: 'ends with a run that succeeds',
      task: ended('TASK_FINISHED'),
      of: request('SCHEDULED', { state: 'SYSTEM_COOLDOWN' }),
      counts: noCounts,
      is: 'LEAVE',
    },
  ])('$name', ({ task, of, counts, is }) => expect(complete(task, of, counts).cooldown).toBe(is));
});

describe('failure events', () => {
  test.each([
    [ended('TASK_FINISHED'), 'SERVICE', 'UNEXPECTED_EXIT'],
    [ended('TASK_FINISHED'), 'SCHEDULED', undefined],
    [ended('TASK_KILLED', { message: 'OVERDUE_NEW_TASK: too late' }), 'SERVICE', 'STARTUP_FAILURE'],
    [ended('TASK_KILLED', { cleanupType: 'UNHEALTHY_NEW_TASK' }), 'SERVICE', 'STARTUP_FAILURE'],
    [ended('TASK_KILLED'), 'SERVICE', undefined],
    [ended('TASK_FAILED', { message: 'Memory limit exceeded: 64 MB' }), 'SERVICE', 'OOM'],
    [ended('TASK_FAILED', { reason: 'REASON_CONTAINER_LIMITATION_MEMORY' }), 'SERVICE', 'OOM'],
    [ended('TASK_FAILED', { reason: 'REASON_CONTAINER_LIMITATION_DISK' }), 'SERVICE', 'OUT_OF_DISK_SPACE'],
    [ended('TASK_FAILED'), 'SERVICE', 'BAD_EXIT_CODE'],
    [ended('TASK_FAILED', { cleanupType: 'BOUNCING' }), 'SERVICE', undefined],
    [ended('TASK_LOST', { reason: 'REASON_TASK_INVALID' }), 'SERVICE', 'MESOS_ERROR'],
    [ended('TASK_LOST', { reason: 'REASON_AGENT_REMOVED' }), 'SERVICE', 'LOST_SLAVE'],
    [ended('TASK_LOST'), 'SERVICE', undefined],
    [ended('TASK_ERROR'), 'SERVICE', undefined],
  ] as const)('%o of a %s counts as %s', (task, type, expected) => expect(failureType(task, type)).toBe(expected));
});

describe('statistics', () => {
  test('successes, failures and averages', () => {
    const after = [
      ended('TASK_FINISHED'),
      ended('TASK_FAILED'),
      ended('TASK_KILLED', { cleanupType: 'BOUNCING', endedAt: now + 10_000 }),
    ].reduce((counts, task) => countEnd(counts, task, 'SCHEDULED', 0), noCounts);
    expect(after).toEqual({
      numTasks: 3,
      numSuccess: 0,
      numFailures: 1,
      numSequentialRetries: 0,
      lastFinishAt: now + 10_000,
      lastTaskState: 'TASK_KILLED',
      averageRuntimeMillis: 15_000,
      runtimeSamples: 2,
      averageSchedulingDelayMillis: 1_000,
      failureEvents: [{ instance: 1, timestamp: now, type: 'BAD_EXIT_CODE' }],
    });
  });
  test('an end that arrives late does not replace the newest', () => {
    const after = [ended('TASK_FAILED'), ended('TASK_FINISHED', { endedAt: now - 5 })].reduce(
      (counts, task) => countEnd(counts, task, 'SERVICE', 0),
      noCounts,
    );
    expect(after).toMatchObject({ lastFinishAt: now, lastTaskState: 'TASK_FAILED' });
    expect(after.failureEvents.map((event) => event.timestamp)).toEqual([now, now - 5]);
  });
  test('only the newest 50 failures are kept', () => {
    let counts: DeployCounts = noCounts;
    for (let each = 0; each < 60; each++)
      counts = countEnd(counts, ended('TASK_FAILED', { endedAt: now + each }), 'SERVICE', 0);
    expect(counts.failureEvents).toHaveLength(50);
    expect(counts.failureEvents.at(-1)?.timestamp).toBe(now + 10);
  });
});

test.each([
  { name: 'of a load balanced request', of: request('SERVICE', { loadBalanced: true }), leaves: true },
  { name: 'of a request that is gone', of: undefined, leaves: true },
  { name: 'of any other request', of: request('SERVICE'), leaves: false },
])('a task $name that has ended leaves the load balancer: $leaves', ({ of, leaves }) =>
  expect(complete(ended('TASK_FAILED'), of).leavesLoadBalancer).toBe(leaves),
);
