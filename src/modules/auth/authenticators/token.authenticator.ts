import { Injectable } from '@nestjs/common';
import type { Request } from 'express';
import type { User } from '../../../core/authorization/index.js';
import { Tokens } from '../tokens/tokens.service.js';
import { credentialOf, type Authenticator } from './authenticator.js';

/** `Authorization: Token <token>`, with a token made here. */
@Injectable()
export class TokenAuthenticator implements Authenticator {
  readonly name = 'TOKEN';

  constructor(private readonly tokens: Tokens) {}

  async authenticate(request: Request): Promise<User | string> {
    const token = credentialOf(request, 'Token');
    if (token === undefined) return "header Authorization has no scheme 'Token'";
    return (await this.tokens.verify(token)) ?? 'the token is unknown';
  }
}
