import {
  type AccessRules,
  allow,
  approversOf,
  list,
  overlaps,
  type Question,
  type RequestQuestion,
  readersOf,
  refuse,
  type User,
  type AccessVerdict,
  writersOf,
  type RequestGroups,
} from './access-rules.js';

export interface Decision extends AccessVerdict {
  /** Mode GROUPS_LOG_SCOPES: scopes would have decided otherwise, in words for the log. */
  difference?: string;
}

/** Decides if a caller may do what they ask for. */
export function decide(rules: AccessRules, user: User, question: Question): Decision {
  if (!rules.enabled) return allow;
  const decision = decideByMode(rules, user, question);
  if (!decision.allowed || question.kind !== 'request') return decision;
  return actionRefusal(rules, user, question) ?? decision;
}

/** A request may keep single actions to some of the groups that may change it. Administrators may take them all. */
function actionRefusal(rules: AccessRules, user: User, { action, groups, requestId }: RequestQuestion) {
  const { actionPermissions } = groups;
  if (action === undefined || actionPermissions === undefined || isAdmin(rules, user)) return undefined;
  const suffice = Object.keys(actionPermissions).filter((group) => actionPermissions[group]!.includes(action));
  const { groups: own } = rules.authMode === 'GROUPS_LOG_SCOPES' ? withScopesAsGroups(user) : user;
  if (overlaps(own, suffice)) return undefined;
  return refuse(
    `'${user.id}' needs one of these groups for ${action} on request '${requestId}', as its actionPermissions say: ${list(suffice)}`,
  );
}

/**
 * True when the caller may do this as an administrator or by just-in-time access only: a request of groups that they do
 * not belong to.
 */
export function isElevated(rules: AccessRules, user: User, question: RequestQuestion): boolean {
  if (!rules.enabled || !decide(rules, user, question).allowed) return false;
  const { read, write, deploy, approve } = rules.scopes;
  const plainRules = { ...rules, adminGroups: [], jitaGroups: [], scopes: { ...rules.scopes, admin: [] } };
  const plainUser = { ...user, scopes: [...user.scopes, ...read, ...write, ...deploy, ...approve] };
  return !decideByMode(plainRules, plainUser, question).allowed;
}

