import { describe, expect, test } from 'vitest';
import type { TaskState } from '../model/enums.js';
import { type BelievedTask, compareTask, ReconciliationCycle } from './reconciliation.js';

describe('a cycle', () => {
  test('counts a task once, with its first answer', () => {
    const cycle = new ReconciliationCycle(1_000, ['a', 'b', 'c']);
    cycle.roundBegins();
    cycle.answered(['a', 'b'], 1_010);
    cycle.roundBegins();
    cycle.answered(['a', 'b', 'c'], 1_500);
    expect(cycle.ended(1_600)).toEqual({ startedAt: 1_000, endedAt: 1_600, iterations: 2, delays: [10, 10, 500] });
  });
  test('is over when every task is answered, however long that takes', () => {
    const cycle = new ReconciliationCycle(0, ['a', 'b']);
    cycle.answered(['a'], 1);
    for (let round = 0; round < 1_000; round++) cycle.roundBegins();
    expect([cycle.isDone, [...cycle.waitsFor]]).toEqual([false, ['b']]);
    cycle.answered(['b'], 1_000_000);
    expect(cycle.isDone).toBe(true);
  });
  test('waits no more for a task that has ended meanwhile, and does not count it', () => {
    const cycle = new ReconciliationCycle(0, ['a', 'b']);
    cycle.answered(['a'], 7);
    cycle.keepOnly((id) => id === 'a');
    expect([cycle.isDone, cycle.ended(9).delays]).toEqual([true, [7]]);
  });
  test('does not count tasks that began after its start', () => {
    const cycle = new ReconciliationCycle(0, []);
    cycle.answered(['new'], 5);
    expect([cycle.isDone, cycle.ended(9).delays]).toEqual([true, []]);
  });
});

describe('the list of a machine that is back', () => {
  const given = { taskId: 't', slaveId: 's', incarnation: 'i1', state: 'TASK_UNREACHABLE', ended: true } as const;
  const stateOf = (own: Partial<BelievedTask>, listed?: TaskState, incarnation = 'i1') =>
    compareTask({ ...given, acknowledged: false, mayRun: false, ...own }, listed, incarnation)?.state;
  test('without a task whose launch it never answered says that it never got it', () =>
    expect(stateOf({})).toBe('TASK_DROPPED'));
  test.each<{ name: string; own: Partial<BelievedTask>; listed?: TaskState; incarnation?: string; state?: TaskState }>([
    { name: 'that has it says how it is', own: {}, listed: 'TASK_RUNNING', state: 'TASK_RUNNING' },
    { name: 'without a task that it had says nothing', own: { acknowledged: true } },
    { name: 'without a task that was lost says nothing', own: { state: 'TASK_LOST' } },
    {
      name: 'without a task that was lost and may run says that it never got it',
      own: { state: 'TASK_LOST', mayRun: true },
      state: 'TASK_DROPPED',
    },
    { name: 'of a new folder says nothing of what was before', own: {}, incarnation: 'i2' },
  ])('$name', ({ own, listed, incarnation, state }) => expect(stateOf(own, listed, incarnation)).toBe(state));
});

describe('the list of a machine', () => {
  const task = (own: Partial<BelievedTask> = {}): BelievedTask => ({
    taskId: 't',
    slaveId: 's',
    incarnation: 'i1',
    state: 'TASK_RUNNING',
    ended: false,
    mayRun: false,
    acknowledged: true,
    ...own,
  });
  const lost = task({ state: 'TASK_LOST', ended: true });
  test.each<{ name: string; of: BelievedTask; listed?: TaskState; state?: TaskState; reason?: string }>([
    { name: 'says nothing new about a task in the state we know', of: task(), listed: 'TASK_RUNNING' },
    { name: 'tells an end we do not know of', of: task(), listed: 'TASK_FAILED', state: 'TASK_FAILED' },
    {
      name: 'tells a state we do not know of',
      of: task({ state: 'TASK_LAUNCHED' }),
      listed: 'TASK_RUNNING',
      state: 'TASK_RUNNING',
    },
    { name: 'without the task: it is lost', of: task(), state: 'TASK_LOST', reason: 'REASON_RECONCILIATION' },
    { name: 'without a task whose launch was not answered: it may still come', of: task({ acknowledged: false }) },
    { name: 'of another incarnation says nothing', of: task({ incarnation: 'i0' }) },
    { name: 'without a task that was given up: so it is', of: lost },
    { name: 'with the end of a task that was given up: so it is', of: lost, listed: 'TASK_FAILED' },
    {
      name: 'with a task that was given up: it is back',
      of: lost,
      listed: 'TASK_RUNNING',
      state: 'TASK_RUNNING',
      reason: 'REASON_AGENT_REREGISTERED',
    },
  ])('$name', ({ of, listed, state, reason }) => {
    const found = compareTask(of, listed, 'i1');
    expect([found?.state, found?.reason]).toEqual([state, reason]);
  });
});
