import type { Request } from 'express';
import type { User } from '../../../core/authorization/index.js';
import type { AuthenticatorName } from '../../../platform/settings/auth-settings.js';

/** One way to tell who calls. */
export interface Authenticator {
  readonly name: AuthenticatorName;
  /** The user, or why this way tells of nobody. Never contains what the caller sent as proof. */
  authenticate(request: Request): Promise<User | string>;
}

/** What follows the scheme in an Authorization header; undefined: it has another scheme. */
export function credentialOf(request: Request, scheme: string): string | undefined {
  const header = request.get('authorization') ?? '';
  const match = /^(\S+) +(\S.*)$/.exec(header.trim());
  return match?.[1]?.toLowerCase() === scheme.toLowerCase() ? match[2] : undefined;
}
