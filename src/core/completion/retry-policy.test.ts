import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { endedTask, now, requestOf } from '../../../test/support/fixtures/completion.js';
import type { RetryPolicy } from '../model/request.js';
import { completeTask, longestRetryDelayMillis, noCounts } from './index.js';
import { retryDelayMillis } from './retry-policy.js';

const cooldown = { failureThreshold: 0, windowMillis: 60_000 };
const after = (ended: ReturnType<typeof endedTask>, retry: RetryPolicy) =>
  completeTask(ended, requestOf('ON_DEMAND', { retry }), noCounts, cooldown, now);
const next = (...parameters: Parameters<typeof after>) => after(...parameters).next;

describe('which ends are followed by another try', () => {
  const failed = (exitCode?: number) => endedTask('TASK_FAILED', { exitCode });
  const timedOut = endedTask('TASK_KILLED', { cleanupType: 'TASK_EXCEEDED_TIME_LIMIT' });
  const lost = (reason: string) => endedTask('TASK_LOST', { reason });
  const withMachine = lost('REASON_AGENT_REMOVED');
  const undelivered = endedTask('TASK_DROPPED', { reason: 'REASON_TASK_UNKNOWN' });
  test.each<[string, ReturnType<typeof endedTask>, Omit<RetryPolicy, 'attempts'>, string]>([
    ['any failure', failed(1), {}, 'retry'],
    ['a listed code', failed(75), { onExitCodes: [74, 75] }, 'retry'],
    ['a code that is not listed', failed(1), { onExitCodes: [74, 75] }, 'nothing'],
    ['no code, which is none of the listed', failed(), { onExitCodes: [75] }, 'nothing'],
    ['a code that is ruled out', failed(2), { notOnExitCodes: [2] }, 'nothing'],
    ['another code', failed(1), { notOnExitCodes: [2] }, 'retry'],
    ['no code, which is none of those ruled out', failed(), { notOnExitCodes: [2] }, 'retry'],
    [
      'an end that codes say nothing of',
      endedTask('TASK_KILLED', { cleanupType: 'DECOMISSIONING' }),
      { onExitCodes: [9] },
      'retry',
    ],
    ['a time limit', timedOut, {}, 'retry'],
    ['a time limit that is final', timedOut, { onTimeLimit: false }, 'nothing'],
    ['a loss that goes on as it was', withMachine, {}, 'relaunch'],
    ['a loss that is final', withMachine, { onLost: false }, 'nothing'],
    ['a loss that counts', lost('REASON_CONTAINER_LAUNCH_FAILED'), {}, 'retry'],
    ['a loss of unknown cause that is final', lost('REASON_CONTAINER_LAUNCH_FAILED'), { onLost: false }, 'nothing'],
    ['one that never began', undelivered, { onLost: false }, 'relaunch'],
    ['a success', endedTask('TASK_FINISHED'), {}, 'nothing'],
  ])('%s', (_name, ended, own, is) => expect(next(ended, { attempts: 1, ...own })).toBe(is));
});

describe('when', () => {
  const pause = (policy: Partial<RetryPolicy>, retries: number, taskId = 't') =>
    retryDelayMillis({ attempts: 9, ...policy }, retries, taskId);
  test.each([
    { name: 'at once', policy: {}, pauses: [0, 0, 0] },
    { name: 'after the same pause each time', policy: { delayMillis: 500 }, pauses: [500, 500, 500] },
    {
      name: 'after longer and longer pauses',
      policy: { delayMillis: 500, backoffFactor: 3 },
      pauses: [500, 1_500, 4_500],
    },
    {
      name: 'up to the longest one',
      policy: { delayMillis: 500, backoffFactor: 3, maxDelayMillis: 600 },
      pauses: [500, 600, 600],
    },
  ])('$name', ({ policy, pauses }) => expect([0, 1, 2].map((retries) => pause(policy, retries))).toEqual(pauses));

  test('a pause runs from the end of the try, however late that is told', () => {
    const ended = endedTask('TASK_FAILED', { endedAt: now - 3_000 });
    expect(after(ended, { attempts: 1, delayMillis: 60_000 }).enqueue?.runAt).toBe(now + 57_000);
    expect(after(ended, { attempts: 1 }).enqueue).not.toHaveProperty('runAt');
  });

  test('runs that fail together are spread over the jitter', () => {
    const pauses = Array.from({ length: 1_000 }, (_, run) =>
      pause({ delayMillis: 1_000, jitter: 0.5 }, 0, `job-${run}`),
    );
    const ofHalf = (from: number) => pauses.filter((millis) => millis >= from && millis < from + 250).length;
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(500);
    for (const from of [500, 750]) expect(ofHalf(from)).toBeGreaterThan(400);
  });

  test('a pause is within its bounds and a time, however often was tried', () =>
    fc.assert(
      fc.property(
        fc.record({
          delayMillis: fc.nat(longestRetryDelayMillis),
          backoffFactor: fc.double({ min: 1, max: 100, noNaN: true }),
          maxDelayMillis: fc.option(fc.nat(longestRetryDelayMillis), { nil: undefined }),
          jitter: fc.double({ min: 0, max: 1, noNaN: true }),
        }),
        fc.nat(1_000),
        fc.string(),
        (policy, retries, taskId) => {
          const longest = pause({ ...policy, jitter: 0 }, retries, taskId);
          const millis = pause(policy, retries, taskId);
          expect(Number.isSafeInteger(millis)).toBe(true);
          expect(millis).toBeLessThanOrEqual(longest);
          expect(longest).toBeLessThanOrEqual(policy.maxDelayMillis ?? longestRetryDelayMillis);
          expect(millis).toBeGreaterThanOrEqual(Math.floor(longest * (1 - policy.jitter)));
          expect(pause(policy, retries, taskId)).toBe(millis);
        },
      ),
    ));
});
