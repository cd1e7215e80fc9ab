import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { Access } from './access/access.service.js';
import { AccessGuard } from './access/access.guard.js';
import { NeedsCheck } from './access/needs-check.service.js';
import { ReadableAnswers } from './access/readable-answers.interceptor.js';
import { AuditTrail } from './audit/audit-trail.service.js';
import { AuditController } from './audit/audit.controller.js';
import { AuthController } from './auth.controller.js';
import { AuthService } from './auth.service.js';
import { Authentication } from './authenticators/authentication.service.js';
import { CookieAuthenticator } from './authenticators/cookie.authenticator.js';
import { OidcAuthenticator, TokenAuthenticator, WebhookAuthenticator } from './authenticators/header.authenticators.js';
import { HeaderPassthrough, QueryParameterPassthrough } from './authenticators/passthrough.authenticators.js';
import { ConfiguredDirectory } from './directory/configured-directory.js';
import { ElevatedAccess } from './access/elevated-access.service.js';
import { UserDirectory } from './directory/user-directory.js';
import { SessionController } from './sessions/session.controller.js';
import { Sessions } from './sessions/sessions.service.js';
import { OidcSignIn } from './oidc/oidc-sign-in.service.js';
import { OidcSignInController } from './oidc/oidc-sign-in.controller.js';
import { OidcTokens } from './oidc/oidc-tokens.service.js';
import { Tokens } from './tokens/tokens.service.js';
import { VerificationService } from './webhook/verification.service.js';

/**
 * Identifies callers and checks their access: before every operation of the API, and for rooms that ask in the middle
 * of one.
 */
@Module({
  controllers: [AuditController, SessionController, OidcSignInController, AuthController],
  providers: [
    AccessGuard,
    { provide: APP_GUARD, useExisting: AccessGuard },
    Access,
    AuditTrail,
    ElevatedAccess,
    { provide: UserDirectory, useClass: ConfiguredDirectory },
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
    OidcSignIn,
    OidcTokens,
    VerificationService,
    Sessions,
    Tokens,
  ],
  exports: [Access, Authentication, UserDirectory],
})
export class AuthModule {}
