import fc from 'fast-check';
import { spreadOverBuckets } from './crash-loops.js';
import { type CrashLoopRules, findCrashLoops, type InstanceCleanup, type ObservedDeploy } from './index.js';
import type { TaskFailureEvent } from '../model/deploy.js';
import {
  type CrashLoopType,
  crashLoopTypes,
  requestTypes,
  type TaskFailureType,
  taskFailureTypes,
} from '../model/enums.js';
import { describe, expect, test } from 'vitest';

const now = 1_800_000_000_000;
const second = 1_000;
const minute = 60_000;

const rules: CrashLoopRules = {
  cooldown: { failureThreshold: 5, windowMillis: minute },
  startup: { failureThreshold: 5, windowMillis: 10 * minute },
  oom: { failureThreshold: 4, windowMillis: 30 * minute },
  singleInstance: { sizeMillis: 3 * minute, buckets: 10, threshold: 0.25, minBucketIndexPercent: 75 },
  multiInstance: { sizeMillis: 3 * minute, buckets: 10, threshold: 0.4, minBucketIndexPercent: 75 },
  slow: { sizeMillis: 30 * minute, buckets: 15, threshold: 0.7, minBucketIndexPercent: 75 },
};

/** Failures of one instance, so many minutes ago. */
const failed = (type: TaskFailureType, instance: number, ...minutesAgo: number[]): TaskFailureEvent[] =>
  minutesAgo.map((ago) => ({ type, instance, timestamp: now - ago * minute }));
const cleaned = (instanceNo: number, minutesAgo: number): InstanceCleanup => ({
  instanceNo,
  createdAt: now - minutesAgo * minute,
});
const deploy = (failures: TaskFailureEvent[], own: Partial<ObservedDeploy> = {}): ObservedDeploy => ({
  requestType: 'SERVICE',
  failures,
  cleanups: [],
  ...own,
});
/** Age in minutes of the loop of this type; undefined: there is none. */
const began = (type: CrashLoopType, observed: ObservedDeploy, given = rules): number | undefined => {
  const loop = findCrashLoops(observed, given, now).find((found) => found.type === type);
  return loop && (now - loop.start) / minute;
};
const range = (from: number, to: number, step = 1): number[] =>
  Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, index) => from + index * step);

