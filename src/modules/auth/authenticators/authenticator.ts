import type { Request } from 'express';
import type { User } from '../../../core/authorization/index.js';
import type { AuthenticatorName } from '../../../platform/settings/auth-settings.js';

/** One way to identify the caller. */
export interface Authenticator {
  readonly name: AuthenticatorName;
  /**
   * The user, or why this way identifies none. Never contains what the caller sent as proof. `wary`: nothing that could be
   * guessed is tried, because too many tries from where the call comes have failed. What is known at once is told at once.
   */
  authenticate(request: Request, wary: boolean): User | string | Promise<User | string>;
}
