import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isTerminal, taskStates } from '../model/enums.js';
import { endedTask, now } from '../../../test/support/fixtures/completion.js';
import { countEnd, type DeployCounts, type EndedTask, noCounts } from './index.js';

const after = (ends: readonly EndedTask[], from: DeployCounts = noCounts): DeployCounts =>
  ends.reduce((counts, task) => countEnd(counts, task, 'SERVICE', 0), from);
const end = endedTask;

describe('each end is counted', () => {
  test('every end is one task more', () =>
    expect(after([end('TASK_FINISHED'), end('TASK_LOST'), end('TASK_ERROR')]).numTasks).toBe(3));

  test.each([
    { name: 'a success counts up and ends the row of failures', state: 'TASK_FINISHED', is: [3, 0] },
    { name: 'a failure counts up and ends the row of successes', state: 'TASK_FAILED', is: [0, 3] },
    { name: 'so does any other end', state: 'TASK_LOST', is: [0, 3] },
    { name: 'a kill without an order as well', state: 'TASK_KILLED', is: [0, 3] },
    {
      name: 'an unsuccessful end of a task that had to go changes neither',
      state: 'TASK_KILLED',
      had: undefined,
      is: [2, 2],
    },
    { name: 'nor does its failure', state: 'TASK_FAILED', had: 'BOUNCING', is: [2, 2] },
    { name: 'its success counts', state: 'TASK_FINISHED', had: 'BOUNCING', is: [3, 0] },
  ] as const)('$name', ({ state, is, ...own }) => {
    const had = 'had' in own ? { hadToGo: true, cleanupType: own.had } : {};
    const { numSuccess, numFailures } = after([end(state, had)], {
      ...noCounts,
      numSuccess: 2,
      numFailures: 2,
    });
    expect([numSuccess, numFailures]).toEqual(is);
  });

  test('the last finish only moves forward in time', () => {
    const counts = after([end('TASK_FAILED'), end('TASK_FINISHED', { endedAt: now - 1 })]);
    expect(counts).toMatchObject({ lastFinishAt: now, lastTaskState: 'TASK_FAILED' });
    expect(after([end('TASK_LOST', { endedAt: now + 1 })], counts)).toMatchObject({
      lastFinishAt: now + 1,
      lastTaskState: 'TASK_LOST',
    });
  });
});

describe('averages', () => {
  const ran = (millis: number, state: 'TASK_FINISHED' | 'TASK_FAILED' | 'TASK_KILLED' = 'TASK_FINISHED') =>
    end(state, { startedAt: now - millis });

  test('the run time is that of every end but TASK_FAILED', () =>
    expect(after([ran(1_000), ran(90_000, 'TASK_FAILED'), ran(4_000, 'TASK_KILLED')]).averageRuntimeMillis).toBe(
      2_500,
    ));

  test('without any such end there is none', () =>
    expect(after([ran(90_000, 'TASK_FAILED')]).averageRuntimeMillis).toBeUndefined());

  test('the scheduling delay is that of every end', () =>
    expect(
      after([
        end('TASK_FAILED', { startedAt: now, nextRunAt: now - 1_000 }),
        end('TASK_FINISHED', { startedAt: now, nextRunAt: now - 4_000 }),
      ]).averageSchedulingDelayMillis,
    ).toBe(2_500));

  test('they still move after thousands of tasks', () => {
    let counts = after([ran(1_000)], {
      ...noCounts,
      numTasks: 9_999,
      runtimeSamples: 9_999,
      averageRuntimeMillis: 1_000,
    });
    for (let run = 0; run < 10_000; run++) counts = countEnd(counts, ran(5_000), 'SCHEDULED', 0);
    expect(counts.averageRuntimeMillis).toBeCloseTo(3_000, 0);
  });
});

describe('failure events', () => {
  test('tell instance, time and type, newest first', () =>
    expect(
      after([
        end('TASK_FAILED', { endedAt: now - 5, instanceNo: 2 }),
        end('TASK_LOST', { reason: 'REASON_AGENT_REMOVED', instanceNo: 3 }),
        end('TASK_ERROR'),
      ]).failureEvents,
    ).toEqual([
      { instance: 3, timestamp: now, type: 'LOST_SLAVE' },
      { instance: 2, timestamp: now - 5, type: 'BAD_EXIT_CODE' },
    ]));

  test('the newest fifty are kept: an older one that arrives late is not', () => {
    const ends = Array.from({ length: 50 }, (_, at) => end('TASK_FAILED', { endedAt: now + at }));
    const late = after([end('TASK_FAILED', { endedAt: now - 1 })], after(ends));
    expect(late.failureEvents).toHaveLength(50);
    expect(late.failureEvents.at(-1)?.timestamp).toBe(now);
    const newer = after([end('TASK_FAILED', { endedAt: now + 99 })], late);
    expect(newer.failureEvents).toHaveLength(50);
    expect(newer.failureEvents[0]?.timestamp).toBe(now + 99);
    expect(newer.failureEvents.at(-1)?.timestamp).toBe(now + 1);
  });
});

test('the order in which ends are recorded changes neither events, last finish nor averages', () => {
  const anyEnd = fc
    .record({
      state: fc.constantFrom(...taskStates.filter(isTerminal)),
      endedAt: fc.integer({ min: now - 100_000, max: now + 100_000 }),
      instanceNo: fc.integer({ min: 1, max: 3 }),
      startedAt: fc.integer({ min: now - 500_000, max: now - 200_000 }),
      cleanupType: fc.constantFrom(undefined, 'BOUNCING' as const, 'UNHEALTHY_NEW_TASK' as const),
      reason: fc.constantFrom(undefined, 'REASON_AGENT_REMOVED', 'REASON_CONTAINER_LIMITATION_MEMORY'),
    })
    .map(({ state, ...own }) => endedTask(state, own));
  fc.assert(
    fc.property(
      fc
        .uniqueArray(anyEnd, { selector: ({ endedAt }) => endedAt, maxLength: 70 })
        .chain((ends) =>
          fc.record({ ends: fc.constant(ends), shuffled: fc.shuffledSubarray(ends, { minLength: ends.length }) }),
        ),
      ({ ends, shuffled }) => {
        const [one, other] = [after(ends), after(shuffled)];
        expect(other.failureEvents).toEqual(one.failureEvents);
        expect([other.lastFinishAt, other.lastTaskState]).toEqual([one.lastFinishAt, one.lastTaskState]);
        expect([other.numTasks, other.runtimeSamples]).toEqual([one.numTasks, one.runtimeSamples]);
        expect(other.averageRuntimeMillis ?? 0).toBeCloseTo(one.averageRuntimeMillis ?? 0, 3);
        expect(other.averageSchedulingDelayMillis ?? 0).toBeCloseTo(one.averageSchedulingDelayMillis ?? 0, 3);
      },
    ),
  );
});
