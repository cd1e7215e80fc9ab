import { describe, expect, test } from 'vitest';
import { machineStates, type MachineState } from '../model/enums.js';
import { isInactive, judgeOrder, judgeStateChange, type StateChange } from './machine-life.js';

const decommissioning: MachineState[] = ['STARTING_DECOMMISSION', 'DECOMMISSIONING', 'DECOMMISSIONED'];
const inactive: MachineState[] = ['DEAD', 'MISSING_ON_STARTUP'];

interface Row {
  rule: string;
  from: readonly MachineState[];
  to: readonly MachineState[];
}
const illegal: Row[] = [
  {
    rule: 'any decommissioning state to STARTING_DECOMMISSION is illegal',
    from: ['DECOMMISSIONING', 'DECOMMISSIONED'],
    to: ['STARTING_DECOMMISSION'],
  },
  {
    rule: 'ACTIVE or FROZEN to DECOMMISSIONING or DECOMMISSIONED is illegal',
    from: ['ACTIVE', 'FROZEN'],
    to: ['DECOMMISSIONING', 'DECOMMISSIONED'],
  },
  { rule: 'any decommissioning state to FROZEN is illegal', from: decommissioning, to: ['FROZEN'] },
];

describe('judgeStateChange', () => {
  test.each(machineStates)('%s to the same state is no change', (state) => {
    expect(judgeStateChange(state, state)).toBe('ALREADY_AT_STATE');
  });

  test.each(illegal)('$rule', ({ from, to }) => {
    for (const one of from) for (const other of to) expect(judgeStateChange(one, other)).toBe('ILLEGAL_TRANSITION');
  });

  test('everything else is allowed', () => {
    const pairs = machineStates.flatMap((from) => machineStates.map((to) => ({ from, to })));
    const others = pairs.filter(
      ({ from, to }) => from !== to && !illegal.some((row) => row.from.includes(from) && row.to.includes(to)),
    );
    expect(others).toHaveLength(7 * 7 - 7 - (2 + 4 + 3));
    for (const { from, to } of others) expect(judgeStateChange(from, to), `${from} to ${to}`).toBe('CHANGED');
  });

  test.each<[MachineState, MachineState]>([
    ['FROZEN', 'STARTING_DECOMMISSION'],
    ['DECOMMISSIONED', 'ACTIVE'],
    ['DEAD', 'STARTING_DECOMMISSION'],
    ['DEAD', 'ACTIVE'],
    ['DECOMMISSIONING', 'DEAD'],
  ])('%s to %s is allowed', (from, to) => expect(judgeStateChange(from, to)).toBe('CHANGED'));
});

describe('judgeOrder', () => {
  test.each<[MachineState, StateChange]>([
    ['ACTIVE', 'CHANGED'],
    ['FROZEN', 'CHANGED'],
    ['DEAD', 'ILLEGAL_TRANSITION'],
    ['MISSING_ON_STARTUP', 'ILLEGAL_TRANSITION'],
    ['DECOMMISSIONING', 'ILLEGAL_TRANSITION'],
    ['STARTING_DECOMMISSION', 'ALREADY_AT_STATE'],
  ])('operators decommission what is there: %s gives %s', (from, judged) => {
    expect(judgeOrder(from, 'STARTING_DECOMMISSION')).toBe(judged);
  });

  test('activation unfreezes, and takes a decommission back', () => {
    for (const from of ['FROZEN', ...decommissioning] as const) expect(judgeOrder(from, 'ACTIVE')).toBe('CHANGED');
  });

  test.each(inactive)('nothing takes a %s machine anywhere, neither an operator nor a change that lapses', (from) => {
    for (const to of machineStates) expect(judgeOrder(from, to)).toBe('ILLEGAL_TRANSITION');
  });

  test('a machine that is there follows the rules of every change', () => {
    for (const from of machineStates.filter((state) => !isInactive(state))) {
      for (const to of machineStates) expect(judgeOrder(from, to)).toBe(judgeStateChange(from, to));
    }
  });
});
