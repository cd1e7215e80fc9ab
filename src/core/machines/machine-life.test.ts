import { describe, expect, test } from 'vitest';
import { machineStates, type MachineState } from '../model/enums.js';
import { canLapse, isInactive, type MachineEvent, nextMachineStep } from './machine-life.js';

const after = (from: MachineState | undefined, event: MachineEvent) => {
  const step = nextMachineStep(from, event);
  return step.kind === 'enter' ? step.state : step.kind;
};

describe('a machine that the cluster has', () => {
  const seen = { kind: 'seen', hostIsInactive: false } as const;
  const seenOnInactiveHost = { kind: 'seen', hostIsInactive: true } as const;

  test.each<[MachineState | undefined, string]>([
    [undefined, 'ACTIVE'],
    ['DEAD', 'ACTIVE'],
    ['MISSING_ON_STARTUP', 'ACTIVE'],
    ['ACTIVE', 'stay'],
    ['FROZEN', 'stay'],
    ['STARTING_DECOMMISSION', 'stay'],
    ['DECOMMISSIONING', 'stay'],
    ['DECOMMISSIONED', 'stay'],
  ])('known as %s: %s', (known, state) => expect(after(known, seen)).toBe(state));

  test.each<[MachineState | undefined]>([[undefined], ['DEAD'], ['MISSING_ON_STARTUP']])(
    'known as %s and on an inactive host is decommissioned straight away',
    (known) => expect(after(known, seenOnInactiveHost)).toBe('STARTING_DECOMMISSION'),
  );

  test('that was there all the time is not decommissioned because its host was marked', () => {
    for (const state of machineStates.filter((known) => !isInactive(known))) {
      expect(after(state, seenOnInactiveHost)).toBe('stay');
    }
  });
});

describe('a machine that is gone', () => {
  test.each(machineStates)('%s is DEAD when it is confirmed gone, once', (from) => {
    expect(after(from, { kind: 'lost' })).toBe(from === 'DEAD' ? 'stay' : 'DEAD');
  });

  test('nothing is made of one that was never known', () => {
    expect(after(undefined, { kind: 'lost' })).toBe('stay');
    expect(after(undefined, { kind: 'unlisted', machine: 'SLAVE', atStart: true })).toBe('stay');
  });

  test.each<[MachineState, atStart: string, later: string]>([
    ['ACTIVE', 'MISSING_ON_STARTUP', 'DEAD'],
    ['DECOMMISSIONED', 'MISSING_ON_STARTUP', 'stay'],
    ['FROZEN', 'stay', 'stay'],
    ['STARTING_DECOMMISSION', 'stay', 'stay'],
    ['DECOMMISSIONING', 'stay', 'stay'],
    ['DEAD', 'stay', 'stay'],
    ['MISSING_ON_STARTUP', 'stay', 'stay'],
  ])('an unlisted slave that is %s: %s at the start, %s later', (from, atStart, later) => {
    expect(after(from, { kind: 'unlisted', machine: 'SLAVE', atStart: true })).toBe(atStart);
    expect(after(from, { kind: 'unlisted', machine: 'SLAVE', atStart: false })).toBe(later);
  });

  test('an unlisted rack goes the same way, but stays when it is DECOMMISSIONED', () => {
    expect(after('ACTIVE', { kind: 'unlisted', machine: 'RACK', atStart: true })).toBe('MISSING_ON_STARTUP');
    expect(after('ACTIVE', { kind: 'unlisted', machine: 'RACK', atStart: false })).toBe('DEAD');
    expect(after('DECOMMISSIONED', { kind: 'unlisted', machine: 'RACK', atStart: true })).toBe('stay');
  });
});

describe('a decommission', () => {
  test.each<[MachineState, number, string]>([
    ['STARTING_DECOMMISSION', 2, 'DECOMMISSIONING'],
    ['STARTING_DECOMMISSION', 0, 'DECOMMISSIONED'],
    ['DECOMMISSIONING', 1, 'stay'],
    ['DECOMMISSIONING', 0, 'DECOMMISSIONED'],
    ['ACTIVE', 0, 'stay'],
    ['FROZEN', 0, 'stay'],
    ['DECOMMISSIONED', 0, 'stay'],
  ])('%s with %i tasks left: %s', (from, tasksLeft, state) => {
    expect(after(from, { kind: 'drained', tasksLeft })).toBe(state);
  });
});

test('what operators and lapsing changes want is refused with the reason', () => {
  expect(nextMachineStep('FROZEN', { kind: 'asked', state: 'FROZEN' })).toEqual({
    kind: 'refuse',
    because: 'ALREADY_AT_STATE',
  });
  expect(nextMachineStep('DEAD', { kind: 'lapsed', revertToState: 'ACTIVE' })).toEqual({
    kind: 'refuse',
    because: 'ILLEGAL_TRANSITION',
  });
});

test.each<[state: MachineState, revert: MachineState, possible: boolean]>([
  ['FROZEN', 'ACTIVE', true],
  ['ACTIVE', 'ACTIVE', false],
  ['DEAD', 'ACTIVE', false],
  ['DECOMMISSIONING', 'DECOMMISSIONED', true],
  ['DECOMMISSIONED', 'DECOMMISSIONED', false],
  ['DECOMMISSIONING', 'FROZEN', false],
])('a change of a machine now %s can lapse into %s: %s', (state, revert, possible) => {
  expect(canLapse(state, revert)).toBe(possible);
});
