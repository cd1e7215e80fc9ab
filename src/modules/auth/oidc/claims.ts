import type { User } from '../../../core/authorization/index.js';

interface ClaimNames {
  userClaim: string;
  nameClaim: string;
  emailClaim: string;
  groupsClaim: string;
  scopesClaim: string;
}

export type Claims = Readonly<Record<string, unknown>>;

/** undefined: the claims name no user. */
export function userFromClaims(claims: Claims, names: ClaimNames): User | undefined {
  const id = textOf(claimOf(claims, names.userClaim));
  if (id === undefined) return undefined;
  return {
    id,
    name: textOf(claimOf(claims, names.nameClaim)),
    email: textOf(claimOf(claims, names.emailClaim)),
    groups: textsOf(claimOf(claims, names.groupsClaim)),
    scopes: textsOf(claimOf(claims, names.scopesClaim)),
    authenticated: true,
  };
}

/** A claim with exactly this name (some are URLs with dots), else where the dots lead. */
function claimOf(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  let value: unknown = claims;
  for (const part of name.split('.')) {
    if (value === null || typeof value !== 'object' || !Object.hasOwn(value, part)) return undefined;
    value = (value as Claims)[part];
  }
  return value;
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);

/** A list, or a text with blanks between its words, as scopes are written. */
function textsOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.filter((entry): entry is string => typeof entry === 'string');
  return typeof value === 'string' ? value.split(' ').filter((word) => word !== '') : [];
}
