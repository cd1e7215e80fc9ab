import { Injectable } from '@nestjs/common';
import type { Request } from 'express';
import type { User } from '../../../core/authorization/index.js';
import { OidcTokens } from '../oidc/oidc-tokens.service.js';
import { credentialOf, type Authenticator } from './authenticator.js';

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
