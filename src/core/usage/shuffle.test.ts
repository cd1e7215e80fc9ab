import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { requestTypes } from '../model/enums.js';
import type { SlaveUsage } from '../model/usage.js';
import { bytesPerMb } from './amounts.js';
import { isOverUsed, shuffleTasks, type ShuffleRules, type ShuffleSlave, type ShuffleTask } from './shuffle.js';
import { slaveUsage } from '../../../test/support/fixtures/usage.js';

const minute = 60_000;
const now = 100 * minute;
const rules: ShuffleRules = {
  loadMetric: 'LOAD_5',
  memoryTarget: 0.82,
  minutesBeforeEligible: 15,
  maxTasksTotal: 6,
  maxTasksPerSlave: 2,
};
/** Each of a request of its own, asking for one core and 100 MB and using half of them. */
const task = (taskId: string, changes: Partial<ShuffleTask> = {}): ShuffleTask => ({
  taskId,
  requestId: `request-of-${taskId}`,
  requestType: 'SERVICE',
  excluded: false,
  runningAt: 0,
  leaving: false,
  cpus: 1,
  memoryMb: 100,
  cpusUsed: 0.5,
  memoryBytes: 50 * bytesPerMb,
  ...changes,
});
/** A machine of 10 cores and 1000 MB. */
const slave = (slaveId: string, usage: Partial<SlaveUsage>, tasks: ShuffleTask[]): ShuffleSlave => ({
  slaveId,
  usage: slaveUsage(usage),
  tasks,
});
const load = (systemLoad5Min: number): Partial<SlaveUsage> => ({ systemLoad5Min });
const memoryUsed = (mb: number): Partial<SlaveUsage> => ({ systemMemFreeBytes: (1_000 - mb) * bytesPerMb });
const moves = (
  slaves: ShuffleSlave[],
  { shuffling = [], ...changed }: Partial<ShuffleRules> & { shuffling?: { requestId: string; slaveId: string }[] } = {},
) => shuffleTasks(slaves, shuffling, { ...rules, ...changed }, now);
const moved = (...given: Parameters<typeof moves>) => moves(...given).map(({ taskId }) => taskId);

describe('a slave is overloaded', () => {
  test.each([
    { rule: 'not with as much load as cores', usage: load(10), over: false },
    { rule: 'with more load than cores', usage: load(10.1), over: true },
    { rule: 'not at its share of memory', usage: memoryUsed(820), over: false },
    { rule: 'above its share of memory', usage: memoryUsed(821), over: true },
  ])('$rule', ({ usage, over }) => {
    expect(isOverUsed(slaveUsage(usage), rules)).toBe(over);
    expect(moved([slave('s1', usage, [task('t1')])])).toEqual(over ? ['t1'] : []);
  });

  test('by the load that the settings name', () => {
    const usage = { systemLoad1Min: 99, systemLoad5Min: 0, systemLoad15Min: 0 };
    expect(isOverUsed(slaveUsage(usage), rules)).toBe(false);
    expect(isOverUsed(slaveUsage(usage), { ...rules, loadMetric: 'LOAD_1' })).toBe(true);
  });
});

describe('a task may be shuffled', () => {
  test.each<{ rule: string; changes: Partial<ShuffleTask>; may: boolean }>([
    { rule: 'when it is long-running', changes: { requestType: 'WORKER' }, may: true },
    { rule: 'not when it is a run', changes: { requestType: 'ON_DEMAND' }, may: false },
    { rule: 'not when its request is not to be shuffled', changes: { excluded: true }, may: false },
    { rule: 'after 15 minutes of running', changes: { runningAt: now - 15 * minute }, may: true },
    { rule: 'not in its fifteenth minute', changes: { runningAt: now - 15 * minute + 1 }, may: false },
    { rule: 'not before it runs', changes: { runningAt: undefined }, may: false },
    { rule: 'not when it leaves already', changes: { leaving: true }, may: false },
    { rule: 'not when it uses no cpu', changes: { cpusUsed: 0 }, may: false },
    { rule: 'not when its cpu is not known', changes: { cpusUsed: undefined }, may: false },
  ])('$rule', ({ changes, may }) =>
    expect(moved([slave('s1', load(11), [task('t1', changes)])])).toEqual(may ? ['t1'] : []),
  );

  test('without a wait when none is set', () =>
    expect(moved([slave('s1', load(11), [task('t1', { runningAt: now })])], { minutesBeforeEligible: 0 })).toEqual([
      't1',
    ]));
});

