import type { AccessRules, AccessScope, Question, RequestGroups } from './access-rules.js';
import type { User } from './user.js';

export const rules = (changes: Partial<AccessRules> = {}): AccessRules => ({
  enabled: true,
  authMode: 'GROUPS',
  adminGroups: ['admins'],
  requiredGroups: [],
  jitaGroups: ['jita'],
  defaultReadOnlyGroups: ['defaultReaders'],
  globalReadOnlyGroups: ['auditors'],
  globalReadWriteGroups: ['operators'],
  scopes: { admin: ['ADMIN'], write: ['WRITE'], read: ['READ'], deploy: [] },
  ...changes,
});

export const user = (groups: string[] = [], scopes: string[] = [], changes: Partial<User> = {}): User => ({
  id: 'ann',
  groups,
  scopes,
  authenticated: true,
  ...changes,
});

/** A request of team `web`, changed by `editors` too and read by `readers`. */
export const webGroups: RequestGroups = { group: 'web', readWriteGroups: ['editors'], readOnlyGroups: ['readers'] };

export const on = (scope: AccessScope, groups: RequestGroups = webGroups): Question => ({
  kind: 'request',
  scope,
  requestId: 'shop',
  groups,
});
