import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  isAlwaysRunning,
  isLongRunning,
  isRunnable,
  isTerminal,
  pendingTypes,
  requestStates,
  requestTypes,
  taskStates,
} from '../model/enums.js';
import type { TaskState } from '../model/enums.js';
import type { PendingTask } from '../model/task.js';
import { endedTask, now, requestOf } from '../../../test/support/fixtures/completion.js';
import { completeTask, type DeployCounts, type EndedTask, noCounts, type RequestOfTask } from './index.js';

const cooldown = { failureThreshold: 5, windowMillis: 60_000 };
const complete = (task: EndedTask, request: RequestOfTask, counts: DeployCounts = noCounts) =>
  completeTask(task, request, counts, cooldown, now);
const queued = (...parameters: Parameters<typeof complete>) => complete(...parameters).enqueue?.pendingType;
/** The run was tried again so often. */
const again = (retries: number) => ({ pendingTask: { pendingTaskId, retries } });
const { pendingTaskId } = endedTask('TASK_FAILED').pendingTask;
const counted = (numSequentialRetries: number): DeployCounts => ({ ...noCounts, numSequentialRetries });

/** All that can be asked for a run. That nothing is forgotten, the compiler sees. */
const asked: Required<Omit<PendingTask, 'pendingTaskId' | 'buffered'>> = {
  cmdLineArgsList: ['x'],
  user: 'me',
  runId: 'run-1',
  skipHealthchecks: true,
  message: 'why',
  resources: { cpus: 2 },
  objstoreUploaderAdditionalFiles: [{ filename: 'log' }],
  runAsUserOverride: 'somebody',
  envOverrides: { A: 'b' },
  requiredSlaveAttributeOverrides: { c: 'd' },
  allowedSlaveAttributeOverrides: { e: 'f' },
  extraArtifacts: [{ uri: 'http://x/y' }],
  actionId: 'action-1',
  retries: 2,
  askedAt: 1_767_614_400_000,
  trigger: 'AFTER',
  scheduledAt: 1_767_614_300_000,
  attempt: 3,
  flowId: 'flow-1',
  parentRuns: ['load-d1-1-1-h-r'],
  triggersFollowers: true,
};
const run = { pendingTask: { pendingTaskId, ...asked } };