interface Case {
  name: string;
  failures: TaskFailureEvent[];
  own?: Partial<ObservedDeploy>;
  given?: CrashLoopRules;
  /** Minutes ago. */
  start: number | undefined;
}
const cases: Record<CrashLoopType, Case[]> = {
  FAST_FAILURE_LOOP: [
    {
      name: 'starts with the latest of five failures within a minute, whatever their kinds',
      failures: [
        ...failed('LOST_SLAVE', 1, 0.9, 0.8),
        ...failed('MESOS_ERROR', 2, 0.7),
        ...failed('UNEXPECTED_EXIT', 3, 0.1),
        ...failed('STARTUP_FAILURE', 1, 0.5),
      ],
      start: 0.1,
    },
    { name: 'is none with four', failures: failed('BAD_EXIT_CODE', 1, 0.1, 0.2, 0.3, 0.4), start: undefined },
    {
      name: 'is none when the fifth is exactly a minute ago',
      failures: failed('BAD_EXIT_CODE', 1, 0.1, 0.2, 0.3, 0.4, 1),
      start: undefined,
    },
    {
      name: 'is none when the threshold is 0',
      failures: failed('BAD_EXIT_CODE', 1, 0, 0, 0, 0, 0),
      given: { ...rules, cooldown: { failureThreshold: 0, windowMillis: minute } },
      start: undefined,
    },
  ],

  STARTUP_FAILURE_LOOP: [
    {
      name: 'starts with the first of three failed starts since the task of that number was told to go',
      failures: failed('STARTUP_FAILURE', 1, 60, 40, 20),
      own: { cleanups: [cleaned(1, 61)] },
      start: 60,
    },
    {
      name: 'is none with two',
      failures: failed('STARTUP_FAILURE', 1, 40, 20),
      own: { cleanups: [cleaned(1, 61)] },
      start: undefined,
    },
    {
      name: 'does not count a failed start of the moment of the cleanup',
      failures: failed('STARTUP_FAILURE', 1, 61, 40, 20),
      own: { cleanups: [cleaned(1, 61)] },
      start: undefined,
    },
    {
      name: 'counts since the newest of several cleanups',
      failures: failed('STARTUP_FAILURE', 1, 60, 40, 20),
      own: { cleanups: [cleaned(1, 61), cleaned(1, 50)] },
      start: undefined,
    },
    {
      name: 'counts by instance number',
      failures: [...failed('STARTUP_FAILURE', 1, 60, 40), ...failed('STARTUP_FAILURE', 2, 20)],
      own: { cleanups: [cleaned(1, 61), cleaned(2, 61)] },
      start: undefined,
    },
    {
      name: 'needs a task that has to go',
      failures: failed('STARTUP_FAILURE', 1, ...range(1, 9)),
      start: undefined,
    },
    {
      name: 'needs failed starts, not other failures',
      failures: failed('BAD_EXIT_CODE', 1, 60, 40, 20),
      own: { cleanups: [cleaned(1, 61)] },
      start: undefined,
    },
    {
      name: 'of several instances starts with the first failed start',
      failures: [...failed('STARTUP_FAILURE', 2, 30, 20, 10), ...failed('STARTUP_FAILURE', 1, 60, 40, 20)],
      own: { cleanups: [cleaned(2, 61), cleaned(1, 61)] },
      start: 60,
    },
    {
      name: 'reaches back before the cleanup when more than five starts failed within ten minutes',
      failures: failed('STARTUP_FAILURE', 1, 9.9, 8, 7, 3, 2, 1),
      own: { cleanups: [cleaned(1, 5)] },
      start: 9.9,
    },
    {
      name: 'does not with five of them, or with one of them ten minutes ago',
      failures: failed('STARTUP_FAILURE', 1, 10, 8, 7, 3, 2, 1),
      own: { cleanups: [cleaned(1, 5)] },
      start: 3,
    },
    {
      name: 'takes many failed starts alone for nothing, when no instance has three since its cleanup',
      failures: [...failed('STARTUP_FAILURE', 1, ...range(6, 9)), ...failed('STARTUP_FAILURE', 1, 1, 2)],
      own: { cleanups: [cleaned(1, 5)] },
      start: undefined,
    },
  ],

  OOM: [
    { name: 'starts with the first of four within half an hour', failures: failed('OOM', 1, 29, 20, 10, 1), start: 29 },
    { name: 'counts all instances together', failures: [1, 2, 3, 4].flatMap((no) => failed('OOM', no, no)), start: 4 },
    { name: 'is none with three', failures: failed('OOM', 1, 20, 10, 1), start: undefined },
    {
      name: 'is none when the fourth is exactly half an hour ago',
      failures: failed('OOM', 1, 30, 20, 10, 1),
      start: undefined,
    },
    {
      name: 'does not count other failures',
      failures: [...failed('OOM', 1, 20, 10, 1), ...failed('BAD_EXIT_CODE', 1, 5)],
      start: undefined,
    },
    {
      name: 'is none when the threshold is 0',
      failures: failed('OOM', 1, 20, 10, 1),
      given: { ...rules, oom: { failureThreshold: 0, windowMillis: minute } },
      start: undefined,
    },
    {
      name: 'is one of a run on demand, too',
      failures: failed('OOM', 1, 1, 2, 3, 4),
      own: { requestType: 'ON_DEMAND' },
      start: 4,
    },
  ],

  SINGLE_INSTANCE_FAILURE_LOOP: [
    { name: 'needs three buckets of three minutes', failures: failed('BAD_EXIT_CODE', 1, 20, 10, 5), start: 20 },
    { name: 'two buckets are too few', failures: failed('BAD_EXIT_CODE', 1, 20, 19, 5, 4), start: undefined },
    { name: 'needs a failure in the last six minutes', failures: failed('BAD_EXIT_CODE', 1, 20, 10, 6), start: 20 },
    {
      name: 'one six minutes and a moment ago is too old',
      failures: failed('BAD_EXIT_CODE', 1, 20, 10, 6 + 1 / 60),
      start: undefined,
    },
    {
      name: 'looks back half an hour, the edge included',
      failures: failed('OUT_OF_DISK_SPACE', 1, 30, 10, 1),
      start: 30,
    },
    {
      name: 'but not further',
      failures: failed('OUT_OF_DISK_SPACE', 1, 30 + 1 / 60, 10, 1),
      start: undefined,
    },
    {
      name: 'counts crashes of every kind together',
      failures: [...failed('OOM', 1, 20), ...failed('OUT_OF_DISK_SPACE', 1, 10), ...failed('BAD_EXIT_CODE', 1, 1)],
      start: 20,
    },
    {
      name: 'counts nothing else',
      failures: [
        ...failed('BAD_EXIT_CODE', 1, 20, 1),
        ...failed('LOST_SLAVE', 1, 10),
        ...failed('UNEXPECTED_EXIT', 1, 15),
      ],
      start: undefined,
    },
    {
      name: 'does not add up instances',
      failures: [
        ...failed('BAD_EXIT_CODE', 1, 20),
        ...failed('BAD_EXIT_CODE', 2, 10),
        ...failed('BAD_EXIT_CODE', 3, 1),
      ],
      start: undefined,
    },
    {
      name: 'of several instances tells the start of the one with the lowest number',
      failures: [...failed('BAD_EXIT_CODE', 3, 29, 10, 1), ...failed('BAD_EXIT_CODE', 2, 15, 10, 1)],
      start: 15,
    },
  ],

  MULTI_INSTANCE_FAILURE: [
    {
      name: 'needs five buckets of three minutes',
      failures: [...failed('BAD_EXIT_CODE', 1, 29, 26, 23), ...failed('OOM', 2, 20, 1)],
      start: 29,
    },
    {
      name: 'four buckets are too few',
      failures: [...failed('BAD_EXIT_CODE', 1, 29, 26), ...failed('OOM', 2, 20, 1)],
      start: undefined,
    },
    { name: 'needs two instances', failures: failed('BAD_EXIT_CODE', 1, 29, 26, 23, 20, 1), start: undefined },
    {
      name: 'an instance that failed before that time does not count',
      failures: [...failed('BAD_EXIT_CODE', 1, 29, 26, 23, 20, 1), ...failed('BAD_EXIT_CODE', 2, 31)],
      start: undefined,
    },
    {
      name: 'needs a failure in the last six minutes',
      failures: [...failed('BAD_EXIT_CODE', 1, 29, 26, 23), ...failed('OOM', 2, 20, 17, 14, 6.1)],
      start: undefined,
    },
  ],

  SLOW_FAILURES: [
    {
      name: 'needs eleven buckets of half an hour',
      failures: failed('BAD_EXIT_CODE', 1, ...range(135, 435, 30)),
      given: { ...rules, slow: { ...rules.slow, minBucketIndexPercent: 50 } },
      start: 435,
    },
    {
      name: 'ten buckets are too few',
      failures: failed('BAD_EXIT_CODE', 1, ...range(15 + 30, 15 + 10 * 30, 30)),
      start: undefined,
    },
    {
      name: 'needs a failure in the bucket before the last, at least',
      failures: failed('BAD_EXIT_CODE', 1, ...range(90, 450, 30)),
      start: 450,
    },
    {
      name: 'one a moment older is too old',
      failures: failed('BAD_EXIT_CODE', 1, ...range(90 + 1 / 60, 450, 30)),
      start: undefined,
    },
    {
      name: 'counts all instances together',
      failures: range(90, 450, 30).flatMap((ago, index) => failed('OOM', index, ago)),
      start: 450,
    },
    {
      name: 'is only of long-running tasks',
      failures: failed('BAD_EXIT_CODE', 1, ...range(90, 450, 30)),
      own: { requestType: 'SCHEDULED' },
      start: undefined,
    },
  ],

  UNEXPECTED_EXITS: [
    {
      name: 'starts with the first of five within half an hour',
      failures: failed('UNEXPECTED_EXIT', 1, 29, 20, 15, 10, 5),
      start: 29,
    },
    { name: 'is none with four', failures: failed('UNEXPECTED_EXIT', 1, 20, 15, 10, 5), start: undefined },
    {
      name: 'is none when the fifth is exactly half an hour ago',
      failures: failed('UNEXPECTED_EXIT', 1, 30, 20, 15, 10, 5),
      start: undefined,
    },
    {
      name: 'is only of long-running tasks',
      failures: failed('UNEXPECTED_EXIT', 1, 29, 20, 15, 10, 5),
      own: { requestType: 'RUN_ONCE' },
      start: undefined,
    },
  ],
};

