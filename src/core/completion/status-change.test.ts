import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isTerminal, type RequestType, taskStates, type TaskState } from '../model/enums.js';
import {
  afterChange,
  isReportedEndValid,
  type KnownTask,
  returnOf,
  stateBeforeEnd,
  statusChange,
  type StatusChange,
  statusText,
} from './index.js';

const known = (state: TaskState, own: Partial<KnownTask> = {}): KnownTask => ({
  state,
  incarnation: 'i1',
  ended: isTerminal(state),
  ...own,
});
const reported = (task: KnownTask | undefined, state: TaskState) => statusChange(task, { state, incarnation: 'i1' });

const goesOn: StatusChange = { kind: 'record', advances: true, ends: false };
const ends: StatusChange = { kind: 'record', advances: true, ends: true };
const ignored: StatusChange = { kind: 'ignore' };

describe('of each state that a machine may report for a launched task', () => {
  const effects: Record<TaskState, StatusChange> = {
    TASK_LAUNCHED: ignored,
    TASK_CLEANING: ignored,
    TASK_STAGING: goesOn,
    TASK_STARTING: goesOn,
    TASK_RUNNING: goesOn,
    TASK_KILLING: goesOn,
    TASK_FINISHED: ends,
    TASK_FAILED: ends,
    TASK_KILLED: ends,
    TASK_LOST: ends,
    TASK_LOST_WHILE_DOWN: ends,
    TASK_ERROR: ends,
    TASK_DROPPED: ends,
    TASK_GONE: ends,
    TASK_GONE_BY_OPERATOR: ends,
    TASK_UNREACHABLE: ends,
    TASK_UNKNOWN: ends,
  };
  test.each(taskStates.map((state) => ({ state, effect: effects[state] })))(
    '$state: $effect.kind, ends: $effect.ends',
    ({ state, effect }) => expect(reported(known('TASK_LAUNCHED'), state)).toEqual(effect),
  );
});

describe('of a task in the state that it tells, a message', () => {
  const again = (state: TaskState, message?: string, incarnation = 'i1') =>
    statusChange(known(state), { state, incarnation, ...(message !== undefined && { message }) }).kind;
  test('says what it waits for by now, while it is starting', () => expect(again('TASK_STARTING', 'x')).toBe('retell'));
  test.each([
    { name: 'it says nothing', kind: again('TASK_STARTING') },
    { name: 'it runs', kind: again('TASK_RUNNING', 'x') },
    { name: 'it has ended', kind: again('TASK_FAILED', 'x') },
    { name: 'it is of a former life', kind: again('TASK_STARTING', 'x', 'i0') },
  ])('changes nothing where $name', ({ kind }) => expect(kind).toBe('ignore'));
});

