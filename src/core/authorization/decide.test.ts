import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { accessScopes, authModes, type Question, type RequestGroups } from './access-rules.js';
import { on, rules, user, webGroups } from '../../../test/support/fixtures/authorization.js';
import { decide, isAdmin, mayCreateRequests } from './decide.js';

describe('mode GROUPS_LOG_SCOPES', () => {
  const logging = rules({ authMode: 'GROUPS_LOG_SCOPES' });

  test('decides by groups, to which the scopes of the caller are added', () => {
    expect(decide(logging, user(['web']), on('WRITE')).allowed).toBe(true);
    expect(decide(logging, user([], ['web']), on('WRITE')).allowed).toBe(true);
    expect(decide(logging, user(['others'], ['WRITE']), on('WRITE')).allowed).toBe(false);
  });

  test('tells of every decision that scopes would have taken otherwise', () => {
    expect(decide(logging, user(['web']), on('WRITE')).difference).toBe(
      "Groups allow what scopes would not: 'ann' needs one of these scopes for WRITE on request 'shop': WRITE",
    );
    expect(decide(logging, user(['operators'], ['WRITE']), on('WRITE')).difference).toMatch(
      /^Scopes would allow 'ann' what groups do not: 'ann' needs one of these groups/,
    );
    expect(decide(logging, user(['web'], ['WRITE']), on('WRITE')).difference).toBeUndefined();
  });
});

describe('who counts as an administrator', () => {
  test.each([
    { mode: 'GROUPS', who: user(['admins']), is: true },
    { mode: 'GROUPS', who: user([], ['ADMIN', 'admins']), is: false },
    { mode: 'GROUPS_SCOPES', who: user(['admins']), is: false },
    { mode: 'GROUPS_SCOPES', who: user([], ['ADMIN']), is: true },
    { mode: 'GROUPS_LOG_SCOPES', who: user([], ['admins']), is: true },
    { mode: 'GROUPS_LOG_SCOPES', who: user([], ['ADMIN']), is: false },
  ] as const)('in mode $mode groups $who.groups with scopes $who.scopes: $is', ({ mode, who, is }) =>
    expect(isAdmin(rules({ authMode: mode }), who)).toBe(is),
  );

  test('without groups of administrators no user, though all pass their checks', () => {
    const open = rules({ adminGroups: [] });
    expect(isAdmin(open, user(['web']))).toBe(false);
    expect(decide(open, user(['web']), { kind: 'admin' }).allowed).toBe(true);
  });

  test('with authentication off every caller', () => {
    expect(isAdmin(rules({ enabled: false }), user([], [], { authenticated: false }))).toBe(true);
  });
});

describe('who may create some request', () => {
  test.each([
    { mode: 'GROUPS', who: user(), may: true },
    { mode: 'GROUPS', who: user([], [], { authenticated: false }), may: false },
    { mode: 'GROUPS', who: user(['web']), with: { requiredGroups: ['staff'] }, may: false },
    { mode: 'GROUPS', who: user(['staff']), with: { requiredGroups: ['staff'] }, may: true },
    { mode: 'GROUPS_SCOPES', who: user(['web'], ['READ']), may: false },
    { mode: 'GROUPS_SCOPES', who: user([], ['WRITE']), may: false },
    { mode: 'GROUPS_SCOPES', who: user(['web'], ['WRITE']), may: true },
    { mode: 'GROUPS_SCOPES', who: user([], ['ADMIN']), may: true },
  ] as const)('in mode $mode groups $who.groups with scopes $who.scopes: $may', ({ mode, who, may, ...more }) => {
    const changes = 'with' in more ? more.with : {};
    expect(mayCreateRequests(rules({ authMode: mode, ...changes }), who)).toBe(may);
  });
});

describe('laws, in every mode', () => {
  const names = fc.subarray(['web', 'editors', 'readers', 'jita', 'auditors', 'operators', 'admins', 'staff']);
  const scopes = fc.subarray(['READ', 'WRITE', 'ADMIN', 'SHIP']);
  const groups: fc.Arbitrary<RequestGroups> = fc.record(
    { group: fc.constantFrom('web', 'db'), readWriteGroups: names, readOnlyGroups: names },
    { requiredKeys: [] },
  );
  const anyRules = fc
    .record({ authMode: fc.constantFrom(...authModes), adminGroups: names, requiredGroups: names, jitaGroups: names })
    .map(rules);
  const anyQuestion: fc.Arbitrary<Question> = fc.oneof(
    fc.record({ scope: fc.constantFrom(...accessScopes), groups }).map(({ scope, groups: of }) => on(scope, of)),
    fc.constantFrom<Question>({ kind: 'admin' }, { kind: 'globalRead' }, { kind: 'readAll' }),
  );

  test('no caller is allowed anything without being authenticated', () =>
    fc.assert(
      fc.property(anyRules, names, scopes, anyQuestion, (with_, inGroups, withScopes, question) => {
        expect(decide(with_, user(inGroups, withScopes, { authenticated: false }), question).allowed).toBe(false);
      }),
    ));

  test('a user who may write a request may read it', () =>
    fc.assert(
      fc.property(anyRules, names, scopes, groups, (with_, inGroups, withScopes, of) => {
        const who = user(inGroups, withScopes);
        if (decide(with_, who, on('WRITE', of)).allowed) expect(decide(with_, who, on('READ', of)).allowed).toBe(true);
      }),
    ));

  test('one more group or scope never takes anything away', () =>
    fc.assert(
      fc.property(anyRules, names, names, scopes, anyQuestion, (with_, some, more, withScopes, question) => {
        if (!decide(with_, user(some, withScopes), question).allowed) return;
        expect(decide(with_, user([...some, ...more], ['READ', ...withScopes]), question).allowed).toBe(true);
      }),
    ));

  test('a refusal always has a reason that names the caller', () =>
    fc.assert(
      fc.property(anyRules, names, scopes, anyQuestion, (with_, inGroups, withScopes, question) => {
        const { allowed, reason } = decide(with_, user(inGroups, withScopes), question);
        if (!allowed) expect(reason).toContain("'ann'");
      }),
    ));

  test('administrators who are counted as such are allowed everything', () =>
    fc.assert(
      fc.property(anyRules, names, scopes, anyQuestion, (with_, inGroups, withScopes, question) => {
        const who = user(inGroups, withScopes);
        if (isAdmin(with_, who)) expect(decide(with_, who, question).allowed).toBe(true);
      }),
    ));

  test('the order of groups never changes a decision', () =>
    fc.assert(
      fc.property(anyRules, names, scopes, anyQuestion, (with_, inGroups, withScopes, question) => {
        expect(decide(with_, user(inGroups.toReversed(), withScopes), question)).toEqual(
          decide(with_, user(inGroups, withScopes), question),
        );
      }),
    ));
});

test('the group of a request may be any text', () => {
  expect(decide(rules(), user(['a, b']), on('WRITE', { ...webGroups, group: 'a, b' })).allowed).toBe(true);
});
