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
const scoped = (changes: Partial<AccessRules> = {}): AccessRules => rules({ authMode: 'GROUPS_SCOPES', ...changes });
const allowed = (with_: AccessRules, who: User, questions = all): string =>
  questions.map((question, index) => (decide(with_, who, question).allowed ? 'RWDAagr'[index] : '-')).join('');
const withDeploy = { scopes: { admin: ['ADMIN'], write: ['WRITE'], read: ['READ'], deploy: ['SHIP'], approve: [] } };

describe('mode GROUPS_SCOPES', () => {
  test.each<{ name: string; who: User; with?: Partial<AccessRules>; may: string }>([
    {
      name: 'no caller who is not authenticated may do anything',
      who: user([], ['ADMIN'], { authenticated: false }),
      may: '-------',
    },
    { name: 'the scope of administrators allows everything', who: user([], ['ADMIN']), may: 'RWDAagr' },
    { name: 'groups of administrators mean nothing in this mode', who: user(['admins'], ['WRITE']), may: '-----g-' },
    { name: 'a group without a scope is not enough', who: user(['web']), may: '-------' },
    { name: 'a scope without a group is not enough for a request', who: user([], ['WRITE']), may: '-----g-' },
    { name: 'group and scope to write: reads, writes and deploys', who: user(['web'], ['WRITE']), may: 'RWD--g-' },
    { name: 'group and scope to read: reads', who: user(['web'], ['READ']), may: 'R----g-' },
    { name: 'readWriteGroups count as the group', who: user(['editors'], ['WRITE']), may: 'RWD--g-' },
    { name: 'readOnlyGroups only read, whatever their scope', who: user(['readers'], ['WRITE']), may: 'R----g-' },
    { name: 'global readers read all requests', who: user(['auditors'], ['READ']), may: 'R----gr' },
    { name: 'global readers do not write', who: user(['auditors'], ['WRITE']), may: 'R----gr' },
    { name: 'global writers read and write all requests', who: user(['operators'], ['WRITE']), may: 'RWD--gr' },
    {
      name: 'just-in-time access stands for the group, not for the scope',
      who: user(['jita'], ['READ']),
      may: 'R----gr',
    },
    { name: 'with a scope to write it writes', who: user(['jita'], ['WRITE']), may: 'RWD--gr' },
    {
      name: 'required groups mean nothing in this mode',
      who: user(['web'], ['READ']),
      with: { requiredGroups: ['staff'] },
      may: 'R----g-',
    },
    {
      name: 'empty lists of administrators open nothing',
      who: user(['web'], ['WRITE']),
      with: { adminGroups: [] },
      may: 'RWD--g-',
    },
    {
      name: 'with scopes of its own, deploying needs one of these',
      who: user(['web'], ['WRITE']),
      with: withDeploy,
      may: 'RW---g-',
    },
    { name: 'and these are enough for it', who: user(['web'], ['SHIP']), with: withDeploy, may: '--D----' },
  ])('$name', ({ who, with: changes, may }) => expect(allowed(scoped(changes), who)).toBe(may));

  test('a request without any group is for administrators, global groups and just-in-time access only', () => {
    const questions = [on('READ', {}), on('WRITE', {}), on('DEPLOY', {}), on('ADMIN', {})];
    expect(allowed(scoped(), user(['web'], ['WRITE']), questions)).toBe('----');
    expect(allowed(scoped(), user(['operators'], ['WRITE']), questions)).toBe('RWD-');
    expect(allowed(scoped(), user(['auditors'], ['READ']), questions)).toBe('R---');
    expect(allowed(scoped(), user(['jita'], ['WRITE']), questions)).toBe('RWD-');
    expect(allowed(scoped(), user(['defaultReaders'], ['READ']), questions)).toBe('R---');
  });

  test('a group that is named to write and to read only reads', () => {
    const both = { ...webGroups, readOnlyGroups: ['web', 'operators'] };
    expect(decide(scoped(), user(['web'], ['WRITE']), on('WRITE', both)).allowed).toBe(false);
    expect(decide(scoped(), user(['operators'], ['WRITE']), on('WRITE', both)).allowed).toBe(false);
    expect(decide(scoped(), user(['web'], ['WRITE']), on('READ', both)).allowed).toBe(true);
  });

  test('just-in-time access is allowed with a reason for the log, and only where it made the difference', () => {
    expect(decide(scoped(), user(['jita'], ['WRITE']), on('WRITE'))).toEqual({
      allowed: true,
      reason: "'ann' uses just-in-time access for WRITE on request 'shop'",
    });
    expect(decide(scoped(), user(['jita', 'web'], ['WRITE']), on('WRITE'))).toEqual({ allowed: true });
  });

  test('a refusal names what is missing: the scopes, or else the groups', () => {
    expect(decide(scoped(), user(['web']), on('WRITE')).reason).toBe(
      "'ann' needs one of these scopes for WRITE on request 'shop': WRITE",
    );
    expect(decide(scoped(), user([], ['WRITE']), on('WRITE')).reason).toBe(
      "'ann' needs one of these groups for WRITE on request 'shop': editors, jita, operators, web",
    );
  });
});
