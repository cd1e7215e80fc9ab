import { describe, expect, test } from 'vitest';
import { on, rules, user, webGroups } from '../../../test/support/fixtures/authorization.js';
import { decide } from './decide.js';
import type { AccessRules, Question, User } from './access-rules.js';

const all: Question[] = [
  on('READ'),
  on('WRITE'),
  on('DEPLOY'),
  on('ADMIN'),
  { kind: 'admin' },
  { kind: 'globalRead' },
  { kind: 'readAll' },
];
/**
 * The allowed questions as letters, in the order above: R, W, D, A on the request, then admin, g(lobal read), r(ead
 * all).
 */
const allowed = (with_: AccessRules, who: User, questions = all): string =>
  questions.map((question, index) => (decide(with_, who, question).allowed ? 'RWDAagr'[index] : '-')).join('');

const ungrouped = (groups = {}) => [on('READ', groups), on('WRITE', groups), on('DEPLOY', groups), on('ADMIN', groups)];

describe('mode GROUPS', () => {
  test.each<{ name: string; who: User; with?: Partial<AccessRules>; may: string }>([
    {
      name: 'no caller who is not authenticated may do anything',
      who: user(['admins'], [], { authenticated: false }),
      may: '-------',
    },
    { name: 'administrators may do everything', who: user(['admins']), may: 'RWDAagr' },
    { name: 'the group of a request reads, writes and deploys it', who: user(['web']), may: 'RWD----' },
    { name: 'its readWriteGroups do the same', who: user(['editors']), may: 'RWD----' },
    { name: 'its readOnlyGroups read it', who: user(['readers']), may: 'R------' },
    {
      name: 'default read-only groups do not count where the request names its own',
      who: user(['defaultReaders']),
      may: '-------',
    },
    { name: 'global read-only groups read everything that is one thing', who: user(['auditors']), may: 'R----g-' },
    { name: 'global read-write groups mean nothing in this mode', who: user(['operators']), may: '-------' },
    {
      name: 'just-in-time access reads, writes and deploys, but is no administrator',
      who: user(['jita']),
      may: 'RWD--g-',
    },
    { name: 'others may do nothing', who: user(['others']), may: '-------' },
    { name: 'scopes mean nothing in this mode', who: user([], ['ADMIN', 'WRITE', 'READ']), may: '-------' },
    {
      name: 'without administrators every authenticated user may do their work, but not ADMIN on a request',
      who: user(),
      with: { adminGroups: [] },
      may: '----agr',
    },
    {
      name: 'who is in none of the required groups may do nothing',
      who: user(['web', 'jita', 'auditors']),
      with: { requiredGroups: ['staff'] },
      may: '-------',
    },
    {
      name: 'who is in one of them may do what their other groups allow',
      who: user(['web', 'staff']),
      with: { requiredGroups: ['staff', 'guests'] },
      may: 'RWD----',
    },
    {
      name: 'administrators need no required group',
      who: user(['admins']),
      with: { requiredGroups: ['staff'] },
      may: 'RWDAagr',
    },
    {
      name: 'a global reader needs a required group for reading the cluster, too',
      who: user(['auditors', 'staff']),
      with: { requiredGroups: ['staff'] },
      may: 'R----g-',
    },
  ])('$name', ({ who, with: changes, may }) => expect(allowed(rules(changes), who)).toBe(may));

  test('a request without any group is read, written and deployed by all who are authenticated', () => {
    expect(allowed(rules(), user(), ungrouped())).toBe('RWD-');
    expect(allowed(rules(), user(), ungrouped({ readOnlyGroups: ['readers'] }))).toBe('RWD-');
  });

  test('default read-only groups read a request that names none', () => {
    const groups = { group: 'web' };
    expect(allowed(rules(), user(['defaultReaders']), ungrouped(groups))).toBe('R---');
    expect(allowed(rules(), user(['defaultReaders']), ungrouped({ ...groups, readOnlyGroups: [] }))).toBe('----');
  });

  test('a refusal names the caller, the scope, the request and the groups that would suffice', () => {
    expect(decide(rules(), user(['others']), on('WRITE')).reason).toBe(
      "'ann' needs one of these groups for WRITE on request 'shop': admins, editors, jita, web",
    );
    expect(decide(rules(), user(['others']), on('READ')).reason).toContain(
      ': admins, auditors, editors, jita, readers, web',
    );
    expect(decide(rules(), user(), { kind: 'admin' }).reason).toBe(
      "'ann' needs one of the groups of administrators: admins",
    );
  });

  test('with authentication off everything is allowed to every caller', () => {
    expect(allowed(rules({ enabled: false }), user([], [], { authenticated: false }))).toBe('RWDAagr');
  });

  test('the groups of another request mean nothing', () => {
    expect(decide(rules(), user(['web']), on('READ', { ...webGroups, group: 'db' })).allowed).toBe(false);
  });
});
