import { describe, expect, test } from 'vitest';
import { decideTake, matches, stateHere, type KnownItem } from '../src/import-from/take.js';

const theirs = { state: 'ACTIVE', fingerprint: 'f1' };
const known = (given: Partial<KnownItem> = {}): KnownItem => ({
  outcome: 'TAKEN',
  fingerprint: 'f1',
  version: 1,
  held: true,
  handedOver: false,
  ...given,
});

test.each([
  { name: 'a new one is taken', ours: undefined, known: undefined, result: 'TAKE' },
  {
    name: 'one that was refused is tried again',
    ours: undefined,
    known: known({ outcome: 'REFUSED' }),
    result: 'TAKE',
  },
  { name: 'one that is as it was is left alone', ours: { version: 1 }, known: known(), result: 'UNCHANGED' },
  {
    name: 'one that changed there is taken again',
    ours: { version: 1 },
    known: known({ fingerprint: 'f0' }),
    result: 'TAKE',
  },
  {
    name: 'one that came otherwise stays',
    ours: { version: 1 },
    known: undefined,
    result: 'a request of this id is here that did not come from there',
  },
  {
    name: 'one that came otherwise stays, also when it was refused before',
    ours: { version: 1 },
    known: known({ outcome: 'REFUSED' }),
    result: 'a request of this id is here that did not come from there',
  },
  {
    name: 'one that was changed here stays',
    ours: { version: 2 },
    known: known({ fingerprint: 'f0' }),
    result: 'it was changed here since it was taken',
  },
  {
    name: 'one that was handed over stays',
    ours: { version: 1 },
    known: known({ fingerprint: 'f0', handedOver: true }),
    result: 'it has been handed over',
  },
  {
    name: 'one that was deleted here does not come back',
    ours: undefined,
    known: known(),
    result: 'it was deleted here',
  },
])('$name', ({ ours, known: item, result }) => {
  const decision = decideTake(theirs, ours, item);
  expect(decision.kind === 'LEAVE' ? decision.why : decision.kind).toBe(result);
});

test('one that is being deleted there is not taken', () => {
  expect(decideTake({ ...theirs, state: 'DELETING' }, undefined, undefined)).toMatchObject({ kind: 'LEAVE' });
});

describe('nothing that the original runs is runnable here', () => {
  test.each([
    { state: 'ACTIVE', requestType: 'SERVICE', here: { state: 'PAUSED', held: true } },
    { state: 'ACTIVE', requestType: 'ON_DEMAND', here: { state: 'PAUSED', held: true } },
    { state: 'SYSTEM_COOLDOWN', requestType: 'SCHEDULED', here: { state: 'PAUSED', held: true } },
    { state: 'DEPLOYING_TO_UNPAUSE', requestType: 'WORKER', here: { state: 'PAUSED', held: true } },
    { state: 'PAUSED', requestType: 'SERVICE', here: { state: 'PAUSED', held: false } },
    { state: 'FINISHED', requestType: 'SCHEDULED', here: { state: 'FINISHED', held: false } },
    // Nothing starts a run-once request by itself.
    { state: 'ACTIVE', requestType: 'RUN_ONCE', here: { state: 'ACTIVE', held: false } },
  ] as const)('$requestType, $state', ({ state, requestType, here }) => {
    expect(stateHere({ state, requestType }, false)).toEqual(here);
  });

  test('what is held stays held when the original pauses it', () => {
    expect(stateHere({ state: 'PAUSED', requestType: 'SERVICE' }, true)).toEqual({ state: 'PAUSED', held: true });
  });
});

test.each([
  ['web', 'web', true],
  ['web', 'web-2', false],
  ['web*', 'web-2', true],
  ['*', 'anything', true],
  ['a.b', 'a-b', false],
  ['web-?', 'web-2', true],
  ['web-?', 'web-22', false],
  ['*-v2', 'web-v2', true],
  ['*-v2', 'web-v22', false],
])('%s and %s', (pattern, id, result) => expect(matches(pattern, id)).toBe(result));
