import { Inject, Injectable, Logger } from '@nestjs/common';
import * as client from 'openid-client';
import type { User } from '../../../core/authorization/index.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import { userFromClaims } from './claims.js';

const clockToleranceSeconds = 30;

/** What binds the answer of the provider to the browser that was sent there. Known to that browser alone. */
export interface SignInSecrets {
  state: string;
  nonce: string;
  codeVerifier: string;
}

/** Why nobody was signed in; the page has words for each. */
export type SignInProblem = 'denied' | 'expired' | 'provider' | 'refused';

export class SignInFailure extends Error {
  constructor(
    readonly problem: SignInProblem,
    options?: ErrorOptions,
  ) {
    super(`Nobody is signed in: ${problem}`, options);
  }
}

/** Sends people to the provider that the settings name, and finds out who they are when they are back: code flow with PKCE. */
@Injectable()
export class OidcSignIn {
  private readonly log = new Logger(OidcSignIn.name);
  private provider: Promise<client.Configuration> | undefined;

  constructor(@Inject(SETTINGS) private readonly settings: Settings) {}

  get isOffered(): boolean {
    return this.settings.auth.oidc.clientId !== undefined;
  }

  /** Where the browser goes. */
  async begin(redirectUri: string): Promise<{ address: URL; secrets: SignInSecrets }> {
    const provider = await this.known();
    const secrets = {
      state: client.randomState(),
      nonce: client.randomNonce(),
      codeVerifier: client.randomPKCECodeVerifier(),
    };
    const { state, nonce, codeVerifier } = secrets;
    const address = client.buildAuthorizationUrl(provider, {
      redirect_uri: redirectUri,
      scope: this.settings.auth.oidc.signInScopes.join(' '),
      state,
      nonce,
      code_challenge: await client.calculatePKCECodeChallenge(codeVerifier),
      code_challenge_method: 'S256',
    });
    return { address, secrets };
  }

  /** `answer`: the address that the provider sent the browser to. Fails with a `SignInFailure`. */
  async finish(answer: URL, { state, nonce, codeVerifier }: SignInSecrets): Promise<User> {
    if (answer.searchParams.get('error') === 'access_denied' && answer.searchParams.get('state') === state)
      throw new SignInFailure('denied');
    const provider = await this.known();
    let claims: Readonly<Record<string, unknown>>;
    try {
      const tokens = await client.authorizationCodeGrant(provider, answer, {
        pkceCodeVerifier: codeVerifier,
        expectedState: state,
        expectedNonce: nonce,
        idTokenExpected: true,
      });
      const identity = tokens.claims()!;
      // Providers differ in where they tell groups and names. What is signed wins.
      const more =
        provider.serverMetadata().userinfo_endpoint === undefined
          ? {}
          : await client.fetchUserInfo(provider, tokens.access_token, identity.sub);
      claims = { scope: tokens.scope, ...more, ...identity };
    } catch (cause) {
      this.warn(cause);
      throw new SignInFailure('refused', { cause });
    }
    const { oidc } = this.settings.auth;
    const user = userFromClaims(claims, oidc);
    if (user) return { ...user, issuer: oidc.issuer };
    this.log.warn(`A sign-in is refused: the provider tells no claim ${oidc.userClaim}`);
    throw new SignInFailure('refused');
  }

  /** Asked for once; again after a failure. */
  private async known(): Promise<client.Configuration> {
    this.provider ??= this.discover();
    try {
      return await this.provider;
    } catch (cause) {
      this.provider = undefined;
      this.warn(cause);
      throw new SignInFailure('provider', { cause });
    }
  }

  private discover(): Promise<client.Configuration> {
    const { issuer, clientId, clientSecret, timeoutMillis } = this.settings.auth.oidc;
    const isPlain = issuer!.startsWith('http:');
    return client.discovery(
      new URL(issuer!),
      clientId!,
      { [client.clockTolerance]: clockToleranceSeconds },
      clientSecret === undefined ? client.None() : withSecret(clientSecret),
      {
        timeout: Math.ceil(timeoutMillis / 1_000),
        // The settings may name a provider without TLS, as for tests on one machine.
        execute: [client.enableNonRepudiationChecks, ...(isPlain ? [client.allowInsecureRequests] : [])],
      },
    );
  }

  /** Codes and tokens are no part of these messages. */
  private warn(cause: unknown): void {
    const { message, code, error, cause: inner } = cause as Partial<client.ResponseBodyError>;
    const reason = inner instanceof Error ? inner.message : message;
    this.log.warn(`A sign-in with the provider failed: ${[reason, code, error].filter(Boolean).join(', ')}`);
  }
}

/** As the provider takes it: in a header, which is the usual way where it does not say, or in the body. */
function withSecret(secret: string): client.ClientAuth {
  const [basic, post] = [client.ClientSecretBasic(secret), client.ClientSecretPost(secret)];
  return (server, ...call) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    return (methods.includes('client_secret_basic') ? basic : post)(server, ...call);
  };
}
