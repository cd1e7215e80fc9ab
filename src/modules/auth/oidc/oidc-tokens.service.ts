import { Inject, Injectable } from '@nestjs/common';
import { createRemoteJWKSet, errors, jwtVerify, type JWTPayload, type JWTVerifyGetKey } from 'jose';
import type { User } from '../../../core/authorization/index.js';
import { Clock } from '../../../platform/clock.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import { userFromClaims } from './user-from-claims.js';

/** Only signatures that the provider alone can make; what is signed with a shared secret could be anybody's. */
const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];
const clockToleranceSeconds = 30;

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

  /** The user, or why the token tells of none. */
  async verify(token: string): Promise<User | string> {
    const { oidc } = this.settings.auth;
    let payload: JWTPayload;
    try {
      ({ payload } = await jwtVerify(token, await this.signingKeys(), {
        issuer: oidc.issuer,
        audience: oidc.audience,
        algorithms,
        requiredClaims: ['exp'],
        clockTolerance: clockToleranceSeconds,
        currentDate: new Date(this.clock.now()),
      }));
    } catch (cause) {
      // Of the token itself nothing is repeated.
      return cause instanceof errors.JOSEError ? `the token is refused: ${cause.code}` : `${(cause as Error).message}`;
    }
    return userFromClaims(payload, oidc) ?? `the token has no claim ${oidc.userClaim}`;
  }

  /** Asked for once; again after a failure. */
  private signingKeys(): Promise<JWTVerifyGetKey> {
    this.keys ??= this.discover().catch((cause: unknown) => {
      this.keys = undefined;
      throw new Error(`the provider of tokens cannot be asked for its keys`, { cause });
    });
    return this.keys;
  }

  private async discover(): Promise<JWTVerifyGetKey> {
    const { issuer, timeoutMillis } = this.settings.auth.oidc;
    const place = `${issuer!.replace(/\/$/, '')}/.well-known/openid-configuration`;
    const answer = await fetch(place, { signal: AbortSignal.timeout(timeoutMillis), redirect: 'error' });
    if (!answer.ok) throw new Error(`${place} answered ${answer.status}`);
    const document = (await answer.json()) as { issuer?: unknown; jwks_uri?: unknown };
    if (document.issuer !== issuer || typeof document.jwks_uri !== 'string') {
      throw new Error(`${place} is the document of '${String(document.issuer)}', not of '${issuer}'`);
    }
    return createRemoteJWKSet(new URL(document.jwks_uri), { timeoutDuration: timeoutMillis });
  }
}