function decideByMode(rules: AccessRules, user: User, question: Question): Decision {
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
 * Administrators see also records that belong to no request any more, and expensive lists are never refused to them.
 * Narrower than being allowed what administrators are: without administrators of its own, a cluster lets every caller
 * do that.
 */
export function isAdmin(rules: AccessRules, user: User): boolean {
  if (!rules.enabled) return true;
  if (!user.authenticated) return false;
  if (rules.authMode === 'GROUPS_SCOPES') return overlaps(user.scopes, rules.scopes.admin);
  const { groups } = rules.authMode === 'GROUPS_LOG_SCOPES' ? withScopesAsGroups(user) : user;
  return overlaps(groups, rules.adminGroups);
}

/** Is there a request that the caller could create: one of no group, or of a group that they are in? */
export const mayCreateRequests = (rules: AccessRules, user: User): boolean =>
  [{}, ...user.groups.map((group) => ({ group }))].some(
    (groups) => decide(rules, user, { kind: 'request', scope: 'WRITE', requestId: '', groups }).allowed,
  );

const withScopesAsGroups = (user: User): User => ({ ...user, groups: [...user.groups, ...user.scopes] });

const describe = (user: User, verdict: AccessVerdict, other: AccessVerdict): string =>
  verdict.allowed
    ? `Groups allow what scopes would not: ${other.reason}`
    : `Scopes would allow '${user.id}' what groups do not: ${verdict.reason}`;

/** Mode GROUPS: what a caller may do follows from the groups they are in. */
function decideByGroups(rules: AccessRules, user: User, question: Question): AccessVerdict {
  if (!user.authenticated) return refuse(`'${user.id}' is not authenticated`);
  if (overlaps(user.groups, rules.adminGroups)) return allow;
  if (question.kind !== 'request' && rules.adminGroups.length === 0) return allow;
  if (question.kind === 'admin' || question.kind === 'readAll') {
    return refuse(`'${user.id}' needs one of the groups of administrators: ${list(rules.adminGroups)}`);
  }
  if (rules.requiredGroups.length > 0 && !overlaps(user.groups, rules.requiredGroups)) {
    return refuse(`'${user.id}' needs one of the groups that every user must have: ${list(rules.requiredGroups)}`);
  }
  if (question.kind === 'globalRead') {
    const suffice = [...rules.jitaGroups, ...rules.globalReadOnlyGroups];
    if (overlaps(user.groups, suffice)) return allow;
    return refuse(`'${user.id}' needs one of these groups to read: ${list([...suffice, ...rules.adminGroups])}`);
  }
  return decideRequest(rules, user, question);
}

function decideRequest(rules: AccessRules, user: User, question: Question & { kind: 'request' }): AccessVerdict {
  const { scope, requestId, groups } = question;
  if (scope === 'ADMIN') {
    return refuse(
      `'${user.id}' needs one of these groups for ADMIN on request '${requestId}': ${list(rules.adminGroups)}`,
    );
  }
  const writers = writersOf(groups);
  // A request that names no group of its own belongs to all callers.
  if (writers.length === 0) return allow;
  const suffice = [...writers, ...rules.jitaGroups];
  if (scope === 'READ') suffice.push(...readersOf(groups, rules), ...rules.globalReadOnlyGroups);
  if (scope === 'APPROVE') suffice.push(...approversOf(groups));
  if (overlaps(user.groups, suffice)) return allow;
  return refuse(
    `'${user.id}' needs one of these groups for ${scope} on request '${requestId}': ${list([...suffice, ...rules.adminGroups])}`,
  );
}

/** Mode GROUPS_SCOPES: a caller needs a group that the request names and a scope that their credential carries. */
function decideByScopes(rules: AccessRules, user: User, question: Question): AccessVerdict {
  if (!user.authenticated) return refuse(`'${user.id}' is not authenticated`);
  if (overlaps(user.scopes, rules.scopes.admin)) return allow;
  const scopes = scopesFor(rules, question);
  if (!overlaps(user.scopes, scopes)) {
    return refuse(`'${user.id}' needs one of these scopes for ${nameOf(question)}: ${list(scopes)}`);
  }
  const groups = groupsFor(rules, question);
  if (groups === 'any' || overlaps(user.groups, groups)) return allow;
  // A caller who steps in for others: allowed, but not in silence.
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
  if (question.scope === 'APPROVE' && scopes.approve.length > 0) return scopes.approve;
  const mayDeploy = question.scope === 'DEPLOY' || question.scope === 'APPROVE';
  return mayDeploy && scopes.deploy.length > 0 ? scopes.deploy : scopes.write;
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
  const changers = writers.filter((group) => !question.groups.readOnlyGroups?.includes(group));
  // Those who only approve read the request like others who do not change it.
  return question.scope === 'APPROVE' ? [...changers, ...approversOf(question.groups)] : changers;
}

function nameOf(question: Question): string {
  if (question.kind === 'request') return `${question.scope} on request '${question.requestId}'`;
  return { admin: 'ADMIN', globalRead: 'READ', readAll: 'READ on all requests' }[question.kind];
}

/**
 * Settings to whose writers a caller must belong, one after the other, to change the groups of a request. So no caller
 * takes a request from others, and, by groups, none hands one to groups they are not in.
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

/** Those who may approve a deploy of a request, in words. */
export function approversText(rules: AccessRules, groups: RequestGroups): string {
  if (!rules.enabled) return 'any caller';
  const named = groups.actionPermissions === undefined ? writersOf(groups) : approversOf(groups);
  if (named.length > 0) return `members of ${list(named)}`;
  const isOpen = groups.actionPermissions === undefined && rules.authMode !== 'GROUPS_SCOPES';
  return isOpen ? 'any user' : 'administrators';
}

/** Facts of a request by which a caller is asked only about those that concern them. */
export interface RelevanceFacts {
  group?: string;
  starred: boolean;
  /** Users who deployed it, and the one who changed it last as far as that was looked up. */
  actedBy: readonly (string | undefined)[];
}

/** True when a request concerns a caller. Everything concerns the built-in user. */
export function isRelevantFor(user: User, { group, starred, actedBy }: RelevanceFacts): boolean {
  if (!user.authenticated || starred) return true;
  if (group !== undefined && user.groups.includes(group)) return true;
  const names = [user.email, user.id, user.name].filter((name) => name !== undefined);
  return actedBy.some((by) => by !== undefined && names.includes(by));
}
