import type { AccessRules, RequestGroups } from './access-rules.js';

/**
 * Whose writers a caller must belong to who changes the groups of a request: of these settings, one after the other. So
 * nobody takes a request from others, and, by groups, nobody hands one to groups they are not in.
 */
export function writersNeededToRegroup(
  rules: AccessRules,
  stored: RequestGroups,
  wanted: RequestGroups,
): readonly RequestGroups[] {
  const writersChange = stored.group !== wanted.group || !sameSet(stored.readWriteGroups, wanted.readWriteGroups);
  if (rules.authMode !== 'GROUPS_SCOPES') return writersChange ? [stored, wanted] : [];
  return writersChange || !sameSet(stored.readOnlyGroups, wanted.readOnlyGroups) ? [stored] : [];
}

/** An absent list and an empty one differ for readers only, and there an absent one means "the default". */
function sameSet(some: readonly string[] = [], others: readonly string[] = []): boolean {
  return some.every((one) => others.includes(one)) && others.every((one) => some.includes(one));
}