describe('a status', () => {
  test.each<{ name: string; task: KnownTask | undefined; state: TaskState; is: StatusChange }>([
    {
      name: 'that is repeated is ignored',
      task: known('TASK_RUNNING'),
      state: 'TASK_RUNNING',
      is: ignored,
    },
    {
      name: 'that comes late is recorded and takes nothing back',
      task: known('TASK_RUNNING'),
      state: 'TASK_STARTING',
      is: { kind: 'record', advances: false, ends: false },
    },
    {
      name: 'after the launch record is never a duplicate',
      task: known('TASK_LAUNCHED'),
      state: 'TASK_STAGING',
      is: goesOn,
    },
    {
      name: 'that ends a task a second time is ignored',
      task: known('TASK_FAILED'),
      state: 'TASK_FINISHED',
      is: ignored,
    },
    {
      name: 'that tells the end of a task whose end was concluded counts',
      task: known('TASK_UNREACHABLE'),
      state: 'TASK_FINISHED',
      is: { kind: 'recover' },
    },
    {
      name: 'that tells late that a task lived, where its machine has begun anew since, does not bring it back',
      task: known('TASK_UNREACHABLE', { isOfFormerLife: true }),
      state: 'TASK_RUNNING',
      is: { kind: 'kill' },
    },
    {
      name: 'that tells late how it ended there counts',
      task: known('TASK_UNREACHABLE', { isOfFormerLife: true }),
      state: 'TASK_FINISHED',
      is: { kind: 'recover' },
    },
    {
      name: 'that a task was lost says nothing new of one that was',
      task: known('TASK_LOST'),
      state: 'TASK_ERROR',
      is: ignored,
    },
    {
      name: 'that tells the end of a task in a former life of the machine is ignored',
      task: known('TASK_UNREACHABLE', { incarnation: 'i2' }),
      state: 'TASK_FINISHED',
      is: ignored,
    },
    { name: 'of an unknown task has it killed', task: undefined, state: 'TASK_RUNNING', is: { kind: 'kill' } },
    { name: 'that ends an unknown task is ignored', task: undefined, state: 'TASK_FAILED', is: ignored },
    {
      name: 'of a former life of the machine is ignored',
      task: known('TASK_RUNNING', { incarnation: 'i2' }),
      state: 'TASK_FAILED',
      is: ignored,
    },
    {
      name: 'of a former life of the machine wakes no dead task',
      task: known('TASK_LOST', { incarnation: 'i2' }),
      state: 'TASK_RUNNING',
      is: { kind: 'kill' },
    },
    {
      name: 'that a task is being killed, after it was given up, has it killed',
      task: known('TASK_LOST'),
      state: 'TASK_KILLING',
      is: { kind: 'kill' },
    },
  ])('$name', ({ task, state, is }) => expect(reported(task, state)).toEqual(is));

  test('that the scheduler concludes counts for whatever incarnation the task had', () =>
    expect(statusChange(known('TASK_RUNNING', { incarnation: 'i2' }), { state: 'TASK_LOST' })).toEqual(ends));

  test.each(['TASK_STAGING', 'TASK_STARTING', 'TASK_RUNNING'] as const)(
    '%s of a task whose end was not seen brings it back',
    (state) => {
      for (const end of taskStates.filter(isTerminal)) {
        const witnessed = ['TASK_FINISHED', 'TASK_FAILED', 'TASK_KILLED'].includes(end);
        expect(reported(known(end), state)).toEqual({ kind: witnessed ? 'kill' : 'recover' });
      }
    },
  );
});

describe('reports of a task that was given up, which came together', () => {
  const given = (...states: TaskState[]) => states.map((state) => ({ state, incarnation: 'i1' }));
  test.each<{ of: TaskState; states: TaskState[]; first?: TaskState; end?: TaskState }>([
    { of: 'TASK_UNREACHABLE', states: ['TASK_STARTING', 'TASK_RUNNING'], first: 'TASK_STARTING' },
    {
      of: 'TASK_UNREACHABLE',
      states: ['TASK_STARTING', 'TASK_RUNNING', 'TASK_FINISHED'],
      first: 'TASK_STARTING',
      end: 'TASK_FINISHED',
    },
    { of: 'TASK_LOST', states: ['TASK_FAILED', 'TASK_LOST'], first: 'TASK_FAILED', end: 'TASK_FAILED' },
    { of: 'TASK_UNREACHABLE', states: ['TASK_LOST'], first: 'TASK_LOST', end: 'TASK_LOST' },
    { of: 'TASK_UNREACHABLE', states: ['TASK_KILLING', 'TASK_KILLED'], first: 'TASK_KILLED', end: 'TASK_KILLED' },
    { of: 'TASK_UNREACHABLE', states: ['TASK_KILLING'] },
    { of: 'TASK_FINISHED', states: ['TASK_STARTING', 'TASK_FAILED'] },
    { of: 'TASK_RUNNING', states: ['TASK_RUNNING', 'TASK_FINISHED'] },
  ])('$of, then $states: comes back with $first, and ends as $end', ({ of, states, first, end }) => {
    const found = returnOf(known(of), given(...states));
    expect([found?.first.state, found?.end?.state]).toEqual([first, end]);
  });

  test('are judged as they would be one by one', () =>
    fc.assert(
      fc.property(
        fc.constantFrom<TaskState>('TASK_UNREACHABLE', 'TASK_LOST'),
        fc.array(fc.constantFrom(...taskStates), { maxLength: 8 }),
        (of, states) => {
          const found = returnOf(known(of), given(...states));
          // One by one: the first report that brings it back has it live again, and the others follow.
          let task = known(of);
          let end: TaskState | undefined;
          for (const report of given(...states)) {
            const change = statusChange(task, report);
            if (change.kind === 'recover' && !isTerminal(report.state)) task = known(report.state);
            else if (change.kind === 'recover') [task, end] = [known('TASK_FINISHED'), report.state];
            else if (change.kind === 'record' && change.ends) [task, end] = [known('TASK_FINISHED'), report.state];
            else task = afterChange(task, report, change);
          }
          expect(found?.end?.state).toBe(end);
          expect(found !== undefined).toBe(task.state !== of);
        },
      ),
    ));

  test.each<{ states: TaskState[]; before: TaskState }>([
    { states: ['TASK_LAUNCHED', 'TASK_CLEANING', 'TASK_UNREACHABLE'], before: 'TASK_LAUNCHED' },
    { states: ['TASK_RUNNING', 'TASK_LAUNCHED', 'TASK_STARTING', 'TASK_LOST'], before: 'TASK_RUNNING' },
  ])('are taken up from where it had come: $states', ({ states, before }) =>
    expect(stateBeforeEnd(states)).toBe(before),
  );
});

