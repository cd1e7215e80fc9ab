import { expect, test } from 'vitest';
import { changedSince, type CheckedState, checkIndexOf } from './check-index.js';

const state: CheckedState = { version: 7, changedAt: 1_000, activeDeployId: 'v1' };

test.each<{ name: string; now: CheckedState; changes: string[] }>([
  { name: 'nothing', now: state, changes: [] },
  { name: 'the request', now: { ...state, version: 8 }, changes: ['its version was 7 and is 8'] },
  {
    name: 'a deploy that began',
    now: { ...state, version: 8, pendingDeployId: 'v2' },
    changes: ['its version was 7 and is 8', "the pending deploy was none and is 'v2'"],
  },
  {
    name: 'a deploy that succeeded',
    now: { ...state, version: 9, activeDeployId: 'v2' },
    changes: ['its version was 7 and is 9', "the active deploy was 'v1' and is 'v2'"],
  },
  {
    name: 'a request of the same name and number',
    now: { version: 7, changedAt: 2_000 },
    changes: ['it was deleted and made anew', "the active deploy was 'v1' and is none"],
  },
])('$name is what has changed', ({ now, changes }) => expect(changedSince(checkIndexOf(state), now)).toEqual(changes));

test.each(['', '7', 'a~b~c~d', '7~1000~v1', '7~1000~v1~~', '-1~0~~'])('%j is no check index', (text) =>
  expect(changedSince(text, state)).toBeUndefined(),
);

test('a check index stands in an address as it is', () => {
  const index = checkIndexOf({ ...state, activeDeployId: 'v_1.rollback2', pendingDeployId: 'V3' });
  expect(new URLSearchParams({ checkIndex: index }).toString().replaceAll('%7E', '~')).toBe(`checkIndex=${index}`);
  expect(encodeURIComponent(index)).toBe(index);
});
