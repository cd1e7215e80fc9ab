import { Injectable } from '@nestjs/common';
import type { Request } from 'express';
import type { User } from '../../../core/authorization/index.js';
import { andThen } from '../../../platform/async.js';
import { OidcTokens } from '../oidc/oidc-tokens.service.js';
import { Tokens } from '../tokens/tokens.service.js';
import { VerificationService } from '../webhook/verification.service.js';
import type { Authenticator } from './authenticator.js';

/** `Authorization: Token <token>`, with a token made here. */
@Injectable()
export class TokenAuthenticator implements Authenticator {
  readonly name = 'TOKEN';

  constructor(private readonly tokens: Tokens) {}

  authenticate(request: Request, wary: boolean): User | string | Promise<User | string> {
    const token = credentialOf(request, 'Token');
    if (token === undefined) return "header Authorization has no scheme 'Token'";
    return andThen(this.tokens.verify(token, wary), (user) => user ?? 'the token is unknown');
  }
}

/** `Authorization: Bearer <token>`, with a token of an OpenID Connect provider. */
@Injectable()
export class OidcAuthenticator implements Authenticator {
  readonly name = 'OIDC';

  constructor(private readonly tokens: OidcTokens) {}

  async authenticate(request: Request): Promise<User | string> {
    const token = credentialOf(request, 'Bearer');
    return token === undefined ? "header Authorization has no scheme 'Bearer'" : this.tokens.verify(token);
  }
}

/** The whole Authorization header, judged by another service. */
@Injectable()
export class WebhookAuthenticator implements Authenticator {
  readonly name = 'WEBHOOK';

  constructor(private readonly verification: VerificationService) {}

  async authenticate(request: Request, wary: boolean): Promise<User | string> {
    const header = request.get('authorization');
    return header ? this.verification.verify(header, wary) : 'header Authorization is missing';
  }
}

/** The text after the scheme in an Authorization header; undefined: it has another scheme. */
function credentialOf(request: Request, scheme: string): string | undefined {
  const header = request.get('authorization') ?? '';
  const match = /^(\S+) +(\S.*)$/.exec(header.trim());
  return match?.[1]?.toLowerCase() === scheme.toLowerCase() ? match[2] : undefined;
}
