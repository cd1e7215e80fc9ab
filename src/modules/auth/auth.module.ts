import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { RequestStoreModule } from '../requests/request-store.module.js';
import { UserStoreModule } from '../users/user-store.module.js';
import { AccessModule } from './access.module.js';
import { AccessGuard } from './access/access.guard.js';
import { NeedsCheck } from './access/needs-check.service.js';
import { ReadableAnswers } from './access/readable-answers.interceptor.js';
import { AuthController } from './auth.controller.js';
import { AuthService } from './auth.service.js';
import { Authentication } from './authenticators/authentication.service.js';
import { CookieAuthenticator } from './authenticators/cookie.authenticator.js';
import { OidcAuthenticator } from './authenticators/oidc.authenticator.js';
import { HeaderPassthrough, QueryParameterPassthrough } from './authenticators/passthrough.authenticators.js';
import { TokenAuthenticator } from './authenticators/token.authenticator.js';
import { WebhookAuthenticator } from './authenticators/webhook.authenticator.js';
import { DirectoryModule } from './directory/directory.module.js';
import { OidcTokens } from './oidc/oidc-tokens.service.js';
import { Tokens } from './tokens/tokens.service.js';
import { TokenStore } from './tokens/token-store.service.js';
import { VerificationService } from './webhook/verification.service.js';

/** Who calls, and may they: before every operation of the API. */
@Module({
  imports: [AccessModule, DirectoryModule, RequestStoreModule, UserStoreModule],
  controllers: [AuthController],
  providers: [
    { provide: APP_GUARD, useClass: AccessGuard },
    NeedsCheck,
    ReadableAnswers,
    AuthService,
    Authentication,
    QueryParameterPassthrough,
    HeaderPassthrough,
    WebhookAuthenticator,
    TokenAuthenticator,
    CookieAuthenticator,
    OidcAuthenticator,
    OidcTokens,
    VerificationService,
    Tokens,
    TokenStore,
  ],
})
export class AuthModule {}