describe.each(crashLoopTypes)('%s', (type) => {
  test.each(cases[type])('$name', ({ failures, own, given, start }) =>
    expect(began(type, deploy(failures, own), given)).toBe(start),
  );
});

describe('the bucket test', () => {
  const four = { sizeMillis: minute, buckets: 4, threshold: 0.5, minBucketIndexPercent: 0 };
  const spread = (minutesAgo: number[], own: Partial<typeof four> = {}): number =>
    spreadOverBuckets(
      minutesAgo.map((ago) => ({ timestamp: now - ago * minute })),
      { ...four, ...own },
      now,
    ).length;

  test.each([
    { name: 'the share must be exceeded, not met', ago: [4, 3], is: 0 },
    { name: 'of four sizes there are three buckets', ago: [4, 3, 2], is: 3 },
    { name: 'the newest two sizes are one bucket', ago: [2, 1, 0], is: 0 },
    { name: 'a bucket begins with its lower edge', ago: [4, 3 + second / minute, 2], is: 0 },
    { name: 'what lies ahead of now is in the newest bucket', ago: [4, 3, -7], is: 3 },
    { name: 'what is older than all buckets is in none', ago: [5, 3, 2], is: 0 },
  ])('$name', ({ ago, is }) => expect(spread(ago)).toBe(is));

  test.each([
    { percent: 49, is: 3 },
    { percent: 50, is: 0 },
  ])('the newest failure in bucket 2 of 4 is beyond $percent %: $is', ({ percent, is }) =>
    expect(spread([4, 3, 2], { minBucketIndexPercent: percent })).toBe(is),
  );
});

