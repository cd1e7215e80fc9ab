import { Inject, Injectable } from '@nestjs/common';
import { createRemoteJWKSet, errors, jwtVerify, type JWTPayload, type JWTVerifyGetKey } from 'jose';
import type { User } from '../../../core/authorization/index.js';
import { Clock } from '../../../platform/clock.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import { userFromClaims } from './claims.js';

/** Only signatures that the provider alone can make; a signature with a shared secret could be made by any of its holders. */
const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];
const clockToleranceSeconds = 30;
/**
 * Types in the header of a token that are accepted. Others, such as logout+jwt, prove something else than who calls.
 */
const types = new Set(['jwt', 'at+jwt']);
/** After keys were asked for, a key that is not among them has them asked for again only after this time. */
const keysCooldownMillis = 5_000;

/** Verifies tokens of the OpenID Connect provider that the settings name. */
@Injectable()
export class OidcTokens {
  private keys: Promise<JWTVerifyGetKey> | undefined;

  constructor(
    private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  get configured(): boolean {
    const { issuer, audience } = this.settings.auth.oidc;
    return issuer !== undefined && audience !== undefined;
  }

  /** The user, or why the token identifies none. */
  async verify(token: string): Promise<User | string> {
    const { oidc } = this.settings.auth;
    const now = this.clock.now();
    let payload: JWTPayload;
    try {
      const { payload: claims, protectedHeader } = await jwtVerify(token, await this.signingKeys(), {
        issuer: oidc.issuer,
        audience: oidc.audience,
        algorithms,
        requiredClaims: ['exp'],
        clockTolerance: clockToleranceSeconds,
        currentDate: new Date(now),
      });
      if (!isOfKnownType(protectedHeader.typ))
        return `the token is refused: its typ is none of ${[...types].join(', ')}`;
      if ((claims.iat ?? 0) * 1_000 > now + clockToleranceSeconds * 1_000)
        return 'the token is refused: it was issued in the future';
      payload = claims;
    } catch (cause) {
      // The message repeats nothing of the token itself.
      return cause instanceof errors.JOSEError ? `the token is refused: ${cause.code}` : `${(cause as Error).message}`;
    }
    const user = userFromClaims(payload, oidc);
    if (!user) return `the token has no claim ${oidc.userClaim}`;
    return { ...user, issuer: oidc.issuer, provenUntil: payload.exp! * 1_000 };
  }

  /** Asks for the keys once; again after a failure. */
  private signingKeys(): Promise<JWTVerifyGetKey> {
    this.keys ??= this.discover().catch((cause: unknown) => {
      this.keys = undefined;
      throw new Error(`the provider of tokens cannot be asked for its keys`, { cause });
    });
    return this.keys;
  }

  private async discover(): Promise<JWTVerifyGetKey> {
    const { issuer, timeoutMillis, keysMaxAgeMillis } = this.settings.auth.oidc;
    const place = `${issuer!.replace(/\/$/, '')}/.well-known/openid-configuration`;
    const answer = await fetch(place, { signal: AbortSignal.timeout(timeoutMillis), redirect: 'error' });
    if (!answer.ok) throw new Error(`${place} answered ${answer.status}`);
    const document = (await answer.json()) as { issuer?: unknown; jwks_uri?: unknown };
    if (document.issuer !== issuer || typeof document.jwks_uri !== 'string') {
      throw new Error(`${place} is the document of '${String(document.issuer)}', not of '${issuer}'`);
    }
    return createRemoteJWKSet(new URL(document.jwks_uri), {
      timeoutDuration: timeoutMillis,
      cacheMaxAge: keysMaxAgeMillis,
      cooldownDuration: Math.min(keysCooldownMillis, keysMaxAgeMillis),
    });
  }
}

/** Providers write it in any letters, with `application/` or without, or not at all. */
const isOfKnownType = (type: unknown): boolean =>
  type === undefined || (typeof type === 'string' && types.has(type.toLowerCase().replace(/^application\//, '')));