describe('the end that a machine tells of a task that was given up', () => {
  const gone = { end: { state: 'TASK_UNREACHABLE' as const }, hadToGo: false, hasBegun: true };
  const of = (requestType: RequestType) => ({ request: { id: 'r', requestType }, state: 'ACTIVE' as const });
  test.each<{ name: string; end: TaskState; task: Partial<typeof gone>; counts: boolean }>([
    { name: 'counts', end: 'TASK_FAILED', task: {}, counts: true },
    { name: 'counts when it was told to go', end: 'TASK_KILLED', task: { hadToGo: true }, counts: true },
    { name: 'is that of its return when it was not', end: 'TASK_KILLED', task: {}, counts: false },
    { name: 'is none where nothing was heard of it', end: 'TASK_DROPPED', task: { hasBegun: false }, counts: true },
    { name: 'is another where it had begun', end: 'TASK_DROPPED', task: {}, counts: false },
  ])('$name: $end, $counts', ({ end, task, counts }) =>
    expect(isReportedEndValid(end, { ...gone, ...task }, of('ON_DEMAND'))).toBe(counts),
  );

  test('does not count for a run that was asked for again', () => {
    const end = { state: 'TASK_LOST', reason: 'REASON_AGENT_REMOVED' } as const;
    expect(isReportedEndValid('TASK_FINISHED', { ...gone, end }, of('ON_DEMAND'))).toBe(false);
    expect(isReportedEndValid('TASK_FINISHED', { ...gone, end }, of('SERVICE'))).toBe(true);
  });
});

test('whatever arrives in whatever order, a task only moves forward and ends at most once', () =>
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...taskStates), { maxLength: 30 }), (reports) => {
      let task = known('TASK_LAUNCHED');
      let ended = 0;
      for (const state of reports) {
        const change = reported(task, state);
        if (change.kind !== 'record') continue;
        ended += change.ends ? 1 : 0;
        expect(task.ended).toBe(false);
        task = { ...task, state: change.advances ? state : task.state, ended: change.ends };
      }
      expect(ended).toBe(reports.some(isTerminal) ? 1 : 0);
    }),
  ));

describe('the text of a status', () => {
  const limits = { memoryMb: 64, diskMb: 10 };
  test.each([
    { name: 'is what was reported', of: { message: 'told', reason: 'REASON_CONTAINER_LIMITATION_MEMORY' }, is: 'told' },
    { name: 'is absent when there is nothing to say', of: { message: '' }, is: undefined },
    {
      name: 'tells the exceeded memory, and the disk',
      of: { message: '', reason: 'REASON_CONTAINER_LIMITATION_MEMORY' },
      is: 'Memory limit exceeded: the task may use 64 MB of memory and 10 MB of disk',
    },
    {
      name: 'tells the exceeded disk',
      of: { reason: 'REASON_CONTAINER_LIMITATION_DISK' },
      is: 'Disk limit exceeded: the task may use 10 MB of disk',
    },
  ])('$name', ({ of, is }) => expect(statusText(of, limits)).toBe(is));
});