const anyFailure = fc.record({
  instance: fc.integer({ min: 1, max: 3 }),
  type: fc.constantFrom(...taskFailureTypes),
  timestamp: fc.integer({ min: 0, max: 90 }).map((ago) => now - ago * 0.5 * minute),
});
const anyDeploy = fc.record({
  requestType: fc.constantFrom(...requestTypes),
  failures: fc.array(anyFailure, { maxLength: 50 }),
  cleanups: fc.array(
    fc.record({
      instanceNo: fc.integer({ min: 1, max: 3 }),
      createdAt: fc.integer({ min: now - 45 * minute, max: now }),
    }),
    { maxLength: 4 },
  ),
});
/** The shorter buckets are reached by the failures above, too. */
const dense = { ...rules, slow: { ...rules.slow, sizeMillis: 3 * minute } };

describe('laws', () => {
  test('the order of failures and cleanups never changes the verdict', () =>
    fc.assert(
      fc.property(
        anyDeploy.chain((observed) =>
          fc.record({
            observed: fc.constant(observed),
            failures: fc.shuffledSubarray(observed.failures, { minLength: observed.failures.length }),
            cleanups: fc.shuffledSubarray(observed.cleanups, { minLength: observed.cleanups.length }),
          }),
        ),
        ({ observed, failures, cleanups }) => {
          const shuffled = findCrashLoops({ ...observed, failures, cleanups }, dense, now);
          expect(shuffled).toEqual(findCrashLoops(observed, dense, now));
        },
      ),
    ));

  test('a loop begins with a failure of the deploy, and there is one of a type at most', () =>
    fc.assert(
      fc.property(anyDeploy, (observed) => {
        const found = findCrashLoops(observed, dense, now);
        expect(new Set(found.map(({ type }) => type)).size).toBe(found.length);
        const times = new Set(observed.failures.map(({ timestamp }) => timestamp));
        expect(found.every(({ start }) => times.has(start))).toBe(true);
      }),
    ));

  test('one more failure right now ends no loop', () =>
    fc.assert(
      fc.property(anyDeploy, anyFailure, (observed, failure) => {
        const types = (failures: TaskFailureEvent[]) =>
          findCrashLoops({ ...observed, failures }, dense, now).map(({ type }) => type);
        const failures = [...observed.failures, { ...failure, timestamp: now }];
        expect(types(failures)).toEqual(expect.arrayContaining(types(observed.failures)));
      }),
    ));

  test('a day without failures ends every loop but that of a task that could not be replaced', () =>
    fc.assert(
      fc.property(anyDeploy, (observed) => {
        const later = findCrashLoops(observed, dense, now + 24 * 60 * minute);
        expect(later.filter(({ type }) => type !== 'STARTUP_FAILURE_LOOP')).toEqual([]);
      }),
    ));

  test('without failures there is no loop', () =>
    fc.assert(
      fc.property(anyDeploy, (observed) => findCrashLoops({ ...observed, failures: [] }, dense, now).length === 0),
    ));
});
