import fc from 'fast-check';
import { expect, test } from 'vitest';
import { endedTask, now, requestOf } from '../../../test/support/fixtures/completion.js';
import { completeTask, noCounts } from './index.js';

const cooldown = { failureThreshold: 0, windowMillis: 60_000 };
const complete = (
  ended: ReturnType<typeof endedTask>,
  failedRuns: number,
  own: Parameters<typeof requestOf>[1] = {},
  requestType: Parameters<typeof requestOf>[0] = 'SCHEDULED',
) => {
  const request = requestOf(requestType, { pauseAfterFailures: 3, ...own });
  const { counts, pauses, enqueue, next } = completeTask(ended, request, { ...noCounts, failedRuns }, cooldown, now);
  // Mails say the same of what follows.
  expect(next === 'nothing').toBe(enqueue === undefined);
  return { failedRuns: counts.failedRuns, pauses, goesOn: enqueue !== undefined };
};
const failed = endedTask('TASK_FAILED');

test.each([
  { name: 'a failure counts', is: { failedRuns: 2, pauses: false, goesOn: true } },
  { name: 'enough of them pause the request', before: 2, is: { failedRuns: 0, pauses: true, goesOn: false } },
  {
    name: 'one that did not ask for it goes on',
    before: 99,
    own: { pauseAfterFailures: undefined },
    is: { failedRuns: 100, pauses: false, goesOn: true },
  },
  {
    name: 'a success ends the row',
    ended: endedTask('TASK_FINISHED'),
    is: { failedRuns: 0, pauses: false, goesOn: true },
  },
  {
    name: 'a try that is followed by another is no failed run',
    before: 2,
    own: { numRetriesOnFailure: 1 },
    is: { failedRuns: 2, pauses: false, goesOn: true },
  },
  {
    name: 'the last try is one',
    ended: endedTask('TASK_FAILED', { pendingTask: { ...failed.pendingTask, retries: 1 } }),
    before: 2,
    own: { numRetriesOnFailure: 1 },
    is: { failedRuns: 0, pauses: true, goesOn: false },
  },
  {
    name: 'a run that was killed says nothing',
    ended: endedTask('TASK_KILLED', { cleanupType: 'USER_REQUESTED' }),
    before: 2,
    is: { failedRuns: 2, pauses: false, goesOn: true },
  },
  {
    name: 'a run that the next one replaced says nothing',
    ended: endedTask('TASK_FAILED', { cleanupType: 'REPLACED_BY_NEXT_RUN' }),
    before: 2,
    own: { overlapPolicy: 'REPLACE' as const, numRetriesOnFailure: 2 },
    is: { failedRuns: 2, pauses: false, goesOn: true },
  },
  {
    name: 'a run for a time of the past says nothing',
    ended: endedTask('TASK_FAILED', { pendingType: 'BACKFILL' }),
    before: 2,
    is: { failedRuns: 2, pauses: false, goesOn: false },
  },
  {
    name: 'a run beyond its time limit has failed',
    ended: endedTask('TASK_KILLED', { cleanupType: 'TASK_EXCEEDED_TIME_LIMIT' }),
    before: 2,
    is: { failedRuns: 0, pauses: true, goesOn: false },
  },
  {
    name: 'one that may come back with its machine has not',
    ended: endedTask('TASK_UNREACHABLE'),
    before: 2,
    is: { failedRuns: 2, pauses: false, goesOn: true },
  },
  {
    name: 'one that runs on through a pause does not count',
    before: 1,
    own: { state: 'PAUSED' as const },
    is: { failedRuns: 1, pauses: false, goesOn: false },
  },
  {
    name: 'one of a former deploy does not pause what has replaced it',
    before: 2,
    own: { activeDeployId: 'd2' },
    is: { failedRuns: 3, pauses: false, goesOn: false },
  },
])('$name', ({ ended = failed, before = 1, own, is }) => expect(complete(ended, before, own)).toEqual(is));

test('a request is paused by exactly so many failures in a row', () =>
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 5 }),
      fc.array(fc.constantFrom('TASK_FAILED', 'TASK_FINISHED', 'TASK_KILLED' as const), { maxLength: 40 }),
      (pauseAfterFailures, ends) => {
        let row = 0;
        let stored = 0;
        for (const state of ends) {
          const ended = endedTask(state, state === 'TASK_KILLED' ? { cleanupType: 'USER_REQUESTED' } : {});
          const found = complete(ended, stored, { pauseAfterFailures }, 'ON_DEMAND');
          if (state === 'TASK_FAILED') row += 1;
          if (state === 'TASK_FINISHED') row = 0;
          expect(found.pauses).toBe(state === 'TASK_FAILED' && row === pauseAfterFailures);
          if (found.pauses) row = 0;
          stored = found.failedRuns ?? 0;
        }
      },
    ),
  ));
