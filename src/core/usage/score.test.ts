import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { SlaveUsage } from '../model/usage.js';
import { amountsOf, bytesPerMb, estimatedCpu, largestUsage, noAmounts, probableUsage } from './amounts.js';
import { failsRecheck, isOverloaded, type MachineLoad, needsRecheck, scoreMachine, shares } from './score.js';
import { scoring, slaveUsage, utilization } from '../../../test/support/fixtures/usage.js';

const load = (usage: Partial<SlaveUsage> | undefined, changes: Partial<MachineLoad> = {}): MachineLoad => ({
  usage: usage && slaveUsage(usage),
  added: noAmounts,
  probable: noAmounts,
  ...changes,
});
const asked = (cpus: number, memoryMb: number, diskMb: number) => amountsOf({ cpus, memoryMb, diskMb });
const freeMemory = (mb: number) => ({ systemMemFreeBytes: mb * bytesPerMb });

describe('score', () => {
  test.each([
    { rule: 'an idle machine scores 1', machine: load({}), score: 1 },
    {
      rule: 'what is promised takes its weight times the allocated weight: cpus',
      machine: load({ cpusReserved: 5 }),
      score: 1 - 0.4 * 0.5 * 0.5,
    },
    { rule: 'the same for memory', machine: load({ memoryMbReserved: 500 }), score: 1 - 0.4 * 0.5 * 0.5 },
    { rule: 'the same for disk', machine: load({ diskMbReserved: 500 }), score: 1 - 0.2 * 0.5 * 0.5 },
    {
      rule: 'what is in use takes its weight times the in-use weight: load of 5 minutes',
      machine: load({ systemLoad1Min: 9, systemLoad5Min: 5, systemLoad15Min: 1 }),
      score: 1 - 0.4 * 0.5 * 0.5,
    },
    { rule: 'memory of the system in use', machine: load(freeMemory(500)), score: 1 - 0.4 * 0.5 * 0.5 },
    { rule: 'disk in use', machine: load({ slaveDiskUsed: 500 }), score: 1 - 0.2 * 0.5 * 0.5 },
    {
      rule: 'what tasks probably use counts when it is more than what is in use',
      machine: load({ systemLoad5Min: 2, ...freeMemory(900), slaveDiskUsed: 1 }, { probable: asked(5, 500, 500) }),
      score: 1 - 0.5 * 0.5,
    },
    {
      rule: 'and does not when it is less',
      machine: load({ systemLoad5Min: 5, ...freeMemory(500), slaveDiskUsed: 500 }, { probable: asked(2, 100, 1) }),
      score: 1 - 0.5 * 0.5,
    },
    {
      rule: 'what the round has added counts as promised and as used',
      machine: load({}, { added: asked(5, 500, 500) }),
      score: 0.5,
    },
    {
      rule: 'more load than cores leaves nothing of them, not less than nothing',
      machine: load({ systemLoad5Min: 30 }),
      score: 1 - 0.4 * 0.5,
    },
    {
      rule: 'more promised and more used than there is scores 0',
      machine: load({}, { added: asked(90, 9_000, 9_000) }),
      score: 0,
    },
    { rule: 'without usage 0.5', machine: load(undefined), score: 0.5 },
    { rule: 'without the total of cpus 0.5', machine: load({ cpusTotal: undefined }), score: 0.5 },
    { rule: 'without the total of memory 0.5', machine: load({ memoryMbTotal: undefined }), score: 0.5 },
    { rule: 'without the total of disk 0.5', machine: load({ diskMbTotal: undefined }), score: 0.5 },
    { rule: 'of a disk of nothing, nothing is left', machine: load({ diskMbTotal: 0, slaveDiskTotal: 0 }), score: 0.8 },
  ])('$rule', ({ machine, score }) => expect(scoreMachine(machine, scoring())).toBeCloseTo(score, 12));

  test.each([
    ['LOAD_1', 0.2],
    ['LOAD_5', 0.5],
    ['LOAD_15', 0.8],
  ] as const)('the load it looks at can be %s', (loadMetric, used) => {
    const machine = load({ systemLoad1Min: 2, systemLoad5Min: 5, systemLoad15Min: 8 });
    expect(scoreMachine(machine, scoring({ loadMetric }))).toBeCloseTo(1 - 0.4 * 0.5 * used, 12);
  });

  test('machines without usage are no match when they are to be left out', () => {
    const rules = scoring({ omitForMissingUsage: true });
    expect(scoreMachine(load(undefined), rules)).toBe(0);
    expect(scoreMachine(load({ cpusTotal: undefined }), rules)).toBe(0);
    expect(scoreMachine(load({}), rules)).toBe(1);
  });

  test('weights become shares of one; all zero count the same', () => {
    expect(shares(2, 2, 4)).toEqual([0.25, 0.25, 0.5]);
    expect(shares(0, 0)).toEqual([0.5, 0.5]);
  });
});

describe('overloaded machines', () => {
  const rules = scoring({ omitOverloaded: true });
  test.each([
    { rule: '5-minute load at the threshold is not over', usage: { systemLoad5Min: 10 }, over: false },
    { rule: '5-minute load above it is', usage: { systemLoad5Min: 10.1 }, over: true },
    { rule: '1-minute load may be higher', usage: { systemLoad1Min: 15 }, over: false },
    { rule: 'but not any higher', usage: { systemLoad1Min: 15.1 }, over: true },
    { rule: 'what was added counts', usage: { systemLoad5Min: 6 }, added: 5, over: true },
    { rule: 'and what the new task will use', usage: { systemLoad5Min: 6 }, added: 2, task: 2.5, over: true },
  ])('$rule', ({ usage, added = 0, task = 0, over }) =>
    expect(isOverloaded(slaveUsage(usage), added, task, rules)).toBe(over),
  );

  test('are left out only when asked for, and never for want of figures', () => {
    expect(isOverloaded(slaveUsage({ systemLoad5Min: 99 }), 0, 0, scoring())).toBe(false);
    expect(isOverloaded(undefined, 99, 99, rules)).toBe(false);
  });
});

