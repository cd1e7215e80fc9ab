import {
  allow,
  list,
  readersOf,
  refuse,
  writersOf,
  type AccessRules,
  type Question,
  type Verdict,
} from './access-rules.js';
import { overlaps, type User } from './user.js';

/** Mode GROUPS: what somebody may do follows from the groups they are in. */
export function decideByGroups(rules: AccessRules, user: User, question: Question): Verdict {
  if (!user.authenticated) return refuse(`'${user.id}' is not authenticated`);
  if (overlaps(user.groups, rules.adminGroups)) return allow;
  if (question.kind !== 'request' && rules.adminGroups.length === 0) return allow;
  if (question.kind === 'admin' || question.kind === 'readAll') {
    return refuse(`'${user.id}' needs one of the groups of administrators: ${list(rules.adminGroups)}`);
  }
  if (rules.requiredGroups.length > 0 && !overlaps(user.groups, rules.requiredGroups)) {
    return refuse(`'${user.id}' needs one of the groups that everybody must have: ${list(rules.requiredGroups)}`);
  }
  if (question.kind === 'globalRead') {
    const suffice = [...rules.jitaGroups, ...rules.globalReadOnlyGroups];
    if (overlaps(user.groups, suffice)) return allow;
    return refuse(`'${user.id}' needs one of these groups to read: ${list([...suffice, ...rules.adminGroups])}`);
  }
  return decideRequest(rules, user, question);
}

function decideRequest(rules: AccessRules, user: User, question: Question & { kind: 'request' }): Verdict {
  const { scope, requestId, groups } = question;
  if (scope === 'ADMIN') {
    return refuse(
      `'${user.id}' needs one of these groups for ADMIN on request '${requestId}': ${list(rules.adminGroups)}`,
    );
  }
  const writers = writersOf(groups);
  // A request that names no group of its own belongs to everybody.
  if (writers.length === 0) return allow;
  const suffice = [...writers, ...rules.jitaGroups];
  if (scope === 'READ') suffice.push(...readersOf(groups, rules), ...rules.globalReadOnlyGroups);
  if (overlaps(user.groups, suffice)) return allow;
  return refuse(
    `'${user.id}' needs one of these groups for ${scope} on request '${requestId}': ${list([...suffice, ...rules.adminGroups])}`,
  );
}