describe('what the slave is short of', () => {
  const tasks = [task('t1', { memoryBytes: 900 * bytesPerMb })];
  test.each([
    { rule: 'cpu', usage: load(11), type: 'REBALANCE_CPU_USAGE' },
    { rule: 'memory', usage: memoryUsed(900), type: 'REBALANCE_MEMORY_USAGE' },
    {
      rule: 'of both: cpu when that overage is strictly larger',
      usage: { ...load(20), ...memoryUsed(900) },
      type: 'REBALANCE_CPU_USAGE',
    },
    {
      rule: 'of both: else memory',
      usage: { ...load(10.5), ...memoryUsed(900) },
      type: 'REBALANCE_MEMORY_USAGE',
    },
  ])('$rule', ({ usage, type }) =>
    expect(moves([slave('s1', usage, tasks)]).map(({ cleanupType }) => cleanupType)).toEqual([type]),
  );

  test('memory alone counts even where its tasks use little of it', () =>
    expect(moves([slave('s1', memoryUsed(900), [task('t1')])])).toMatchObject([
      { taskId: 't1', cleanupType: 'REBALANCE_MEMORY_USAGE' },
    ]));

  test('the message tells the figures', () => {
    expect(moves([slave('s1', load(11.5), tasks)])[0]!.message).toBe(
      "Load on slave 's1' is 11.50, more than its 10 cores",
    );
    expect(moves([slave('s1', memoryUsed(900), tasks)])[0]!.message).toBe(
      "Memory in use on slave 's1' is 90.0 %, more than 82.0 %",
    );
  });
});

test('slaves short of memory come before those short of cpu, then the larger overage', () => {
  const one = (name: string, usage: Partial<SlaveUsage>, mb = 10) =>
    slave(name, usage, [task(`on-${name}`, { memoryBytes: mb * bytesPerMb })]);
  const slaves = [
    one('a', load(12)),
    one('b', load(13)),
    one('c', memoryUsed(850), 830),
    one('d', memoryUsed(950), 900),
  ];
  expect(moved(slaves)).toEqual(['on-d', 'on-c', 'on-b', 'on-a']);
  expect(moved(slaves.toReversed())).toEqual(['on-d', 'on-c', 'on-b', 'on-a']);
});

describe('which tasks go', () => {
  test('short of cpu: those first that use most of what they asked for', () => {
    const tasks = [
      task('half', { cpus: 8, cpusUsed: 4 }),
      task('twice', { cpus: 1, cpusUsed: 2 }),
      task('all', { cpus: 3, cpusUsed: 3 }),
    ];
    expect(moved([slave('s1', load(20), tasks)], { maxTasksPerSlave: 3 })).toEqual(['twice', 'all', 'half']);
  });

  test('short of memory: those first that use least of the memory and cpu they asked for', () => {
    const tasks = [
      task('busy', { cpusUsed: 1, memoryMb: 200, memoryBytes: 100 * bytesPerMb }),
      task('idle', { cpusUsed: 0.1, memoryMb: 400, memoryBytes: 100 * bytesPerMb }),
      task('full', { cpusUsed: 0.1, memoryMb: 50, memoryBytes: 100 * bytesPerMb }),
    ];
    expect(moved([slave('s1', memoryUsed(1_000), tasks)], { maxTasksPerSlave: 3 })).toEqual(['idle', 'busy']);
  });

  test('only as many as bring the load back to the cores', () => {
    const tasks = ['t1', 't2', 't3'].map((id) => task(id, { cpusUsed: 0.75 }));
    expect(moved([slave('s1', load(11), tasks)], { maxTasksPerSlave: 9 })).toEqual(['t1', 't2']);
  });

  test('only as many as bring memory back to its share', () => {
    const tasks = ['t1', 't2', 't3'].map((id) => task(id, { memoryBytes: 50 * bytesPerMb }));
    expect(moved([slave('s1', memoryUsed(900), tasks)], { maxTasksPerSlave: 9 })).toEqual(['t1', 't2']);
  });

  test('at most one of a request at a time', () => {
    const tasks = [task('t1', { requestId: 'r' }), task('t2', { requestId: 'r' }), task('t3')];
    expect(moved([slave('s1', load(20), tasks)])).toEqual(['t1', 't3']);
    const other = slave('s2', load(20), [task('t4', { requestId: 'r' })]);
    expect(moved([slave('s1', load(30), [tasks[0]!]), other])).toEqual(['t1']);
  });

  test('none of a request that is being shuffled', () =>
    expect(
      moved([slave('s1', load(20), [task('t1')])], { shuffling: [{ requestId: 'request-of-t1', slaveId: 's9' }] }),
    ).toEqual([]));

  test('at most two per slave', () => {
    const tasks = ['t1', 't2', 't3'].map((id) => task(id, { cpusUsed: 4 }));
    expect(moved([slave('s1', load(30), tasks)])).toHaveLength(2);
  });

  test('those still on their way from the slave count', () => {
    const tasks = ['t1', 't2', 't3'].map((id) => task(id, { cpusUsed: 20 }));
    const leaving = { requestId: 'r', slaveId: 's1' };
    expect(moved([slave('s1', load(30), tasks)], { shuffling: [leaving] })).toHaveLength(1);
    expect(moved([slave('s1', load(30), tasks)], { shuffling: [leaving, leaving] })).toEqual([]);
  });

  test('at most six in the cluster, those still on their way included', () => {
    const slaves = ['a', 'b', 'c', 'd'].map((id) => slave(id, load(30), [task(`${id}1`), task(`${id}2`)]));
    expect(moved(slaves)).toHaveLength(6);
    const shuffling = [1, 2, 3, 4, 5].map((n) => ({ requestId: `r${n}`, slaveId: 'elsewhere' }));
    expect(moved(slaves, { shuffling })).toHaveLength(1);
  });

  test('the last place of a slave is for one that suffices alone, unless no other follows', () => {
    const small = task('small', { cpus: 0.1, cpusUsed: 0.2 });
    const big = task('big', { cpus: 8, cpusUsed: 6 });
    const onePlace = { maxTasksPerSlave: 1 };
    expect(moved([slave('s1', load(15), [small, big])], onePlace)).toEqual(['big']);
    expect(moved([slave('s1', load(15), [small])], onePlace)).toEqual(['small']);
    expect(moved([slave('s1', load(15), [small, big])])).toEqual(['small', 'big']);
  });

  test('the same for memory', () => {
    const small = task('small', { cpusUsed: 0.01, memoryBytes: bytesPerMb });
    const big = task('big', { memoryBytes: 100 * bytesPerMb });
    expect(moved([slave('s1', memoryUsed(900), [small, big])], { maxTasksPerSlave: 1 })).toEqual(['big']);
  });
});

