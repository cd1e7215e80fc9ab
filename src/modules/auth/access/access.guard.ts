import { Inject, Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import type { NextFunction, Request, Response } from 'express';
import { builtInUser, type TimeRange, type User } from '../../../core/authorization/index.js';
import { andThen } from '../../../platform/async.js';
import { grant } from '../../../platform/database/permits.js';
import { isGuarded, isReadiness } from '../../../platform/http/caller.js';
import { callerIsKnown } from '../../../platform/http/admission.js';
import type { AuthenticatorName } from '../../../platform/settings/auth-settings.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import { Authentication } from '../authenticators/authentication.service.js';
import { Access } from './access.service.js';
import { needOf } from './endpoint-needs.js';
import { globalRead, type Need } from './needs.js';
import { NeedsCheck, type AllowedCall } from './needs-check.service.js';

/** A call that was let through, with its caller. */
export interface CheckedRequest extends Request {
  caller?: User;
  /** Authenticator that identified the caller. */
  provenBy?: AuthenticatorName;
  past?: TimeRange;
  maySeeState?: boolean;
  maySeeSecrets?: boolean;
  need?: Need;
  allowed?: AllowedCall;
}

/**
 * Before every operation of the API: who calls, and may they? What lies outside of /api (probes, pages, documents) is
 * open, except for the metrics, which show the same figures as the API. Readiness is told to all, and its reasons to those who
 * may read the state.
 */
@Injectable()
export class AccessGuard implements CanActivate {
  constructor(
    private readonly authentication: Authentication,
    private readonly needs: NeedsCheck,
    private readonly access: Access,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const request = context.switchToHttp().getRequest<CheckedRequest>();
    const route = (request.route as { path: string }).path;
    if (isReadiness(route)) return this.lookAtCaller(request);
    if (!isGuarded(route)) return true;
    const need = this.needNow(needOf(request.method, route));
    request.need = need;
    request.maySeeSecrets = !this.access.enabled;
    if (need.kind === 'nothing') return true;
    return andThen(this.authentication.identify(request), (found) => {
      request.caller = found.user ?? builtInUser;
      request.provenBy = found.way;
      if (!this.access.enabled) return true;
      return this.check(
        request,
        need,
        found.user ?? this.authentication.refuse(found, context.switchToHttp().getResponse<Response>()),
      );
    });
  }

  /**
   * Middleware before bodies: what a stranger sends costs next to nothing. Nearly every call of theirs is refused by the guard, which
   * needs nothing but headers for that; what is open to all has a short body.
   */
  readonly beforeBody = async (request: Request, response: Response, next: NextFunction): Promise<void> => {
    if (!this.access.enabled || !isGuarded(request.path) || hasShortBody(request)) return next();
    try {
      const found = await this.authentication.identify(request);
      // The rest of the body of a stranger is not waited for.
      if (!found.user) this.authentication.refuse(found, response.set('Connection', 'close'));
    } catch (cause) {
      return next(cause);
    }
    next();
  };

  /** Middleware before bodies are parsed: one who sends long ones, which takes a while, waits for its turn before that. */
  readonly beforeParsing = async (request: Request, _response: Response, next: NextFunction): Promise<void> => {
    if (!this.access.enabled || !isGuarded(request.path) || hasShortBody(request)) return next();
    try {
      const { user } = await this.authentication.identify(request);
      if (user) await this.turnOf(request, user, true);
    } catch (cause) {
      return next(cause);
    }
    next();
  };

  /**
   * Sets if the caller may see the state of the cluster. Whoever calls is answered, also while the database that knows
   * the callers is away.
   */
  private async lookAtCaller(request: CheckedRequest): Promise<boolean> {
    request.maySeeState = !this.access.enabled;
    if (request.maySeeState) return true;
    try {
      const { user } = await this.authentication.identify(request);
      if (user) await this.needs.check(globalRead, user, { params: {}, query: {}, body: undefined });
      request.maySeeState = user !== undefined;
    } catch {
      request.maySeeState = false;
    }
    return true;
  }

  private check(request: CheckedRequest, need: Need, user: User): boolean | Promise<boolean> {
    return andThen(this.turnOf(request, user), () => this.decide(request, need, user));
  }

  /** Resolves when it is the turn of this call among those of its caller. */
  private turnOf(request: Request, user: User, hasLongBody = false): void | Promise<void> {
    return callerIsKnown(request, {
      id: JSON.stringify([user.issuer, user.id]),
      isAdmin: this.access.isAdmin(user),
      hasLongBody,
    });
  }

  private decide(request: CheckedRequest, need: Need, user: User): boolean | Promise<boolean> {
    const { params, query, method } = request;
    return andThen(this.needs.check(need, user, { params, query, body: request.body as unknown }), (allowed) => {
      request.allowed = allowed;
      request.past = allowed.past;
      request.maySeeSecrets = allowed.writes;
      if (allowed.permit && method !== 'GET' && method !== 'HEAD') grant(allowed.permit);
      return true;
    });
  }

  private needNow(need: Need): Need {
    if (need.kind !== 'openable') return need;
    return this.settings.auth.openAreas.includes(need.area) ? { kind: 'nothing' } : need.otherwise;
  }
}

/** Bytes of a body that is read whoever sends it. */
const shortBytes = 8_192;

/** Neither long, nor of unknown length, nor packed. */
function hasShortBody({ headers }: Request): boolean {
  const isPacked = (headers['content-encoding'] ?? 'identity').trim().toLowerCase() !== 'identity';
  const length = Number(headers['content-length'] ?? 0);
  return headers['transfer-encoding'] === undefined && (length === 0 || (!isPacked && length <= shortBytes));
}
