import { describe, expect, test } from 'vitest';
import { actionTypes, type ActionType } from '../model/enums.js';
import { actionsToDisable, canBeDisabled, disabledMessage, hasExpired } from './actions.js';

const rules = { actions: ['BOUNCE_REQUEST', 'TASK_SHUFFLE'] as ActionType[], expirationMillis: 900_000 };
const now = 1_000_000;

describe('on a disaster the configured actions are switched off', () => {
  test('with an expiry when every disaster ends by itself: only EXCESSIVE_TASK_LAG does', () => {
    const off = actionsToDisable(['EXCESSIVE_TASK_LAG'], rules, now);
    expect(off.map(({ type }) => type)).toEqual(rules.actions);
    expect(off[0]).toMatchObject({ automaticallyClearable: true, expiresAt: now + 900_000 });
    expect(off[0]!.message).toContain('EXCESSIVE_TASK_LAG');
    expect(off[0]).not.toHaveProperty('user');
  });

  test.each([['LOST_SLAVES'], ['LOST_TASKS'], ['USER_INITIATED']] as const)(
    'for good when %s is among them',
    (type) => {
      for (const disaster of actionsToDisable(['EXCESSIVE_TASK_LAG', type], rules, now)) {
        expect(disaster).toMatchObject({ automaticallyClearable: false, expiresAt: undefined });
      }
    },
  );

  test('none without a disaster, and none when none is configured', () => {
    expect(actionsToDisable([], rules, now)).toEqual([]);
    expect(actionsToDisable(['LOST_TASKS'], { ...rules, actions: [] }, now)).toEqual([]);
  });
});

test('actions that nothing asks for cannot be switched off', () => {
  expect(actionTypes.filter((type) => !canBeDisabled(type))).toEqual([
    'VIEW_REQUEST',
    'PAUSE_REQUEST',
    'ADD_DISASTER',
    'REMOVE_DISASTER',
    'DISABLE_ACTION',
    'ENABLE_ACTION',
    'VIEW_DISASTERS',
    'VIEW_SLAVES',
    'VIEW_RACKS',
  ]);
});

test('callers are told the action and the reason, or a stock text', () => {
  expect(disabledMessage('DEPLOY', 'month end')).toBe('Action DEPLOY is disabled: month end');
  expect(disabledMessage('DEPLOY', undefined)).toBe('Action DEPLOY is disabled for now');
  expect(disabledMessage('DEPLOY', '')).toBe('Action DEPLOY is disabled for now');
});

test('a disabled action is over at its expiry, and without one never', () => {
  expect(hasExpired({ expiresAt: now }, now - 1)).toBe(false);
  expect(hasExpired({ expiresAt: now }, now)).toBe(true);
  expect(hasExpired({}, now)).toBe(false);
});
