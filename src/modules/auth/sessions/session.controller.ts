import { Controller, Delete, HttpCode, Inject, Post, Req, Res } from '@nestjs/common';
import {
  ApiConflictResponse,
  ApiForbiddenResponse,
  ApiTags,
  ApiTooManyRequestsResponse,
  ApiUnauthorizedResponse,
} from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { SchedulerError } from '../../../platform/errors.js';
import { ErrorDto } from '../../../platform/http/error.dto.js';
import { Repeatable } from '../../../platform/idempotency/repeatable.js';
import { Body } from '../../../platform/http/inputs.js';
import { Since } from '../../../platform/http/since.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import type { CheckedRequest } from '../access/access.guard.js';
import { NewSessionDto, UserHolderDto } from '../auth.dto.js';
import { AuthService } from '../auth.service.js';
import { Authentication } from '../authenticators/authentication.service.js';
import { isOwnOrigin } from '../authenticators/own-origin.js';
import { cookieOf } from '../cookies.js';
import { clearSessionCookie, setSessionCookie } from './session-cookie.js';
import { Sessions } from './sessions.service.js';

/** Signing in and out with a browser. */
@ApiTags('Auth')
@Controller('api/auth/session')
export class SessionController {
  constructor(
    private readonly auth: AuthService,
    private readonly authentication: Authentication,
    private readonly sessions: Sessions,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /**
   * Signs a browser in with a token: the answer sets the cookie `ui.authCookieName`, which no script can read. The session ends
   * after `auth.sessionHours`, and not after the token. For pages of this service: the call needs its Origin.
   */
  @Post()
  @Repeatable()
  @HttpCode(200)
  @Since('muster')
  @ApiUnauthorizedResponse({ type: ErrorDto })
  @ApiForbiddenResponse({ type: ErrorDto })
  @ApiConflictResponse({ type: ErrorDto })
  @ApiTooManyRequestsResponse({ type: ErrorDto })
  async signIn(
    @Body() { token }: NewSessionDto,
    @Req() request: CheckedRequest,
    @Res({ passthrough: true }) response: Response,
  ): Promise<UserHolderDto> {
    const origin = this.originOf(request);
    if (!this.authentication.hasSessions) {
      const message = `Nobody signs in here: auth.enabled must be true, and COOKIE one of auth.authenticators`;
      throw new SchedulerError('SESSIONS_NOT_OFFERED', message);
    }
    const found = await this.authentication.prove(token, request);
    if ('failures' in found) this.authentication.refuse(found, response);
    const { user, by } = found;
    if (by === 'WEBHOOK') {
      const message = 'This token is judged anew with each call, by another service, and begins no session';
      throw new SchedulerError('SESSIONS_NOT_OFFERED', message);
    }
    request.caller = user;
    request.provenBy = by;
    const session = await this.sessions.begin(user, by === 'TOKEN' ? token : undefined);
    setSessionCookie(response, this.settings, session, origin);
    return this.auth.told(user, session.expiresAt);
  }

  /** Signs the browser out that makes the call. No effect where it is not signed in. Needs the Origin of this service. */
  @Delete()
  @Repeatable()
  @Since('muster')
  @ApiForbiddenResponse({ type: ErrorDto })
  async signOut(@Req() request: CheckedRequest, @Res({ passthrough: true }) response: Response): Promise<void> {
    const origin = this.originOf(request);
    const text = cookieOf(request, this.settings.ui.authCookieName);
    const user = text === undefined ? undefined : await this.sessions.find(text);
    if (user) {
      request.caller = user;
      request.provenBy = 'COOKIE';
      await this.sessions.end(text!);
    }
    if (this.settings.ui.authCookieName !== '') clearSessionCookie(response, this.settings, origin);
  }

  /** A page of another origin must neither sign anybody in as somebody else nor out. */
  private originOf(request: Request): string {
    const origin = request.get('origin');
    if (origin !== undefined && isOwnOrigin(request, this.settings)) return origin;
    const message = `A ${request.method} of a session needs the Origin of this service, which browsers send for its pages`;
    throw new SchedulerError('FOREIGN_ORIGIN', message);
  }
}
