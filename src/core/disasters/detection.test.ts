import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { DisasterDataPoint } from '../model/state.js';
import { disasterTypes, type DisasterType } from '../model/enums.js';
import { type DetectionRules, judgeDisasters } from './detection.js';

const rules: DetectionRules = {
  lag: {
    check: true,
    fewest: 5,
    warningPortion: 0.05,
    criticalPortion: 0.1,
    warningAverageMillis: 120_000,
    criticalAverageMillis: 240_000,
    triggerAfterMillis: 45_000,
  },
  lostSlaves: { check: true, criticalPortion: 0.2, withinMillis: 30_000 },
  lostTasks: { check: true, criticalPortion: 0.2, withinMillis: 30_000 },
};
const now = 1_000_000;

/** `age` seconds ago: 100 tasks on 10 slaves, all well, but for what is said. */
const point = (age: number, changes: Partial<DisasterDataPoint> = {}): DisasterDataPoint => ({
  timestamp: now - age * 1_000,
  numActiveTasks: 80,
  numPendingTasks: 20,
  numLateTasks: 0,
  avgTaskLagMillis: 0,
  numLostTasks: 0,
  numActiveSlaves: 10,
  numLostSlaves: 0,
  ...changes,
});
/** One point per 10 seconds, the newest just now; so many of them are as bad as said, those before are well. */
const lasting = (count: number, bad: Partial<DisasterDataPoint>): DisasterDataPoint[] =>
  Array.from({ length: 10 }, (_, index) => point(index * 10, index < count ? bad : {}));

interface Case {
  name: string;
  points: DisasterDataPoint[];
  found?: DisasterType[];
  inForce?: DisasterType[];
  rules?: DetectionRules;
}
const check = ({ points, found = [], inForce = [], rules: other = rules }: Case) =>
  expect(judgeDisasters(points, inForce, other, now)).toEqual(found);

describe('EXCESSIVE_TASK_LAG', () => {
  const found: DisasterType[] = ['EXCESSIVE_TASK_LAG'];
  const critical = { numLateTasks: 11 };
  const warningPortion = { numLateTasks: 6 };
  const warningLag = { avgTaskLagMillis: 120_001 };
  const bothWarnings = { ...warningPortion, ...warningLag };

  test.each<Case>([
    { name: 'more than a tenth of the tasks late for more than 45 s', points: lasting(6, critical), found },
    { name: 'not when that began 40 s ago', points: lasting(5, critical) },
    { name: 'not when that began exactly 45 s ago', points: [point(0, critical), point(45, critical)] },
    { name: 'when it began just before', points: [point(0, critical), point(45.001, critical)], found },
    { name: 'not when exactly a tenth is late', points: lasting(9, { numLateTasks: 10 }) },
    {
      name: 'a warning share together with a warning lag, both for more than 45 s',
      points: lasting(6, bothWarnings),
      found,
    },
    { name: 'not a warning share alone', points: lasting(9, warningPortion) },
    {
      name: 'not exactly a twentieth with a warning lag',
      points: lasting(9, { numLateTasks: 5, avgTaskLagMillis: 121_000 }),
    },
    { name: 'not a warning lag alone', points: lasting(9, warningLag) },
    { name: 'not a lag of exactly 2 min', points: lasting(9, { ...warningPortion, avgTaskLagMillis: 120_000 }) },
    {
      name: 'a critical lag with a warning share, although the warning share began with it',
      points: lasting(6, { ...warningPortion, avgTaskLagMillis: 240_001 }),
      found,
    },
    { name: 'not a critical lag of few tasks', points: lasting(9, { numLateTasks: 5, avgTaskLagMillis: 999_999 }) },
    {
      name: 'not when the two warnings did not both begin more than 45 s ago',
      points: [...lasting(5, bothWarnings).slice(0, 5), point(50, warningLag), point(60, warningLag)],
    },
    {
      name: 'a flag counts from when it was first seen, even with a milder moment in between',
      points: [point(0, bothWarnings), point(10, warningPortion), point(60, critical)],
      found,
    },
    {
      name: 'a moment without any flag ends the stretch that is looked at',
      points: [point(0, critical), point(10), point(20, critical), point(60, critical)],
    },
    { name: 'not when the newest moment is well', points: [point(0), ...lasting(9, critical).slice(1)] },
    {
      name: 'not one late task of a single machine, nor four',
      points: lasting(9, {
        numActiveSlaves: 1,
        numActiveTasks: 0,
        numPendingTasks: 4,
        numLateTasks: 4,
        avgTaskLagMillis: 999_999,
      }),
    },
    {
      name: 'five late tasks of none active and none else pending',
      points: lasting(6, { numActiveTasks: 0, numPendingTasks: 5, numLateTasks: 5 }),
      found,
    },
    { name: 'not without any task', points: lasting(9, { numActiveTasks: 0, numPendingTasks: 0 }) },
    {
      name: 'not when it is not looked for',
      points: lasting(9, critical),
      rules: { ...rules, lag: { ...rules.lag, check: false } },
    },
  ])('$name', check);
});

