import { Inject, Injectable } from '@nestjs/common';
import { createHash, randomBytes } from 'node:crypto';
import type { Request } from 'express';
import type { User } from '../../../core/authorization/index.js';
import { Database } from '../../../platform/database/database.js';
import type { Queryable } from '../../../platform/database/queryable.js';
import type { Transaction } from '../../../platform/database/transaction.js';
import { SchedulerError } from '../../../platform/errors.js';
import { longestText } from '../../../platform/http/input-limits.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import { AuthTokenRepository } from '../tokens/auth-token.repository.js';
import { cookieOf } from '../cookies.js';
import { AuthSessionRepository } from './auth-session.repository.js';

const secretBytes = 32;
const form = /^muster_session_[\w-]{43}$/;
/** Browsers that one user is signed in with; the oldest one is signed out by a further one. */
const mostPerUser = 100;
/** What is kept of a user, whom a provider may have in any number of groups. */
const mostUserText = 65_536;

export interface NewSession {
  /** For the cookie; only a digest of it is kept. */
  text: string;
  /** Epoch milliseconds. */
  expiresAt: number;
  lastsMillis: number;
}

export const isSession = (text: string): boolean => form.test(text);

/**
 * People who have signed in with a browser. Each call looks a session up, so that one that has ended, or whose token was revoked,
 * opens nothing on any instance from that moment on.
 */
@Injectable()
export class Sessions {
  constructor(
    private readonly db: Database,
    private readonly store: AuthSessionRepository,
    private readonly tokens: AuthTokenRepository,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** `token`: of this service, which proved who the user is. 401 if it was cleared meanwhile. */
  async begin(user: User, token?: string): Promise<NewSession> {
    if (user.id.length > longestText.name)
      throw tooLong(`the id of the user has more than ${longestText.name} characters`);
    if (JSON.stringify(user).length > mostUserText)
      throw tooLong(`the groups and scopes of the user have more than ${mostUserText} characters`);
    const text = `muster_session_${randomBytes(secretBytes).toString('base64url')}`;
    const seconds = this.settings.auth.sessionHours * 3_600;
    const ends = await this.db.transaction(async (tx) => {
      await this.tokens.lockUsers(tx, [user.id]);
      await this.requireProof(tx, user);
      const tokenDigest = token === undefined ? null : await this.tokens.digest(tx, token);
      return this.store.put(tx, { idDigest: digest(text), user, tokenDigest, seconds }, mostPerUser);
    });
    return { text, ...ends };
  }

  /** Whether a session told who makes this call, rather than a token in its header or cookie. */
  isProof(request: Request & { provenBy?: string }): boolean {
    return request.provenBy === 'COOKIE' && isSession(cookieOf(request, this.settings.ui.authCookieName) ?? '');
  }

  async find(text: string): Promise<User | undefined> {
    if (!isSession(text)) return undefined;
    const id = digest(text);
    const found = await this.look(this.db.pool, id);
    const proof = { kind: 'SESSION', id } as const;
    return found && { ...found.user, issuer: found.issuer, provenUntil: found.expiresAt, proof };
  }

  /** Throws unless the token or session that proved who the user is still counts. Under the lock of the user. */
  async requireProof(tx: Transaction, { proof }: User): Promise<void> {
    if (!proof) return;
    const found = await (proof.kind === 'TOKEN' ? this.tokens.findById(tx, proof.id) : this.look(tx, proof.id));
    if (found) return;
    const message = 'The caller is not authenticated: the token or session of this call was cleared meanwhile';
    throw new SchedulerError('UNAUTHENTICATED', message);
  }

  private async look(tx: Queryable, idDigest: string) {
    const { bootstrapToken } = this.settings.auth;
    const beside = bootstrapToken === undefined ? [] : [await this.tokens.digest(tx, bootstrapToken)];
    return this.store.find(tx, idDigest, beside);
  }

  async end(text: string): Promise<void> {
    if (isSession(text)) await this.db.transaction((tx) => this.store.remove(tx, digest(text)));
  }

  /** Signs a user out everywhere. Under the lock of the user. */
  endAllOf(tx: Transaction, userId: string): Promise<void> {
    return this.store.removeOf(tx, userId);
  }
}

const tooLong = (message: string): SchedulerError =>
  SchedulerError.invalid('INVALID_PARAMETER', [{ field: 'token', rule: 'length', message: `token: ${message}` }]);

const digest = (text: string): string => createHash('sha256').update(text).digest('hex');
