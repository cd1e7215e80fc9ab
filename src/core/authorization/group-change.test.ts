import { describe, expect, test } from 'vitest';
import { rules, webGroups } from '../../../test/support/fixtures/authorization.js';
import { writersNeededToRegroup } from './decide.js';

const byGroups = rules();
const byScopes = rules({ authMode: 'GROUPS_SCOPES' });
const changed = { ...webGroups, group: 'db' };

describe('a change of the groups of a request', () => {
  test('by groups, needs the writers of the old and of the new ones', () => {
    expect(writersNeededToRegroup(byGroups, webGroups, changed)).toEqual([webGroups, changed]);
    const more = { ...webGroups, readWriteGroups: ['editors', 'others'] };
    expect(writersNeededToRegroup(byGroups, webGroups, more)).toEqual([webGroups, more]);
  });

  test('by scopes, needs the writers of the old ones', () => {
    expect(writersNeededToRegroup(byScopes, webGroups, changed)).toEqual([webGroups]);
  });

  test('of readers alone needs no writer by groups, and the writers by scopes', () => {
    const wanted = { ...webGroups, readOnlyGroups: ['all'] };
    expect(writersNeededToRegroup(byGroups, webGroups, wanted)).toEqual([]);
    expect(writersNeededToRegroup(byScopes, webGroups, wanted)).toEqual([webGroups]);
  });

  test('in mode GROUPS_LOG_SCOPES is judged as by groups', () => {
    expect(writersNeededToRegroup(rules({ authMode: 'GROUPS_LOG_SCOPES' }), webGroups, changed)).toHaveLength(2);
  });

  test.each([
    { name: 'that are the same in another order', wanted: { ...webGroups, readWriteGroups: ['editors', 'editors'] } },
    { name: 'that are the same', wanted: { ...webGroups } },
  ])('$name is none', ({ wanted }) => {
    expect(writersNeededToRegroup(byGroups, webGroups, wanted)).toEqual([]);
    expect(writersNeededToRegroup(byScopes, webGroups, wanted)).toEqual([]);
  });

  test('an absent list of writers is an empty one', () => {
    expect(writersNeededToRegroup(byScopes, { group: 'web' }, { group: 'web', readWriteGroups: [] })).toEqual([]);
  });
});
