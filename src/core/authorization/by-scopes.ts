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

/** Mode GROUPS_SCOPES: a caller needs a group that the request names and a scope that their credential carries. */
export function decideByScopes(rules: AccessRules, user: User, question: Question): Verdict {
  if (!user.authenticated) return refuse(`'${user.id}' is not authenticated`);
  if (overlaps(user.scopes, rules.scopes.admin)) return allow;
  const scopes = scopesFor(rules, question);
  if (!overlaps(user.scopes, scopes)) {
    return refuse(`'${user.id}' needs one of these scopes for ${nameOf(question)}: ${list(scopes)}`);
  }
  const groups = groupsFor(rules, question);
  if (groups === 'any' || overlaps(user.groups, groups)) return allow;
  // Somebody who steps in for others: allowed, but not in silence.
  if (overlaps(user.groups, rules.jitaGroups)) {
    return { allowed: true, reason: `'${user.id}' uses just-in-time access for ${nameOf(question)}` };
  }
  const suffice = [...groups, ...rules.jitaGroups];
  return refuse(`'${user.id}' needs one of these groups for ${nameOf(question)}: ${list(suffice)}`);
}

function scopesFor({ scopes }: AccessRules, question: Question): readonly string[] {
  if (question.kind === 'globalRead' || question.kind === 'readAll') return [...scopes.read, ...scopes.write];
  if (question.kind === 'admin' || question.scope === 'ADMIN') return scopes.admin;
  if (question.scope === 'READ') return [...scopes.read, ...scopes.write];
  return question.scope === 'DEPLOY' && scopes.deploy.length > 0 ? scopes.deploy : scopes.write;
}

function groupsFor(rules: AccessRules, question: Question): readonly string[] | 'any' {
  const { globalReadOnlyGroups, globalReadWriteGroups } = rules;
  if (question.kind === 'readAll') return [...globalReadOnlyGroups, ...globalReadWriteGroups];
  if (question.kind !== 'request') return 'any';
  const writers = [...globalReadWriteGroups, ...writersOf(question.groups)];
  if (question.scope === 'READ') {
    return [...globalReadOnlyGroups, ...writers, ...readersOf(question.groups, rules)];
  }
  // A group that is named as both only reads.
  return writers.filter((group) => !question.groups.readOnlyGroups?.includes(group));
}

function nameOf(question: Question): string {
  if (question.kind === 'request') return `${question.scope} on request '${question.requestId}'`;
  return { admin: 'ADMIN', globalRead: 'READ', readAll: 'READ on all requests' }[question.kind];
}
