import { Inject, Injectable } from '@nestjs/common';
import type { Request } from 'express';
import type { User } from '../../../core/authorization/index.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import { OidcTokens } from '../oidc/oidc-tokens.service.js';
import { Tokens } from '../tokens/tokens.service.js';
import { VerificationService } from '../webhook/verification.service.js';
import type { Authenticator } from './authenticator.js';

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

/** The cookie of a page in a browser: JSON with a token in one of its members, worth what a bearer's token is worth. */
@Injectable()
export class CookieAuthenticator implements Authenticator {
  readonly name = 'COOKIE';

  constructor(
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
    if (!safeMethods.has(request.method) && !this.isOwnOrigin(request)) {
      return `a ${request.method} with cookie ${authCookieName} needs the Origin of this service`;
    }
    const token = tokenIn(value, authTokenKey);
    if (token === undefined) return `cookie ${authCookieName} is not JSON with a text in member '${authTokenKey}'`;
    return this.verify(token, wary);
  }

  /** Tries every source that a bearer's token may come from here. */
  private async verify(token: string, wary: boolean): Promise<User | string> {
    const own = await this.tokens.verify(token, wary);
    if (own) return own;
    const reasons = ['the token is unknown'];
    const others = [
      ...(this.oidc.configured ? [() => this.oidc.verify(token)] : []),
      ...(this.verification.configured ? [() => this.verification.verify(`Bearer ${token}`, wary)] : []),
    ];
    for (const other of others) {
      const answer = await other();
      if (typeof answer !== 'string') return answer;
      reasons.push(answer);
    }
    return reasons.join(', ');
  }

  private isOwnOrigin(request: Request): boolean {
    const origin = request.get('origin');
    const own = [`${request.protocol}://${request.get('host') ?? ''}`, this.settings.advertisedUrl];
    return origin !== undefined && own.some((url) => url !== undefined && originOf(url) === originOf(origin));
  }
}

/** Without the usual port. A text that is no URL stays as it is. */
function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : url;
}

function cookieOf(request: Request, name: string): string | undefined {
  for (const pair of (request.get('cookie') ?? '').split(';')) {
    const [key, ...value] = pair.split('=');
    if (key?.trim() === name && name !== '')
      return value
        .join('=')
        .trim()
        .replace(/^"(.*)"$/, '$1');
  }
  return undefined;
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
