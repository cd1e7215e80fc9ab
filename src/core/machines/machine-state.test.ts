import { describe, expect, test } from 'vitest';
import { machineStates, type MachineState } from '../model/enums.js';
import { judgeStateChange, stateWhenSeen, type StateChange } from './machine-state.js';

describe('judgeStateChange', () => {
  test.each<[MachineState, MachineState, StateChange]>([
    ['ACTIVE', 'FROZEN', 'CHANGED'],
    ['FROZEN', 'ACTIVE', 'CHANGED'],
    ['ACTIVE', 'STARTING_DECOMMISSION', 'CHANGED'],
    ['FROZEN', 'STARTING_DECOMMISSION', 'CHANGED'],
    ['DEAD', 'STARTING_DECOMMISSION', 'ILLEGAL_TRANSITION'],
    ['MISSING_ON_STARTUP', 'STARTING_DECOMMISSION', 'ILLEGAL_TRANSITION'],
    ['DECOMMISSIONING', 'STARTING_DECOMMISSION', 'ILLEGAL_TRANSITION'],
    ['STARTING_DECOMMISSION', 'DECOMMISSIONING', 'CHANGED'],
    ['DECOMMISSIONING', 'DECOMMISSIONED', 'CHANGED'],
    ['ACTIVE', 'DECOMMISSIONED', 'ILLEGAL_TRANSITION'],
    ['FROZEN', 'DECOMMISSIONING', 'ILLEGAL_TRANSITION'],
    ['DECOMMISSIONED', 'FROZEN', 'ILLEGAL_TRANSITION'],
    ['STARTING_DECOMMISSION', 'FROZEN', 'ILLEGAL_TRANSITION'],
    ['DECOMMISSIONED', 'ACTIVE', 'CHANGED'],
    ['DEAD', 'ACTIVE', 'CHANGED'],
    ['ACTIVE', 'DEAD', 'CHANGED'],
  ])('%s to %s: %s', (from, to, judged) => expect(judgeStateChange(from, to)).toBe(judged));

  test.each(machineStates)('%s to itself is no change', (state) => {
    expect(judgeStateChange(state, state)).toBe('ALREADY_AT_STATE');
  });
});

test.each<[MachineState | undefined, MachineState]>([
  [undefined, 'ACTIVE'],
  ['DEAD', 'ACTIVE'],
  ['MISSING_ON_STARTUP', 'ACTIVE'],
  ['FROZEN', 'FROZEN'],
  ['DECOMMISSIONING', 'DECOMMISSIONING'],
  ['ACTIVE', 'ACTIVE'],
])('a machine known as %s that answers is %s', (known, state) => expect(stateWhenSeen(known)).toBe(state));