describe('laws of shuffling', () => {
  const anyTask = fc.record({
    requestId: fc.constantFrom('r1', 'r2', 'r3', 'r4', 'r5', 'r6', 'r7', 'r8'),
    requestType: fc.constantFrom(...requestTypes),
    excluded: fc.boolean(),
    leaving: fc.boolean(),
    runningAt: fc.option(fc.integer({ min: 0, max: now }), { nil: undefined }),
    cpus: fc.integer({ min: 0, max: 4 }),
    cpusUsed: fc.option(fc.integer({ min: 0, max: 8 }), { nil: undefined }),
    memoryBytes: fc.integer({ min: 0, max: 500 }).map((mb) => mb * bytesPerMb),
  });
  const slaves = fc
    .array(
      fc.record({
        systemLoad5Min: fc.integer({ min: 0, max: 30 }),
        memoryMb: fc.integer({ min: 0, max: 1_000 }),
        tasks: fc.array(anyTask, { maxLength: 6 }),
      }),
      { maxLength: 5 },
    )
    .map((all) =>
      all.map(({ systemLoad5Min, memoryMb, tasks }, index) =>
        slave(
          `s${index}`,
          { systemLoad5Min, ...memoryUsed(memoryMb) },
          tasks.map((changes, number) => task(`s${index}-${number}`, changes)),
        ),
      ),
    );
  const shuffling = fc.array(
    fc.record({ requestId: fc.constantFrom('r1', 'r2', 'r9'), slaveId: fc.constantFrom('s0', 's1', 's9') }),
    { maxLength: 3 },
  );

  test('limits hold, and only tasks that may be moved leave slaves that are overloaded', () =>
    fc.assert(
      fc.property(slaves, shuffling, (all, under) => {
        const result = moves(all, { shuffling: under });
        expect(result.length + under.length).toBeLessThanOrEqual(Math.max(rules.maxTasksTotal, under.length));
        const taskOf = new Map(all.flatMap((each) => each.tasks.map((one) => [one.taskId, { one, each }] as const)));
        const requests = result.map(({ taskId }) => taskOf.get(taskId)!.one.requestId);
        expect(new Set(requests).size).toBe(requests.length);
        for (const { taskId } of result) {
          const { one, each } = taskOf.get(taskId)!;
          expect(isOverUsed(each.usage, rules)).toBe(true);
          expect([one.excluded, one.leaving, one.cpusUsed! > 0]).toEqual([false, false, true]);
          expect(under.map(({ requestId }) => requestId)).not.toContain(one.requestId);
          const left = result.filter((move) => taskOf.get(move.taskId)!.each === each).length;
          const before = under.filter(({ slaveId }) => slaveId === each.slaveId).length;
          expect(left + before).toBeLessThanOrEqual(rules.maxTasksPerSlave);
        }
      }),
    ));

  test('the order in which slaves and tasks are listed never changes the answer', () =>
    fc.assert(
      fc.property(slaves, shuffling, (all, under) => {
        const mirrored = all.toReversed().map((each) => ({ ...each, tasks: each.tasks.toReversed() }));
        expect(moves(mirrored, { shuffling: under })).toEqual(moves(all, { shuffling: under }));
      }),
    ));
});
