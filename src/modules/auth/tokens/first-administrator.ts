import type { AccessRules, User } from '../../../core/authorization/index.js';

/** Who lets others in: an administrator in every mode. */
export function firstAdministrator(rules: Pick<AccessRules, 'adminGroups' | 'scopes'>, name = 'admin'): User {
  return { id: name, name, groups: [...rules.adminGroups], scopes: [...rules.scopes.admin], authenticated: true };
}