describe('LOST_SLAVES', () => {
  const found: DisasterType[] = ['LOST_SLAVES'];
  const lost = (numLostSlaves: number, numActiveSlaves = 10) => ({ numLostSlaves, numActiveSlaves });
  const unchecked = { ...rules, lostSlaves: { ...rules.lostSlaves, check: false } };
  test.each<Case>([
    { name: 'more than a fifth at once', points: [point(0, lost(3))], found },
    { name: 'not exactly a fifth: those lost just now count among all', points: [point(0, lost(2, 8))] },
    {
      name: 'those of the last 30 s add up',
      points: [point(0, lost(1)), point(10, lost(1)), point(20, lost(1))],
      found,
    },
    { name: 'those of a clock that was ahead do not count', points: [point(-600, lost(9)), point(0)] },
    { name: 'those of 30 s ago do not count', points: [point(0, lost(1)), point(10, lost(1)), point(30, lost(9))] },
    { name: 'the last one', points: [point(0, lost(1, 0))], found },
    { name: 'not when none is left and none was lost', points: [point(0, lost(0, 0))] },
    { name: 'not without figures', points: [] },
    { name: 'not when it is not looked for', points: [point(0, lost(9))], rules: unchecked },
  ])('$name', check);
});

describe('LOST_TASKS', () => {
  const found: DisasterType[] = ['LOST_TASKS'];
  const lost = (numLostTasks: number, numActiveTasks = 80) => ({ numLostTasks, numActiveTasks });
  const unchecked = { ...rules, lostTasks: { ...rules.lostTasks, check: false } };
  test.each<Case>([
    { name: 'more than a fifth of the active ones at once', points: [point(0, lost(17))], found },
    { name: 'not exactly a fifth', points: [point(0, lost(16))] },
    {
      name: 'those of the last 30 s add up',
      points: [point(0, lost(6)), point(10, lost(6)), point(20, lost(6))],
      found,
    },
    { name: 'those of 30 s ago do not count', points: [point(0, lost(6)), point(30, lost(60))] },
    {
      name: 'the newest number of active tasks is what counts',
      points: [point(0, lost(0, 20)), point(10, lost(5))],
      found,
    },
    { name: 'the last one', points: [point(0, lost(1, 0))], found },
    { name: 'not when it is not looked for', points: [point(0, lost(80))], rules: unchecked },
  ])('$name', check);
});

describe('the disasters in force', () => {
  test('USER_INITIATED stays until a user ends it', () => {
    expect(judgeDisasters([point(0)], ['USER_INITIATED'], rules, now)).toEqual(['USER_INITIATED']);
    expect(judgeDisasters([point(0)], [], rules, now)).toEqual([]);
  });

  test('all others are replaced by what the figures show', () => {
    expect(judgeDisasters([point(0)], ['LOST_TASKS', 'LOST_SLAVES', 'EXCESSIVE_TASK_LAG'], rules, now)).toEqual([]);
  });

  test('there may be several at once, in the order of their types', () => {
    const all = lasting(6, { numLateTasks: 50, numLostSlaves: 5, numLostTasks: 50 });
    expect(judgeDisasters(all, ['USER_INITIATED'], rules, now)).toEqual([...disasterTypes]);
  });
});

describe('laws', () => {
  const count = fc.nat({ max: 200 });
  const anyPoint = fc.record({
    numActiveTasks: count,
    numPendingTasks: count,
    numLateTasks: count,
    avgTaskLagMillis: fc.nat({ max: 600_000 }),
    numLostTasks: count,
    numActiveSlaves: count,
    numLostSlaves: count,
  });
  const history = fc
    .array(anyPoint, { maxLength: 10 })
    .map((list) => list.map((each, index) => point(index * 10, each)));

  test('a cluster without lateness and losses is in no disaster', () => {
    const well = { numLateTasks: 0, avgTaskLagMillis: 0, numLostTasks: 0, numLostSlaves: 0 };
    fc.assert(
      fc.property(history, (points) => {
        const judged = judgeDisasters(
          points.map((each) => ({ ...each, ...well })),
          [],
          rules,
          now,
        );
        return judged.length === 0;
      }),
    );
  });

  test('what is older than all spans and before a moment without a flag changes nothing', () => {
    fc.assert(
      fc.property(history, anyPoint, (points, older) => {
        const recent = [...points.slice(0, 3), point(40)];
        const judged = judgeDisasters([...recent, point(50, older)], [], rules, now);
        expect(judged).toEqual(judgeDisasters(recent, [], rules, now));
      }),
    );
  });

  test('more losses never end a disaster', () => {
    fc.assert(
      fc.property(history, count, (points, more) => {
        const worse = points.map((each) => ({ ...each, numLostTasks: each.numLostTasks + more }));
        const before = judgeDisasters(points, [], rules, now);
        return !before.includes('LOST_TASKS') || judgeDisasters(worse, [], rules, now).includes('LOST_TASKS');
      }),
    );
  });
});
