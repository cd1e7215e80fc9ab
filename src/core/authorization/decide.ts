import { allow, type AccessRules, type Question, type Verdict } from './access-rules.js';
import { decideByGroups } from './by-groups.js';
import { decideByScopes } from './by-scopes.js';
import { overlaps, type User } from './user.js';

export interface Decision extends Verdict {
  /** Mode GROUPS_LOG_SCOPES: scopes would have decided otherwise, in words for the log. */
  difference?: string;
}

/** Whether a caller may do what they ask for. */
export function decide(rules: AccessRules, user: User, question: Question): Decision {
  if (!rules.enabled) return allow;
  switch (rules.authMode) {
    case 'GROUPS':
      return decideByGroups(rules, user, question);
    case 'GROUPS_SCOPES':
      return decideByScopes(rules, user, question);
    case 'GROUPS_LOG_SCOPES': {
      const verdict = decideByGroups(rules, withScopesAsGroups(user), question);
      const other = decideByScopes(rules, user, question);
      return verdict.allowed === other.allowed ? verdict : { ...verdict, difference: describe(user, verdict, other) };
    }
  }
}

/**
 * Who sees also what belongs to no request any more, and whom expensive lists are never kept from. Narrower than being
 * allowed what administrators are: without administrators of its own, a cluster lets everybody do that.
 */
export function isAdmin(rules: AccessRules, user: User): boolean {
  if (!rules.enabled) return true;
  if (!user.authenticated) return false;
  if (rules.authMode === 'GROUPS_SCOPES') return overlaps(user.scopes, rules.scopes.admin);
  const { groups } = rules.authMode === 'GROUPS_LOG_SCOPES' ? withScopesAsGroups(user) : user;
  return overlaps(groups, rules.adminGroups);
}

const withScopesAsGroups = (user: User): User => ({ ...user, groups: [...user.groups, ...user.scopes] });

const describe = (user: User, verdict: Verdict, other: Verdict): string =>
  verdict.allowed
    ? `Groups allow what scopes would not: ${other.reason}`
    : `Scopes would allow '${user.id}' what groups do not: ${verdict.reason}`;
