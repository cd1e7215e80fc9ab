import type { AccessRules, RequestGroups, User } from './access-rules.js';
import { decide, isAdmin } from './decide.js';

/**
 * Filter of the requests that a caller may read, made without reading one of them, so that a list reads no others.
 * 'some': those that name one of `groups`, and, as said, those without writers and those whose readers are the default
 * ones.
 */
export type ReadFilter =
  { kind: 'all' | 'none' } | { kind: 'some'; groups: readonly string[]; withoutWriters: boolean; byDefault: boolean };

/** Agrees with `decide` on READ for each request. */
export function readFilter(rules: AccessRules, user: User): ReadFilter {
  if (isAdmin(rules, user)) return { kind: 'all' };
  const reads = (groups: RequestGroups, by: AccessRules = rules): boolean =>
    decide(by, user, { kind: 'request', scope: 'READ', requestId: '', groups }).allowed;
  // A group that nobody is in, and no readers: only who reads everything reads that.
  const closed: RequestGroups = { group: nobody, readOnlyGroups: [] };
  if (reads(closed)) return { kind: 'all' };
  const own = rules.authMode === 'GROUPS_LOG_SCOPES' ? [...user.groups, ...user.scopes] : [...user.groups];
  const groups = [...new Set(own)].filter((group) => reads({ group, readOnlyGroups: [] })).toSorted();
  const withoutWriters = reads({ readOnlyGroups: [] });
  const byDefault = reads({ group: nobody });
  if (groups.length === 0 && !withoutWriters && !byDefault) return { kind: 'none' };
  return { kind: 'some', groups, withoutWriters, byDefault };
}

/** No group of callers: names have no control characters. */
const nobody = '\u0001';
