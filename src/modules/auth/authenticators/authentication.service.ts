import { Inject, Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import type { Request, Response } from 'express';
import type { User } from '../../../core/authorization/index.js';
import { authenticatorsOf, type AuthenticatorName } from '../../../platform/settings/auth-settings.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import { andThen } from '../../../platform/async.js';
import { Clock } from '../../../platform/clock.js';
import { SchedulerError } from '../../../platform/errors.js';
import { callerAddress } from '../../../platform/http/addresses-of-call.js';
import { ProcessMessages } from '../../../platform/process/process-messages.js';
import { cookieOf } from '../cookies.js';
import { isSession } from '../sessions/sessions.service.js';
import type { Authenticator } from './authenticator.js';
import { CookieAuthenticator, type Proven } from './cookie.authenticator.js';
import { digestOf, FailedAttempts } from './failed-attempts.js';
import { OidcAuthenticator, TokenAuthenticator, WebhookAuthenticator } from './header.authenticators.js';
import { HeaderPassthrough, QueryParameterPassthrough } from './passthrough.authenticators.js';

export interface Identification {
  user?: User;
  /** Authenticator that identified the caller. */
  way?: AuthenticatorName;
  /** Seconds after which a caller from there is looked at as usual again; absent: now. */
  retryAfterSeconds?: number;
  /** Reason for which each authenticator that was tried identified no user. */
  failures: string[];
}

/** Identifies no caller. */
const disabled: Authenticator = {
  name: 'DISABLED',
  authenticate: () => 'this way knows no user',
};

/** Tries the configured ways to identify the caller, one after the other. */
@Injectable()
export class Authentication implements OnModuleInit {
  private readonly log = new Logger(Authentication.name);
  private readonly ways: readonly Authenticator[];
  private readonly failed: FailedAttempts;
  private readonly identified = new WeakMap<Request, Identification | Promise<Identification>>();

  constructor(
    private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Settings,
    private readonly messages: ProcessMessages,
    query: QueryParameterPassthrough,
    header: HeaderPassthrough,
    webhook: WebhookAuthenticator,
    token: TokenAuthenticator,
    private readonly cookie: CookieAuthenticator,
    oidc: OidcAuthenticator,
  ) {
    const known: Record<AuthenticatorName, Authenticator> = {
      QUERYPARAM_PASSTHROUGH: query,
      HEADER_PASSTHROUGH: header,
      WEBHOOK: webhook,
      TOKEN: token,
      COOKIE: cookie,
      OIDC: oidc,
      DISABLED: disabled,
    };
    this.ways = authenticatorsOf(settings.auth).map((name) => known[name]);
    this.failed = new FailedAttempts(settings.auth.failuresBeforeDelay);
    messages.subscribe('wrong-proof', ({ address, digest }) => this.failed.note(address, digest, clock.now()));
  }

  /** The rule in force belongs in the log: whether all callers may see a request without groups depends on it. */
  onModuleInit(): void {
    const { enabled, authMode, adminGroups } = this.settings.auth;
    if (!enabled) return this.log.log('Authentication is off: every caller may do everything');
    const ways = this.ways.map(({ name }) => name).join(', ');
    this.log.log(`Authentication is on (${ways}), mode ${authMode}: ${rules[authMode]}`);
    if (authMode !== 'GROUPS_SCOPES' && adminGroups.length === 0) {
      this.log.warn('auth.adminGroups is empty: every authenticated caller may do the work of administrators');
    }
  }

  /** For the header WWW-Authenticate. */
  get challenge(): string {
    const names = new Set(this.ways.map(({ name }) => name));
    const token = names.has('TOKEN');
    const bearer = names.has('OIDC') || names.has('WEBHOOK') || (names.has('COOKIE') && !token);
    return [...(bearer ? ['Bearer'] : []), ...(token || !bearer ? ['Token'] : [])].join(', ');
  }

  /** Credentials that a caller who was refused may send; empty where only a proxy can vouch for callers. */
  get advice(): string {
    const names = new Set(this.ways.map(({ name }) => name));
    const headers = [
      ...(names.has('TOKEN') ? ["'Authorization: Token <token>'"] : []),
      ...(names.has('OIDC') ? ["'Authorization: Bearer <token of the provider>'"] : []),
    ];
    if (headers.length === 0) return '';
    const first = names.has('TOKEN') ? "; 'muster token --bootstrap' makes the first token" : '';
    return `. Send the header ${headers.join(' or ')}${first}`;
  }

  /** Whether people sign in with a browser, whose cookie then says who calls. */
  get hasSessions(): boolean {
    const { auth, ui } = this.settings;
    return auth.enabled && this.ways.includes(this.cookie) && ui.authCookieName !== '';
  }

  /** The user of a token that a call brings in its body: a wrong one counts as it does in a header. */
  async prove(token: string, request: Request): Promise<Proven | Identification> {
    const waitSeconds = this.failed.waitSeconds(callerAddress(request), this.clock.now());
    const found = await this.cookie.prove(token, waitSeconds > 0);
    return typeof found === 'string' ? this.unknown([found], token, request, waitSeconds) : found;
  }

  /** Answers a call of which it was not found out who makes it. */
  refuse({ failures, retryAfterSeconds }: Identification, response: Response): never {
    if (retryAfterSeconds !== undefined) {
      response.set('Retry-After', String(retryAfterSeconds));
      const message = `Too many calls from this address did not prove who calls; wait ${retryAfterSeconds} seconds`;
      throw new SchedulerError('TOO_MANY_FAILURES', message);
    }
    response.set('WWW-Authenticate', this.challenge);
    const message = `The caller is not authenticated: ${failures.join('; ')}${this.advice}`;
    throw new SchedulerError('UNAUTHENTICATED', message);
  }

  /** Once for each call: a failed attempt counts once. */
  identify(request: Request): Identification | Promise<Identification> {
    const known = this.identified.get(request);
    if (known) return known;
    const waitSeconds = this.failed.waitSeconds(callerAddress(request), this.clock.now());
    const found = this.try(this.ways, [], request, waitSeconds);
    this.identified.set(request, found);
    return found;
  }

  /** One way after the other. */
  private try(
    [way, ...others]: readonly Authenticator[],
    failures: string[],
    request: Request,
    waitSeconds: number,
  ): Identification | Promise<Identification> {
    if (!way) return this.unknown(failures, this.proofIn(request), request, waitSeconds);
    return andThen(way.authenticate(request, waitSeconds > 0), (found) => {
      if (typeof found !== 'string') return { user: found, way: way.name, failures };
      failures.push(`${way.name}: ${found}`);
      return this.try(others, failures, request, waitSeconds);
    });
  }

  private unknown(
    failures: string[],
    proof: string | undefined,
    request: Request,
    waitSeconds: number,
  ): Identification {
    // A call that proves nothing tries nothing.
    if (proof === undefined || !this.settings.auth.enabled) return { failures };
    if (waitSeconds > 0) return { failures, retryAfterSeconds: waitSeconds };
    const address = callerAddress(request);
    const digest = digestOf(proof);
    this.failed.note(address, digest, this.clock.now());
    this.messages.publish('wrong-proof', { address, digest });
    return { failures };
  }

  /** Identifies the caller of a call that goes on once more. A proof that has ended is no try to guess one. */
  async identifyAgain(request: Request): Promise<User | undefined> {
    for (const way of this.ways) {
      const found = await way.authenticate(request, false);
      if (typeof found !== 'string') return found;
    }
    return undefined;
  }

  /** Credentials that the caller sent, as far as they could be guessed. */
  private proofIn(request: Request): string | undefined {
    const { authorization } = request.headers;
    if (authorization || !this.ways.includes(this.cookie)) return authorization;
    const value = cookieOf(request, this.settings.ui.authCookieName);
    return value === undefined || isSession(value) ? undefined : value;
  }
}

const rules = {
  GROUPS: 'a request that names no group is open to all who are authenticated',
  GROUPS_LOG_SCOPES: 'as GROUPS, and what scopes would decide otherwise is logged',
  GROUPS_SCOPES: 'a request that names no group is open to administrators and members of global groups only',
} as const;