describe('a retry', () => {
  test.each(taskStates.filter(isTerminal))('follows any end but TASK_FINISHED and TASK_UNREACHABLE: %s', (state) =>
    expect(queued(endedTask(state), requestOf('RUN_ONCE', { numRetriesOnFailure: 1 }))).toBe(
      state === 'TASK_FINISHED' || state === 'TASK_UNREACHABLE' ? undefined : 'RETRY',
    ),
  );

  test.each([
    { name: 'none when the request does not ask for any', allowed: undefined, before: 0, is: undefined },
    { name: 'none when it asks for 0', allowed: 0, before: 0, is: undefined },
    { name: 'one while fewer were made of this run', allowed: 2, before: 1, is: 'RETRY' },
    { name: 'none when as many were made', allowed: 2, before: 2, is: undefined },
  ])('$name', ({ allowed, before, is }) =>
    expect(
      queued(endedTask('TASK_FAILED', again(before)), requestOf('ON_DEMAND', { numRetriesOnFailure: allowed })),
    ).toBe(is),
  );

  test('asks for all that the run asked for, now and of the active deploy', () => {
    const request = requestOf('ON_DEMAND', { numRetriesOnFailure: 3, activeDeployId: 'd2' });
    expect(complete(endedTask('TASK_FAILED', run), request).enqueue).toEqual({
      ...asked,
      trigger: 'RETRY',
      attempt: 4,
      retries: 3,
      requestId: 'svc',
      deployId: 'd2',
      timestamp: now,
      pendingType: 'RETRY',
    });
  });

  describe('is never made', () => {
    const request = requestOf('ON_DEMAND', { numRetriesOnFailure: 3 });
    test.each(['USER_REQUESTED', 'USER_REQUESTED_TASK_BOUNCE', 'USER_REQUESTED_DESTROY', 'PAUSE'] as const)(
      'of a run on demand told %s',
      (cleanupType) => expect(queued(endedTask('TASK_KILLED', { cleanupType }), request)).toBeUndefined(),
    );
    test.each(['DECOMISSIONING', 'PRIORITY_KILL', 'TASK_EXCEEDED_TIME_LIMIT', 'PAUSING'] as const)(
      'but of one told %s',
      (cleanupType) => expect(queued(endedTask('TASK_KILLED', { cleanupType }), request)).toBe('RETRY'),
    );
    test('but of other types told USER_REQUESTED', () =>
      expect(
        queued(
          endedTask('TASK_KILLED', { cleanupType: 'USER_REQUESTED' }),
          requestOf('RUN_ONCE', { numRetriesOnFailure: 3 }),
        ),
      ).toBe('RETRY'));
    test.each(pendingTypes)('of a job launched as IMMEDIATE; this one as %s', (pendingType) =>
      expect(
        queued(endedTask('TASK_FAILED', { pendingType }), requestOf('SCHEDULED', { numRetriesOnFailure: 3 })),
      ).toBe({ IMMEDIATE: 'TASK_DONE', BACKFILL: 'BACKFILL' }[String(pendingType)] ?? 'RETRY'),
    );
  });

  test('is counted for people by the run that ended last', () => {
    const request = requestOf('ON_DEMAND', { numRetriesOnFailure: 3 });
    const countAfter = (state: TaskState, own: Parameters<typeof endedTask>[1] = {}) =>
      complete(endedTask(state, { ...again(1), ...own }), request, counted(1)).counts.numSequentialRetries;
    expect(countAfter('TASK_FAILED')).toBe(2);
    expect(countAfter('TASK_FINISHED')).toBe(0);
    expect(countAfter('TASK_KILLED', { cleanupType: 'USER_REQUESTED' })).toBe(0);
    expect(complete(endedTask('TASK_FAILED', again(3)), request, counted(3)).counts.numSequentialRetries).toBe(0);
    const paused = requestOf('ON_DEMAND', { numRetriesOnFailure: 3, state: 'PAUSED' });
    expect(complete(endedTask('TASK_FAILED', again(1)), paused, counted(1)).counts.numSequentialRetries).toBe(0);
  });

  test.each(['ON_DEMAND', 'RUN_ONCE', 'SCHEDULED'] as const)(
    'is made exactly as often as promised for each of many %s runs, in whatever order they fail, are lost or succeed',
    (type) =>
      fc.assert(
        fc.property(
          fc.nat(4),
          fc.array(fc.array(fc.constantFrom('fails', 'is lost', 'succeeds'), { maxLength: 12 }), { maxLength: 6 }),
          fc.infiniteStream(fc.nat()),
          fc.boolean(),
          (allowed, fates, picks, isShort) => {
            const said = isShort ? { numRetriesOnFailure: allowed } : { retry: { attempts: allowed, delayMillis: 10 } };
            const request = requestOf(type, said);
            const runs = fates.map((fate) => ({
              fate: [...fate],
              attempts: 0,
              succeeded: false,
              next: { pendingTaskId } as PendingTask,
            }));
            let counts = noCounts;
            for (let live = [...runs]; live.length > 0;) {
              const run = live[picks.next().value! % live.length]!;
              const fate = run.fate.shift() ?? 'fails';
              const state = fate === 'fails' ? 'TASK_FAILED' : fate === 'is lost' ? 'TASK_LOST' : 'TASK_FINISHED';
              const ended = endedTask(state, { reason: 'REASON_AGENT_REMOVED', pendingTask: run.next });
              const { enqueue, counts: after } = complete(ended, request, counts);
              counts = after;
              if (fate !== 'is lost') run.attempts++;
              run.succeeded ||= fate === 'succeeds';
              if (fate !== 'is lost') expect(enqueue?.attempt ?? run.attempts + 1).toBe(run.attempts + 1);
              if (enqueue?.pendingType === 'RETRY')
                run.next = { pendingTaskId, retries: enqueue.retries, attempt: enqueue.attempt };
              else live = live.filter((one) => one !== run);
            }
            for (const { attempts, succeeded } of runs) {
              if (succeeded) expect(attempts).toBeLessThanOrEqual(allowed + 1);
              else expect(attempts).toBe(allowed + 1);
            }
          },
        ),
      ),
  );
});

