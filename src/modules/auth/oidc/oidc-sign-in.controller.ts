import { Controller, Get, Inject, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { CookieOptions, Request, Response } from 'express';
import { SchedulerError } from '../../../platform/errors.js';
import { rootPathOf, rootUrlOf } from '../../../platform/http/context-path.js';
import { callbackPath } from '../../../platform/settings/auth-settings.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import type { CheckedRequest } from '../access/access.guard.js';
import { cookieOf } from '../cookies.js';
import { pathOf, setSessionCookie } from '../sessions/session-cookie.js';
import { Sessions } from '../sessions/sessions.service.js';
import { OidcSignIn, SignInFailure, type SignInProblem, type SignInSecrets } from './oidc-sign-in.service.js';

const patienceMillis = 600_000;

/** A browser goes to the provider and comes back. Nothing here is called by a program. */
@ApiExcludeController()
@Controller('api/auth/oidc')
export class OidcSignInController {
  constructor(
    private readonly provider: OidcSignIn,
    private readonly sessions: Sessions,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  @Get('sign-in')
  async leave(@Req() request: Request, @Res() response: Response): Promise<void> {
    this.requireOffered();
    const redirectUri = this.redirectUri(request);
    try {
      const { address, secrets } = await this.provider.begin(redirectUri);
      const value = Buffer.from(JSON.stringify(secrets)).toString('base64url');
      response.cookie(this.cookieName, value, { ...this.cookieOptions(redirectUri), maxAge: patienceMillis });
      response.redirect(address.href);
    } catch (cause) {
      this.backToPage(response, problemOf(cause));
    }
  }

  @Get('callback')
  async comeBack(@Req() request: CheckedRequest, @Res() response: Response): Promise<void> {
    this.requireOffered();
    const redirectUri = this.redirectUri(request);
    const secrets = secretsIn(cookieOf(request, this.cookieName));
    response.clearCookie(this.cookieName, this.cookieOptions(redirectUri));
    if (!secrets) return this.backToPage(response, 'expired');
    try {
      const answer = new URL(redirectUri);
      answer.search = new URL(request.url, redirectUri).search;
      const user = await this.provider.finish(answer, secrets);
      const session = await this.sessions.begin(user);
      request.caller = user;
      request.provenBy = 'OIDC';
      setSessionCookie(response, this.settings, session, redirectUri);
      this.backToPage(response);
    } catch (cause) {
      this.backToPage(response, problemOf(cause));
    }
  }

  private requireOffered(): void {
    if (!this.provider.isOffered)
      throw new SchedulerError('NOT_FOUND', 'Nobody signs in with a provider here: auth.oidc.clientId is not set');
  }

  /** The page tells others of this browser, and says what went wrong. */
  private backToPage(response: Response, problem?: SignInProblem): void {
    const query = problem === undefined ? '' : `?problem=${problem}`;
    response.redirect(`${rootPathOf(this.settings)}/${this.settings.ui.path}/signed-in${query}`);
  }

  private redirectUri(request: Request): string {
    const { redirectUri } = this.settings.auth.oidc;
    return redirectUri ?? `${rootUrlOf(this.settings, request)}${callbackPath.slice(1)}`;
  }

  private get cookieName(): string {
    return `${this.settings.ui.authCookieName}-sign-in`;
  }

  /** Sent along when the provider sends the browser back, unlike the cookie of a session. */
  private cookieOptions(redirectUri: string): CookieOptions {
    const path = `${pathOf(this.settings).replace(/\/$/, '')}/api/auth/oidc`;
    return { httpOnly: true, sameSite: 'lax', secure: redirectUri.startsWith('https:'), path };
  }
}

function problemOf(cause: unknown): SignInProblem {
  if (cause instanceof SignInFailure) return cause.problem;
  if (cause instanceof SchedulerError && cause.code === 'INVALID_PARAMETER') return 'refused';
  throw cause;
}

function secretsIn(value: string | undefined): SignInSecrets | undefined {
  try {
    const { state, nonce, codeVerifier } = JSON.parse(
      Buffer.from(value ?? '', 'base64url').toString(),
    ) as Partial<SignInSecrets>;
    const given = [state, nonce, codeVerifier];
    return given.every((text) => typeof text === 'string' && text !== '')
      ? ({ state, nonce, codeVerifier } as SignInSecrets)
      : undefined;
  } catch {
    return undefined;
  }
}
