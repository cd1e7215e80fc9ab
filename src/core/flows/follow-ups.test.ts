import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { followConditions, isTerminal, taskStates, type FollowCondition } from '../model/enums.js';
import { type Flow, type Follower, followUps, isOver, meets, mostRunsOfFlow, type RunEnd, runKey } from './index.js';

const emptyFlow: Flow = { id: 'f', runs: 0, known: new Map(), fanIn: new Map() };
const follower = (
  requestId: string,
  parents: Record<string, FollowCondition>,
  own: Partial<Follower> = {},
): Follower => ({
  requestId,
  parents: Object.entries(parents).map(([id, on]) => ({ requestId: id, on })),
  mode: 'ALL',
  takesArgs: false,
  ...own,
});
const end = (requestId: string, own: Partial<RunEnd> = {}): RunEnd => ({
  requestId,
  runId: `run of ${requestId}`,
  taskId: `task of ${requestId}`,
  state: 'TASK_FINISHED',
  endedAt: 1,
  isOver: true,
  ...own,
});
const made = (ends: RunEnd[], followers: Follower[], flow: Partial<Flow> = {}) =>
  followUps(ends, followers, { ...emptyFlow, ...flow }).made.map(({ requestId }) => requestId);

describe('an end', () => {
  test.each(taskStates.filter(isTerminal))('as %s meets END, and SUCCESS or FAILURE', (state) =>
    expect(followConditions.filter((on) => meets(on, { state }))).toEqual([
      state === 'TASK_FINISHED' ? 'SUCCESS' : 'FAILURE',
      'END',
    ]),
  );
  test('makes a run of each follower that waits for such an end', () =>
    expect(
      made(
        [end('a', { state: 'TASK_FAILED' })],
        [
          follower('s', { a: 'SUCCESS' }),
          follower('f', { a: 'FAILURE' }),
          follower('e', { a: 'END' }),
          follower('o', { b: 'END' }),
        ],
      ),
    ).toEqual(['f', 'e']));
  test('is told to the run that it makes: by its task, and by its arguments where the follower takes them', () =>
    expect(
      followUps([end('a', { args: ['x'] })], [follower('b', { a: 'END' }, { takesArgs: true })], emptyFlow).made,
    ).toEqual([{ requestId: 'b', cause: 'task of a', parentRuns: ['task of a'], args: ['x'] }]));
  test('of a run that has ended before changes nothing', () =>
    expect(
      followUps([end('a')], [follower('b', { a: 'END' })], {
        ...emptyFlow,
        known: new Map([[runKey(end('a')), true]]),
      }),
    ).toEqual({ ended: [], opened: [], met: [], made: [], refused: 0 }));
  test('that may not be the end makes nothing, and the true one does', () => {
    const away = end('a', { state: 'TASK_UNREACHABLE', isOver: isOver('TASK_UNREACHABLE') });
    const followers = [follower('b', { a: 'SUCCESS' })];
    const first = followUps([away], followers, emptyFlow);
    expect(first).toMatchObject({ opened: [away], ended: [], made: [] });
    expect(made([end('a')], followers, { known: new Map([[runKey(away), false]]) })).toEqual(['b']);
    expect(made([away, end('a')], followers)).toEqual(['b']);
  });
  test('makes no run beyond the most that a flow may have, and counts those', () => {
    const change = followUps([end('a')], [follower('b', { a: 'END' }), follower('c', { a: 'END' })], {
      ...emptyFlow,
      runs: mostRunsOfFlow - 2,
    });
    expect([change.made.map(({ requestId }) => requestId), change.refused]).toEqual([['b'], 1]);
  });
});

test('an end by the next run of its schedule is none that followers of a result wait for', () => {
  const followers = followConditions.map((on) => follower(on, { a: on }));
  expect(made([end('a', { state: 'TASK_KILLED', isReplaced: true })], followers)).toEqual(['END']);
  // It was faster than the order to go.
  expect(made([end('a', { isReplaced: true })], followers)).toEqual(['SUCCESS', 'END']);
});

describe('a follower of several', () => {
  const both = { a: 'SUCCESS', b: 'END' } as const;
  test('with ANY has a run for each end', () =>
    expect(made([end('a'), end('b')], [follower('c', both, { mode: 'ANY' })])).toEqual(['c', 'c']));
  test('with ALL has one run, in the order of its parents, when all have ended so', () =>
    expect(followUps([end('b'), end('a')], [follower('c', both)], emptyFlow).made).toEqual([
      { requestId: 'c', cause: 'task of a', parentRuns: ['task of a', 'task of b'] },
    ]));
  test('with ALL has none while one of them has ended otherwise, and goes on when that runs again', () => {
    const failed = end('a', { state: 'TASK_FAILED' });
    const again = end('a', { runId: 'again', taskId: 'task 2 of a' });
    expect(made([failed, end('b')], [follower('c', both)])).toEqual([]);
    expect(followUps([failed, end('b'), again], [follower('c', both)], emptyFlow).made[0]?.parentRuns).toEqual([
      'task 2 of a',
      'task of b',
    ]);
  });
  test('with ALL counts what was stored before', () =>
    expect(made([end('b')], [follower('c', both)], { fanIn: new Map([['c', new Map([['a', 'task of a']])]]) })).toEqual(
      ['c'],
    ));
});

test('however ends come, in which order and in how many parts, each follower of all has one run in the flow', () =>
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 6 }).chain((count) => {
        const ids = Array.from({ length: count }, (_, index) => `p${index}`);
        const ends = ids.flatMap((id) => [end(id), end(id, { runId: 'second', taskId: `second ${id}` })]);
        return fc.tuple(
          fc.constant(ids),
          fc.shuffledSubarray(ends, { minLength: ends.length }),
          fc.array(fc.integer({ min: 0, max: ends.length }), { maxLength: 4 }),
        );
      }),
      ([ids, ends, cuts]) => {
        const followers = [follower('all', Object.fromEntries(ids.map((id) => [id, 'SUCCESS'])))];
        const bounds = [0, ...cuts.toSorted((a, b) => a - b), ends.length];
        let flow = emptyFlow;
        let runs = 0;
        for (const [index, from] of bounds.slice(0, -1).entries()) {
          const change = followUps(ends.slice(from, bounds[index + 1]), followers, flow);
          runs += change.made.length;
          const met = new Map([
            ...(flow.fanIn.get('all') ?? []),
            ...change.met.map((one) => [one.parentId, one.taskId] as const),
          ]);
          flow = {
            ...flow,
            fanIn: new Map([['all', met]]),
            known: new Map([...flow.known, ...change.ended.map((one) => [runKey(one), true] as const)]),
          };
        }
        return runs === 1;
      },
    ),
  ));
