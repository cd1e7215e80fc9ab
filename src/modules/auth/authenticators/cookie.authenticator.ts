import { Inject, Injectable } from '@nestjs/common';
import type { Request } from 'express';
import type { User } from '../../../core/authorization/index.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import { cookieOf } from '../cookies.js';
import { isSession, Sessions } from '../sessions/sessions.service.js';
import { OidcTokens } from '../oidc/oidc-tokens.service.js';
import { Tokens } from '../tokens/tokens.service.js';
import { VerificationService } from '../webhook/verification.service.js';
import type { Authenticator } from './authenticator.js';
import { isOwnOrigin } from './own-origin.js';

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

/** The user of a token, and what vouches for it. */
export interface Proven {
  user: User;
  by: 'TOKEN' | 'OIDC' | 'WEBHOOK';
}

/** The cookie of a page in a browser: a session, or JSON with a token in one of its members, worth what a bearer's token is worth. */
@Injectable()
export class CookieAuthenticator implements Authenticator {
  readonly name = 'COOKIE';

  constructor(
    private readonly sessions: Sessions,
    private readonly tokens: Tokens,
    private readonly oidc: OidcTokens,
    private readonly verification: VerificationService,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  async authenticate(request: Request, wary: boolean): Promise<User | string> {
    const { authCookieName, authTokenKey } = this.settings.ui;
    const value = cookieOf(request, authCookieName);
    if (value === undefined) return `cookie ${authCookieName} is missing`;
    // A browser sends cookies along with the calls of any page; the origin says which page it was.
    if (!safeMethods.has(request.method) && !isOwnOrigin(request, this.settings)) {
      return `a ${request.method} with cookie ${authCookieName} needs the Origin of this service (behind a proxy: ui.baseUrl)`;
    }
    if (isSession(value)) return (await this.sessions.find(value)) ?? 'the session has ended';
    const token = tokenIn(value, authTokenKey);
    if (token === undefined) return `cookie ${authCookieName} is not JSON with a text in member '${authTokenKey}'`;
    const proven = await this.prove(token, wary);
    return typeof proven === 'string' ? proven : proven.user;
  }

  /** Tries every source that a bearer's token may come from here. */
  async prove(token: string, wary: boolean): Promise<Proven | string> {
    const own = await this.tokens.verify(token, wary);
    if (own) return { user: own, by: 'TOKEN' };
    const reasons = ['the token is unknown'];
    const others = [
      ...(this.oidc.configured ? [{ by: 'OIDC', ask: () => this.oidc.verify(token) } as const] : []),
      ...(this.verification.configured
        ? [{ by: 'WEBHOOK', ask: () => this.verification.verify(`Bearer ${token}`, wary) } as const]
        : []),
    ];
    for (const { by, ask } of others) {
      const user = await ask();
      if (typeof user !== 'string') return { user, by };
      reasons.push(user);
    }
    return reasons.join(', ');
  }
}

function tokenIn(value: string, member: string): string | undefined {
  try {
    const content: unknown = JSON.parse(decodeURIComponent(value));
    const token: unknown = (content as Record<string, unknown> | null)?.[member];
    return typeof token === 'string' && token !== '' ? token : undefined;
  } catch {
    return undefined;
  }
}
