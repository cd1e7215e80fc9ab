import type { Request } from 'express';
import type { User } from '../../../core/authorization/index.js';
import type { AuthenticatorName } from '../../../platform/settings/auth-settings.js';

/** One way to identify the caller. */
export interface Authenticator {
  readonly name: AuthenticatorName;
  /** The user, or why this way identifies none. Never contains what the caller sent as proof. */
  authenticate(request: Request): Promise<User | string>;
}
