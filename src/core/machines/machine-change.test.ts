import { expect, test } from 'vitest';
import type { MachineState } from '../model/enums.js';
import { checkLapsingChange } from './machine-life.js';

test.each<[target: MachineState, revert: MachineState | undefined, rule: string | undefined]>([
  ['FROZEN', undefined, 'required'],
  ['FROZEN', 'ACTIVE', undefined],
  ['FROZEN', 'STARTING_DECOMMISSION', undefined],
  ['FROZEN', 'DECOMMISSIONED', 'transition'],
  ['FROZEN', 'DECOMMISSIONING', 'reserved'],
  ['FROZEN', 'DEAD', 'reserved'],
  ['FROZEN', 'MISSING_ON_STARTUP', 'reserved'],
  ['ACTIVE', 'FROZEN', undefined],
  ['ACTIVE', 'STARTING_DECOMMISSION', undefined],
  ['ACTIVE', 'DECOMMISSIONED', 'transition'],
  ['STARTING_DECOMMISSION', 'ACTIVE', undefined],
  ['STARTING_DECOMMISSION', 'FROZEN', 'transition'],
  ['STARTING_DECOMMISSION', 'STARTING_DECOMMISSION', 'transition'],
  ['STARTING_DECOMMISSION', 'DECOMMISSIONED', 'killTasks'],
])('%s that lapses into %s: %s', (target, revertToState, rule) => {
  expect(checkLapsingChange(target, { durationMillis: 5, revertToState })?.rule).toBe(rule);
});

test('a decommission may lapse into DECOMMISSIONED when it kills what is left', () => {
  const change = { durationMillis: 5, revertToState: 'DECOMMISSIONED', killTasksOnDecommissionTimeout: true } as const;
  expect(checkLapsingChange('STARTING_DECOMMISSION', change)).toBeUndefined();
});

test('a change that does not lapse needs none of this', () => {
  expect(checkLapsingChange('FROZEN', { revertToState: 'DEAD' })).toBeUndefined();
});
