import fc from 'fast-check';
import { type CrashLoopReview, type FoundCrashLoop, isObserved, reviewCrashLoops } from './index.js';
import type { CrashLoopInfo } from '../model/crash-loop.js';
import { type CrashLoopType, crashLoopTypes, requestStates } from '../model/enums.js';
import { describe, expect, test } from 'vitest';

const now = 1_000_000;
const request = { id: 'svc', activeDeployId: 'd1' };
const loop = (type: CrashLoopType, start: number, own: Partial<CrashLoopInfo> = {}): CrashLoopInfo => ({
  requestId: 'svc',
  deployId: 'd1',
  type,
  start,
  ...own,
});

test('requests are looked at while ACTIVE or DEPLOYING_TO_UNPAUSE, so not while they cool down', () =>
  expect(requestStates.filter(isObserved)).toEqual(['ACTIVE', 'DEPLOYING_TO_UNPAUSE']));

interface Case {
  name: string;
  stored?: CrashLoopInfo[];
  found: FoundCrashLoop[] | undefined;
  of?: typeof request | { id: string };
  is: Partial<CrashLoopReview>;
}
const ended = (count: number): CrashLoopInfo[] =>
  Array.from({ length: count }, (_, start) => loop('OOM', start, { end: 500 }));

test.each<Case>([
  { name: 'a loop that is found is new', found: [{ type: 'OOM', start: 7 }], is: { changed: [loop('OOM', 7)] } },
  {
    name: 'one that is open already keeps its start',
    stored: [loop('OOM', 5)],
    found: [{ type: 'OOM', start: 7 }],
    is: {},
  },
  {
    name: 'one of another type does not cover it',
    stored: [loop('OOM', 5)],
    found: [
      { type: 'OOM', start: 5 },
      { type: 'SLOW_FAILURES', start: 7 },
    ],
    is: { changed: [loop('SLOW_FAILURES', 7)] },
  },
  {
    name: 'one that is over does not cover it',
    stored: [loop('OOM', 5, { end: 6 })],
    found: [{ type: 'OOM', start: 7 }],
    is: { changed: [loop('OOM', 7)] },
  },
  {
    name: 'an open one that is no longer found is over now',
    stored: [loop('OOM', 5), loop('OOM', 3, { end: 4 })],
    found: [],
    is: { changed: [loop('OOM', 5, { end: now })] },
  },
  { name: 'an open one stays open while it is not looked at', stored: [loop('OOM', 5)], found: undefined, is: {} },
  {
    name: 'loops of other deploys are forgotten, open or not',
    stored: [loop('OOM', 5, { deployId: 'd0' }), loop('OOM', 4, { deployId: 'd0', end: 5 })],
    found: undefined,
    is: { forgotten: [loop('OOM', 5, { deployId: 'd0' }), loop('OOM', 4, { deployId: 'd0', end: 5 })] },
  },
  {
    name: 'without an active deploy all are forgotten',
    stored: [loop('OOM', 5)],
    found: [],
    of: { id: 'svc' },
    is: { forgotten: [loop('OOM', 5)] },
  },
  { name: 'ten that are over are remembered', stored: ended(10), found: [], is: {} },
  {
    name: 'of more, those with the oldest start are forgotten',
    stored: ended(12),
    found: [],
    is: { forgotten: [loop('OOM', 1, { end: 500 }), loop('OOM', 0, { end: 500 })] },
  },
  {
    name: 'open ones are not among the ten',
    stored: [...ended(10), loop('SLOW_FAILURES', 0)],
    found: [{ type: 'SLOW_FAILURES', start: 0 }],
    is: {},
  },
  {
    name: 'one that is over since now may be the oldest: it is told of, and forgotten',
    stored: [...ended(11).slice(1), loop('SLOW_FAILURES', 0)],
    found: [],
    is: {
      changed: [loop('SLOW_FAILURES', 0, { end: now })],
      forgotten: [loop('SLOW_FAILURES', 0, { end: now })],
    },
  },
  {
    name: 'one that is found with its old start again goes on, and is not forgotten',
    stored: ended(11),
    found: [{ type: 'OOM', start: 0 }],
    is: { changed: [loop('OOM', 0)] },
  },
])('$name', ({ stored = [], found, of = request, is }) =>
  expect(reviewCrashLoops(stored, of, found, now)).toEqual({ changed: [], forgotten: [], ...is }),
);

/** The stored loops after a review was written. */
function written(stored: readonly CrashLoopInfo[], { changed, forgotten }: CrashLoopReview): CrashLoopInfo[] {
  const key = ({ deployId, type, start }: CrashLoopInfo): string => `${deployId} ${type} ${start}`;
  const after = new Map([...stored, ...changed].map((each) => [key(each), each]));
  for (const each of forgotten) after.delete(key(each));
  return [...after.values()];
}

describe('laws', () => {
  const anyFound = fc.uniqueArray(
    fc.record({ type: fc.constantFrom(...crashLoopTypes), start: fc.integer({ min: 0, max: 20 }) }),
    { selector: ({ type }) => type },
  );
  const anyLook = fc.record({
    deployId: fc.constantFrom('d1', 'd2'),
    found: fc.option(anyFound, { nil: undefined, freq: 5 }),
  });

  test('after any looks: open is what was found last, one of a type, all of the active deploy, ten that are over', () =>
    fc.assert(
      fc.property(fc.array(anyLook, { minLength: 1, maxLength: 40 }), (looks) => {
        let stored: CrashLoopInfo[] = [];
        looks.forEach(({ deployId, found }, at) => {
          const active = { id: 'svc', activeDeployId: deployId };
          const before = stored.filter((each) => each.deployId === deployId && each.end === undefined);
          stored = written(stored, reviewCrashLoops(stored, active, found, 100 + at));
          expect(stored.every((each) => each.deployId === deployId)).toBe(true);
          const open = stored.filter(({ end }) => end === undefined).map(({ type }) => type);
          const expected = (found ?? before).map(({ type }) => type);
          expect(open.toSorted()).toEqual(expected.toSorted());
          expect(stored.length - open.length).toBeLessThanOrEqual(10);
          expect(reviewCrashLoops(stored, active, found, 100 + at)).toEqual({ changed: [], forgotten: [] });
        });
      }),
    ));
});