describe('a run that was lost', () => {
  const reasons = ['INVALID_OFFERS', 'AGENT_REMOVED', 'AGENT_RESTARTED', 'AGENT_UNKNOWN'];
  const more = ['MASTER_DISCONNECTED', 'AGENT_DISCONNECTED'];
  const lost = (reason = 'REASON_AGENT_REMOVED', own: Parameters<typeof endedTask>[1] = {}) =>
    endedTask('TASK_LOST', { reason, ...own });

  test.each([...reasons, ...more])('for %s is started again', (reason) =>
    expect(queued(lost(`REASON_${reason}`), requestOf('ON_DEMAND'))).toBe('RETRY'),
  );
  test.each(['REASON_TASK_INVALID', 'REASON_AGENT_REMOVED_BY_OPERATOR', 'REASON_RECONCILIATION', undefined])(
    'for %s is not',
    (reason) => expect(queued(endedTask('TASK_LOST', { reason }), requestOf('ON_DEMAND'))).toBeUndefined(),
  );
  test('only TASK_LOST means lost', () =>
    expect(queued(endedTask('TASK_FAILED', { reason: 'REASON_AGENT_REMOVED' }), requestOf('ON_DEMAND'))).toBe(
      undefined,
    ));
  test.each(requestTypes)('of type %s: only when it is not long-running', (type) =>
    expect(queued(lost(), requestOf(type))).toBe(isLongRunning(type) ? 'TASK_DONE' : 'RETRY'),
  );

  test('asks for all it asked for, and no earlier than it was to start', () =>
    expect(complete(lost(undefined, { ...run, nextRunAt: now - 500 }), requestOf('ON_DEMAND')).enqueue).toEqual({
      ...asked,
      requestId: 'svc',
      deployId: 'd1',
      timestamp: now,
      pendingType: 'RETRY',
      runAt: now - 500,
    }));

  test.each([
    {
      name: 'stays with the deploy in progress when it was started by it',
      activeDeployId: 'd0',
      pendingDeployId: 'd1',
      is: 'd1',
    },
    { name: 'moves to the active deploy when its own is gone', activeDeployId: 'd2', pendingDeployId: 'd3', is: 'd2' },
  ])('$name', ({ is, ...deploys }) =>
    expect(complete(lost(), requestOf('ON_DEMAND', deploys)).enqueue?.deployId).toBe(is),
  );

  test.each(['TASK_LOST', 'TASK_FAILED'] as const)(
    'of a RUN_ONCE request stays with its own deploy, whatever came after it: %s',
    (state) => {
      const request = requestOf('RUN_ONCE', { activeDeployId: 'd2', numRetriesOnFailure: 1 });
      const ended = endedTask(state, { reason: 'REASON_AGENT_RESTARTED' });
      expect(complete(ended, request).enqueue).toMatchObject({ deployId: 'd1', pendingType: 'RETRY' });
    },
  );

  test('consumes none of its retries', () => {
    const request = requestOf('ON_DEMAND', { numRetriesOnFailure: 1 });
    expect(complete(lost(undefined, again(1)), request, counted(1))).toMatchObject({
      enqueue: { pendingType: 'RETRY', retries: 1 },
      counts: { numSequentialRetries: 1 },
    });
    expect(complete(lost(), request, counted(0)).counts.numSequentialRetries).toBe(0);
  });

  test('takes the place of what its end would have queued', () => {
    const job = complete(lost(), requestOf('SCHEDULED'));
    expect(job.enqueue?.pendingType).toBe('RETRY');
  });
});

describe('after the end of a task', () => {
  test.each(requestStates)('nothing is queued for a request that is not runnable; this one is %s', (state) =>
    expect(queued(endedTask('TASK_FAILED'), requestOf('SERVICE', { state }))).toBe(
      isRunnable(state) ? 'TASK_DONE' : undefined,
    ),
  );

  test.each(requestTypes)('a %s goes on by itself or not', (type) =>
    expect(queued(endedTask('TASK_FINISHED'), requestOf(type))).toBe(isAlwaysRunning(type) ? 'TASK_DONE' : undefined),
  );

  test.each(requestTypes)('a %s of a deploy that is not the active one leaves it to the deploy', (type) => {
    const request = requestOf(type, { activeDeployId: 'd2' });
    expect(queued(endedTask('TASK_FAILED'), request)).toBeUndefined();
    expect(queued(endedTask('TASK_FINISHED'), request)).toBeUndefined();
  });

  test('it is counted, whatever is queued', () => {
    for (const state of requestStates) {
      const request = requestOf('SERVICE', { state, activeDeployId: 'd2' });
      expect(complete(endedTask('TASK_FAILED'), request).counts).toMatchObject({ numTasks: 1, numFailures: 1 });
    }
    expect(completeTask(endedTask('TASK_FAILED'), undefined, noCounts, cooldown, now).counts.numTasks).toBe(1);
  });
});