describe('asking again after many new tasks', () => {
  const rules = scoring({ recheckForManyNewTasks: true });
  test.each([
    { numTasks: 7, startedSince: 3, again: true },
    { numTasks: 7, startedSince: 2, again: false },
    { numTasks: 0, startedSince: 1, again: true },
    { numTasks: 0, startedSince: 0, again: false },
  ])('$startedSince new tasks beside $numTasks: $again', ({ numTasks, startedSince, again }) =>
    expect(needsRecheck(slaveUsage({ numTasks }), startedSince, rules)).toBe(again),
  );

  test('is off unless set', () => expect(needsRecheck(slaveUsage(), 100, scoring())).toBe(false));

  test.each([
    { load1: 8, load5: 7.5, fails: false },
    { load1: 8.1, load5: 0, fails: true },
    { load1: 0, load5: 7.6, fails: true },
  ])('10 cores with loads $load1 and $load5: $fails', ({ load1, load5, fails }) =>
    expect(failsRecheck({ cpus: 10, load1, load5 }, rules)).toBe(fails),
  );
});

describe('what a task uses', () => {
  const figures = utilization({
    numTasks: 4,
    cpuUsed: 4,
    maxCpuUsed: 3,
    cpuBurstRating: 0.25,
    maxMemBytesUsed: 7,
    maxDiskBytesUsed: 8,
  });

  test('estimated cpu lies between average and maximum, by the burst rating', () => {
    expect(estimatedCpu(figures)).toBe(1.5);
    expect(estimatedCpu(utilization({ numTasks: 0 }))).toBe(0);
  });

  test('probably the estimated cpu and the most memory and disk; largest: the most of each', () => {
    expect(probableUsage(figures, noAmounts)).toEqual({ cpus: 1.5, memoryBytes: 7, diskBytes: 8 });
    expect(largestUsage(figures, noAmounts)).toEqual({ cpus: 3, memoryBytes: 7, diskBytes: 8 });
  });

  test('without figures what was asked for', () => {
    const amounts = asked(1, 2, 3);
    expect(amounts).toEqual({ cpus: 1, memoryBytes: 2_097_152, diskBytes: 3_145_728 });
    expect(probableUsage(undefined, amounts)).toBe(amounts);
    expect(largestUsage(undefined, amounts)).toBe(amounts);
  });
});

describe('laws of the score', () => {
  const amount = fc.double({ min: 0, max: 50_000, noNaN: true });
  const total = fc.option(fc.double({ min: 0, max: 20_000, noNaN: true }), { nil: undefined });
  const usages = fc.record({
    cpusReserved: amount,
    cpusTotal: total,
    memoryMbReserved: amount,
    memoryMbTotal: total,
    diskMbReserved: amount,
    diskMbTotal: total,
    systemMemTotalBytes: fc.double({ min: 0, max: 1e12, noNaN: true }),
    systemMemFreeBytes: fc.double({ min: 0, max: 1e12, noNaN: true }),
    systemCpusTotal: amount,
    systemLoad5Min: amount,
    slaveDiskUsed: amount,
    slaveDiskTotal: amount,
  });
  const amounts = fc.record({ cpus: amount, memoryBytes: amount, diskBytes: amount });
  const rules = fc
    .tuple(fc.array(amount, { minLength: 3, maxLength: 3 }), fc.array(amount, { minLength: 2, maxLength: 2 }))
    .map(([kinds, uses]) => {
      const [cpus = 0, memory = 0, disk = 0] = shares(...kinds);
      const [allocatedWeight = 0, inUseWeight = 0] = shares(...uses);
      return scoring({ weights: { cpus, memory, disk }, allocatedWeight, inUseWeight });
    });
  const rounding = 1e-9;

  test('the score lies between 0 and 1, whatever the figures', () =>
    fc.assert(
      fc.property(usages, amounts, amounts, rules, (usage, added, probable, by) => {
        const score = scoreMachine(load(usage, { added, probable }), by);
        expect(score).toBeGreaterThanOrEqual(0);
        expect(score).toBeLessThanOrEqual(1 + rounding);
      }),
    ));

  test.each(['cpusReserved', 'memoryMbReserved', 'diskMbReserved', 'systemLoad5Min', 'slaveDiskUsed'] as const)(
    'more %s never makes a better place',
    (field) =>
      fc.assert(
        fc.property(usages, amounts, amount, rules, (usage, added, more, by) => {
          const fuller = { ...usage, [field]: usage[field] + more };
          const before = scoreMachine(load(usage, { added }), by);
          expect(scoreMachine(load(fuller, { added }), by)).toBeLessThanOrEqual(before + rounding);
        }),
      ),
  );

  test('more free memory never makes a worse place, and one more task never a better one', () =>
    fc.assert(
      fc.property(usages, amounts, amounts, amount, rules, (usage, added, task, more, by) => {
        const before = scoreMachine(load(usage, { added }), by);
        const freer = { ...usage, systemMemFreeBytes: usage.systemMemFreeBytes + more };
        expect(scoreMachine(load(freer, { added }), by)).toBeGreaterThanOrEqual(before - rounding);
        const withTask = {
          cpus: added.cpus + task.cpus,
          memoryBytes: added.memoryBytes + task.memoryBytes,
          diskBytes: added.diskBytes + task.diskBytes,
        };
        expect(scoreMachine(load(usage, { added: withTask }), by)).toBeLessThanOrEqual(before + rounding);
      }),
    ));
});
