import type { UserAction } from '../model/enums.js';

export const authModes = ['GROUPS', 'GROUPS_SCOPES', 'GROUPS_LOG_SCOPES'] as const;
type AuthMode = (typeof authModes)[number];

export const accessScopes = ['READ', 'WRITE', 'DEPLOY', 'APPROVE', 'ADMIN'] as const;
/** Kinds of access that a call needs to its request. */
export type AccessScope = (typeof accessScopes)[number];

/** The configured rights of users and groups. */
export interface AccessRules {
  enabled: boolean;
  authMode: AuthMode;
  adminGroups: readonly string[];
  requiredGroups: readonly string[];
  jitaGroups: readonly string[];
  defaultReadOnlyGroups: readonly string[];
  globalReadOnlyGroups: readonly string[];
  globalReadWriteGroups: readonly string[];
  scopes: Readonly<Record<'admin' | 'write' | 'read' | 'deploy' | 'approve', readonly string[]>>;
}

/** The settings of a request that say who may do what to it. */
export interface RequestGroups {
  group?: string;
  readWriteGroups?: readonly string[];
  readOnlyGroups?: readonly string[];
  /** By group: the actions it may take. */
  actionPermissions?: Readonly<Record<string, readonly UserAction[]>>;
}

export interface RequestQuestion {
  kind: 'request';
  scope: AccessScope;
  requestId: string;
  groups: RequestGroups;
  /** The action that a request may restrict to some of its groups. */
  action?: UserAction;
}

/** A question about the rights of a caller. */
export type Question =
  | RequestQuestion
  /** Calls that concern the whole cluster, such as switching actions off. */
  | { kind: 'admin' }
  /** Records that every caller with any right to read may read, such as the machines. */
  | { kind: 'globalRead' }
  /** Reads that go over all requests at once. */
  | { kind: 'readAll' };

export interface AccessVerdict {
  allowed: boolean;
  /** The reason in words for the caller. A permission has one only when it is worth reporting. */
  reason?: string;
}

export const allow: AccessVerdict = { allowed: true };
export const refuse = (reason: string): AccessVerdict => ({ allowed: false, reason });

export const writersOf = ({ group, readWriteGroups = [] }: RequestGroups): string[] => [
  ...(group === undefined ? [] : [group]),
  ...readWriteGroups,
];

/** Groups that a request lets approve its deploys, whether they may change it or not. */
export const approversOf = ({ actionPermissions = {} }: RequestGroups): string[] =>
  Object.keys(actionPermissions).filter((group) => actionPermissions[group]!.includes('APPROVE'));

export const readersOf = ({ readOnlyGroups }: RequestGroups, rules: AccessRules): readonly string[] =>
  readOnlyGroups ?? rules.defaultReadOnlyGroups;

export const list = (names: readonly string[]): string =>
  names.length === 0 ? 'none' : [...new Set(names)].toSorted().join(', ');

/** The caller, as an authenticator identified them. */
export interface User {
  /** Settings are kept under it, and messages name it. */
  id: string;
  name?: string;
  email?: string;
  groups: readonly string[];
  /** Only asked for in the modes that know scopes. */
  scopes: readonly string[];
  /** false only for the built-in user, who stands for no person. */
  authenticated: boolean;
  /** The authority that vouches for the id: one id of two issuers is two users. Absent: this service. */
  issuer?: string;
  /** Epoch milliseconds at which the proof of who they are ends. Absent: that is not known. */
  provenUntil?: number;
  /** What this service keeps and they proved it with: the id of a token, or the digest of a session. Absent: something else. */
  proof?: { kind: 'TOKEN' | 'SESSION'; id: string };
}

/** All callers who have not said who they are. */
export const builtInUser: User = { id: 'scheduler', groups: [], scopes: [], authenticated: false };

export const nameOf = ({ name, id }: Pick<User, 'id' | 'name'>): string => name ?? id;

export const overlaps = (some: readonly string[], others: readonly string[]): boolean =>
  some.some((one) => others.includes(one));
