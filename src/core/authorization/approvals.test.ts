import { describe, expect, test } from 'vitest';
import { on, rules, user, webGroups } from '../../../test/support/fixtures/authorization.js';
import type { AccessRules, RequestGroups, User } from './access-rules.js';
import { approversText, decide } from './decide.js';

const may = (who: User, groups: RequestGroups = webGroups, changes: Partial<AccessRules> = {}): boolean =>
  decide(rules(changes), who, { ...on('APPROVE', groups), action: 'APPROVE' } as never).allowed;
/** Only the group release approves what web deploys; it reads the request and does not change it. */
const released: RequestGroups = {
  ...webGroups,
  readOnlyGroups: ['release'],
  actionPermissions: { release: ['APPROVE'], web: ['BOUNCE', 'SCALE'] },
};
const scoped: Partial<AccessRules> = { authMode: 'GROUPS_SCOPES' };
const ownScope = { ...scoped, scopes: { ...rules().scopes, approve: ['SIGN'] } };

describe('a gate is approved', () => {
  test.each<{ name: string; who: User; groups?: RequestGroups; with?: Partial<AccessRules>; allowed: boolean }>([
    { name: 'by the group of the request, where nothing else is said', who: user(['web']), allowed: true },
    { name: 'not by those who only read', who: user(['readers']), allowed: false },
    { name: 'by a group that may approve and nothing else', who: user(['release']), groups: released, allowed: true },
    { name: 'then not by the group that deploys', who: user(['web']), groups: released, allowed: false },
    { name: 'by administrators, whatever is said', who: user(['admins']), groups: released, allowed: true },
    {
      name: 'with scopes: by the group and the scope of changes',
      who: user(['web'], ['WRITE']),
      with: scoped,
      allowed: true,
    },
    { name: 'with scopes: not without one', who: user(['web'], ['READ']), with: scoped, allowed: false },
    {
      name: 'with scopes: by a group that may approve and reads otherwise',
      who: user(['release'], ['WRITE']),
      groups: released,
      with: scoped,
      allowed: true,
    },
    {
      name: 'with a scope of its own: by that alone',
      who: user(['release'], ['SIGN']),
      groups: released,
      with: ownScope,
      allowed: true,
    },
    {
      name: 'with a scope of its own: not by that of changes',
      who: user(['release'], ['WRITE']),
      groups: released,
      with: ownScope,
      allowed: false,
    },
  ])('$name', ({ who, groups, with: changes, allowed }) => expect(may(who, groups, changes)).toBe(allowed));

  test('by a group that may approve, which may neither deploy nor change', () => {
    for (const scope of ['DEPLOY', 'WRITE'] as const)
      expect(decide(rules(), user(['release']), on(scope, released)).allowed).toBe(false);
  });
});

test.each<{ groups: RequestGroups; with?: Partial<AccessRules>; text: string }>([
  { groups: webGroups, with: { enabled: false }, text: 'any caller' },
  { groups: webGroups, text: 'members of editors, web' },
  { groups: released, text: 'members of release' },
  { groups: {}, text: 'any user' },
  { groups: {}, with: scoped, text: 'administrators' },
  { groups: { ...webGroups, actionPermissions: { web: ['SCALE'] } }, text: 'administrators' },
])('those who may approve are told as "$text"', ({ groups, with: changes, text }) =>
  expect(approversText(rules(changes), groups)).toBe(text),
);
