import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isAlwaysRunning, isLongRunning, isTerminal, requestStates, requestTypes, taskStates } from '../model/enums.js';
import { endedTask, now, requestOf } from '../../../test/support/fixtures/completion.js';
import { completeTask, type DeployCounts, type EndedTask, noCounts, type RequestOfTask } from './index.js';

const cooldown = { failureThreshold: 5, windowMillis: 60_000 };
const complete = (task: EndedTask, request: RequestOfTask, counts: DeployCounts = noCounts) =>
  completeTask(task, request, counts, cooldown, now);

describe('a cooldown', () => {
  /** One end is missing for it. */
  const failing: DeployCounts = {
    ...noCounts,
    failureEvents: [1, 2, 3, 59].map((ago) => ({ instance: 1, timestamp: now - ago * 1_000, type: 'OOM' })),
  };
  const entered = (task: EndedTask, request = requestOf('SERVICE'), counts = failing) =>
    complete(task, request, counts).cooldown === 'ENTER';

  test.each(taskStates.filter(isTerminal))('is entered by any end but TASK_FINISHED and TASK_KILLED: %s', (state) =>
    expect(entered(endedTask(state))).toBe(state !== 'TASK_FINISHED' && state !== 'TASK_KILLED'),
  );
  test('is entered by the kill of a task that stopped to be healthy', () =>
    expect(entered(endedTask('TASK_KILLED', { cleanupType: 'UNHEALTHY_TASK', hadToGo: true }))).toBe(true));
  test.each(requestStates)('is entered only by a request that is ACTIVE; this one is %s', (state) =>
    expect(entered(endedTask('TASK_FAILED'), requestOf('SERVICE', { state }))).toBe(state === 'ACTIVE'),
  );
  test.each(requestTypes)('is entered only by types that always run; this one is %s', (type) =>
    expect(entered(endedTask('TASK_FAILED'), requestOf(type))).toBe(isAlwaysRunning(type)),
  );
  test('is not entered when a machine refused the task', () => {
    expect(entered(endedTask('TASK_LOST', { reason: 'REASON_INVALID_OFFERS' }))).toBe(false);
    expect(entered(endedTask('TASK_LOST', { reason: 'REASON_AGENT_REMOVED' }))).toBe(true);
  });
  test('is entered by an end that leaves no event, and by one of a task that had to go', () => {
    expect(entered(endedTask('TASK_ERROR'))).toBe(true);
    expect(entered(endedTask('TASK_FAILED', { cleanupType: 'BOUNCING' }))).toBe(true);
  });
  test('is not entered when the fifth failure is a minute ago, nor by an end told of too late', () => {
    const [first, ...rest] = failing.failureEvents;
    const old = { ...failing, failureEvents: [...rest, { ...first!, timestamp: now - 60_000 }] };
    expect(entered(endedTask('TASK_FAILED'), undefined, old)).toBe(false);
    expect(entered(endedTask('TASK_FAILED', { endedAt: now - 60_000 }))).toBe(false);
  });
  test('is not entered for a deploy that is not the active one', () =>
    expect(entered(endedTask('TASK_FAILED'), requestOf('SERVICE', { activeDeployId: 'd2' }))).toBe(false));

  test.each(requestTypes)('is left when a run succeeds that is not long-running; this one is a %s', (type) => {
    const cooling = requestOf(type, { state: 'SYSTEM_COOLDOWN' });
    expect(complete(endedTask('TASK_FINISHED'), cooling).cooldown).toBe(isLongRunning(type) ? undefined : 'LEAVE');
    expect(complete(endedTask('TASK_FAILED'), cooling).cooldown).toBeUndefined();
  });

  test('the order of the failures before never changes whether it is entered', () =>
    fc.assert(
      fc.property(
        fc
          .array(fc.integer({ min: now - 120_000, max: now }), { maxLength: 8 })
          .chain((times) => fc.tuple(fc.constant(times), fc.shuffledSubarray(times, { minLength: times.length }))),
        ([times, shuffled]) => {
          const counts = (list: number[]): DeployCounts => ({
            ...noCounts,
            failureEvents: list.map((timestamp) => ({ instance: 1, timestamp, type: 'BAD_EXIT_CODE' })),
          });
          return (
            entered(endedTask('TASK_FAILED'), undefined, counts(times)) ===
            entered(endedTask('TASK_FAILED'), undefined, counts(shuffled))
          );
        },
      ),
    ));
});
