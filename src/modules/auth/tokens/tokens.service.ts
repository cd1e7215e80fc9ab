import { Inject, Injectable, Logger, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { createHash, timingSafeEqual } from 'node:crypto';
import { hasPassed } from '../../../core/elapsed.js';
import { nameOf, type AccessRules, type User } from '../../../core/authorization/index.js';
import { Clock } from '../../../platform/clock.js';
import { Database } from '../../../platform/database/database.js';
import { SchedulerError } from '../../../platform/errors.js';
import { ProcessMessages } from '../../../platform/process/process-messages.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import { Wake } from '../../../platform/wake/wake.js';
import { RecentAnswers } from '../recent-answers.js';
import { Sessions } from '../sessions/sessions.service.js';
import type { AuthTokenEntity } from './auth-token.entity.js';
import { AuthTokenRepository, ownerOf } from './auth-token.repository.js';
import { couldBeToken, isUnguessable, newTokenText } from './token-text.js';

/**
 * Time for which a token is accepted without another look-up, and so for which one that was cleared may be accepted by
 * other instances.
 */
const believedMillis = 15_000;
const believedAtMost = 1_000;
const minuteMillis = 60_000;
const dayMillis = 86_400_000;

interface WantedToken {
  /** Owner of the token. */
  user: User;
  /** Name that the owner gives it; empty: the one without a name. */
  name?: string;
  /** Epoch milliseconds. Default: as late as may be. */
  expiresAt?: number;
}

export interface MadeToken {
  id: string;
  /** Text of the token, which is not shown again. */
  text: string;
  expiresAt: number;
}

interface VerifiedToken {
  id: string;
  user: User & { provenUntil: number };
}

/** Makes, lists, clears and verifies tokens. */
@Injectable()
export class Tokens implements OnModuleInit, OnModuleDestroy {
  private readonly log = new Logger(Tokens.name);
  private readonly believed = new RecentAnswers<VerifiedToken>(believedAtMost);
  /** Tokens whose use was stored a short time ago, in this process. */
  private readonly noted = new RecentAnswers<undefined>(believedAtMost);
  private readonly creations: RateLimit;
  private forgettings = 0;
  private stopListening: (() => void) | undefined;

  constructor(
    private readonly db: Database,
    private readonly store: AuthTokenRepository,
    private readonly sessions: Sessions,
    private readonly clock: Clock,
    private readonly wake: Wake,
    @Inject(SETTINGS) private readonly settings: Settings,
    private readonly messages: ProcessMessages,
  ) {
    this.creations = new RateLimit(settings.auth.tokenCreationsPerMinute, minuteMillis);
    messages.subscribe('token-created', ({ owner }) => void this.creations.take(owner, clock.now()));
  }

  onModuleInit(): void {
    this.stopListening = this.wake.on('tokens', (ids) => {
      this.forgettings++;
      this.believed.removeWhere(({ id }) => ids === undefined || ids.includes(id));
    });
  }

  onModuleDestroy(): void {
    this.stopListening?.();
  }

  /** Takes the place of the token of the same name that the user had. 401 if that of the caller was cleared meanwhile. */
  async create({ user, name = '', expiresAt: wanted }: WantedToken, caller: User): Promise<MadeToken> {
    const now = this.clock.now();
    const expiresAt = this.endOf(wanted, caller, now);
    this.countCreation(caller, now);
    const { id, text } = newTokenText();
    const madeOpenly = !this.settings.auth.enabled;
    const madeBy = caller.id;
    const replaced = await this.db.transaction(async (tx) => {
      await this.store.lockUsers(tx, [user.id, caller.id]);
      await this.sessions.requireProof(tx, caller);
      const present = await this.store.of(tx, user);
      this.checkRoom(user, present, name, now);
      await this.store.put(tx, { id, text, user, name, madeBy, now, expiresAt, madeOpenly });
      return present.filter((token) => token.name === name);
    });
    this.forget(replaced);
    return { id, text, expiresAt };
  }

  /** Tokens that have not expired: the caller's own, those of all users with this id, or all. */
  list(whose: { owner: User } | { userId: string } | 'all'): Promise<AuthTokenEntity[]> {
    const where = whose === 'all' ? {} : 'owner' in whose ? ownerOf(whose.owner) : whose;
    return this.db.transaction((tx) => this.store.list(tx, this.clock.now(), where));
  }

  /**
   * Revokes a token of the caller, or one of others for those who may: to a caller who may not, a token of another user
   * is unknown.
   */
  async revoke(id: string, caller: User, mayRevokeAll: boolean): Promise<void> {
    const found = await this.store.findById(this.db.pool, id);
    const { issuer, userId } = ownerOf(caller);
    const isOwn = found?.issuer === issuer && found.userId === userId;
    if (!found || !(isOwn || mayRevokeAll)) throw new SchedulerError('TOKEN_NOT_FOUND', `No token with id '${id}'`);
    await this.db.transaction((tx) => this.store.remove(tx, [id]));
    this.forget([found]);
  }

  /** All tokens of the user with this id or, if there is none, with this name to show; and all sessions of the user with this id. */
  async clear(userName: string): Promise<void> {
    const known = await this.store.findNamed(this.db.pool, userName);
    const cleared = await this.db.transaction(async (tx) => {
      // A token that such a user is making is found after this, or is refused.
      await this.store.lockUsers(tx, [userName, ...known.map(({ userId }) => userId)]);
      const found = await this.store.findNamed(tx, userName);
      refuseSeveral(userName, found);
      await this.store.remove(
        tx,
        found.map(({ id }) => id),
      );
      await this.sessions.endAllOf(tx, userName);
      return found;
    });
    this.forget(cleared);
  }

  /**
   * The user whose token it is. `wary`: only what cannot be guessed, or was believed before, is looked at, because of too
   * many failures from where the call comes.
   */
  verify(text: string, wary = false): User | undefined | Promise<User | undefined> {
    const now = this.clock.now();
    const key = digest(text).toString('hex');
    const known = this.believed.get(key);
    if (known && !hasPassed(known.at, believedMillis, now) && now < known.answer.user.provenUntil) {
      return this.used(known.answer, now);
    }
    if (wary && !isUnguessable(text)) return undefined;
    const { bootstrapToken, ...rules } = this.settings.auth;
    if (bootstrapToken !== undefined && equalTexts(text, bootstrapToken)) return firstAdministrator(rules);
    return couldBeToken(text) ? this.lookUp(text, key, now) : undefined;
  }

  private async lookUp(text: string, key: string, now: number): Promise<User | undefined> {
    const { forgettings } = this;
    const found = await this.store.find(this.db.pool, text, now);
    if (!found) return undefined;
    const { id, issuer, expiresAt, userData } = found;
    const proof = { kind: 'TOKEN', id } as const;
    const answer = { id, user: { ...userData, issuer, provenUntil: expiresAt.getTime(), proof } };
    // What was read before a token was revoked is not believed after that.
    if (forgettings === this.forgettings) this.believed.put(key, answer, now);
    return this.used(answer, now);
  }

  /** The end of a token: not later than what proved who the caller is, nor than the settings allow. */
  private endOf(wanted: number | undefined, caller: User, now: number): number {
    const { tokenDays } = this.settings.auth;
    const latest = Math.min(now + tokenDays * dayMillis, caller.provenUntil ?? Infinity);
    const end = wanted ?? latest;
    if (end > now && end <= latest) return end;
    const bounds = `after now and not after ${new Date(latest).toISOString()}`;
    const message = `expiresAt must be ${bounds}: ${tokenDays} days, and not beyond what proves who you are`;
    throw SchedulerError.invalid('INVALID_PARAMETER', [{ field: 'expiresAt', rule: 'max', message }]);
  }

  private countCreation(caller: User, now: number): void {
    const { issuer, userId } = ownerOf(caller);
    const owner = `${issuer} ${userId}`;
    if (this.creations.take(owner, now)) return this.messages.publish('token-created', { owner });
    const { tokenCreationsPerMinute: most } = this.settings.auth;
    throw new SchedulerError('TOO_MANY_TOKENS', `'${userId}' has made ${most} tokens in the last minute; wait a while`);
  }

  private checkRoom(user: User, present: readonly AuthTokenEntity[], name: string, now: number): void {
    const others = present.filter((token) => token.name !== name && token.expiresAt.getTime() > now);
    const { tokensPerUser: most } = this.settings.auth;
    if (others.length < most) return;
    throw new SchedulerError(
      'TOO_MANY_TOKENS',
      `'${nameOf(user)}' has ${others.length} tokens; revoke one of them first`,
    );
  }

  /** This instance forgets them at once, others when they hear of it, and after a few seconds in any case. */
  private forget(tokens: readonly AuthTokenEntity[]): void {
    if (tokens.length > 0)
      this.wake.signalOf(
        tokens.map(({ id }) => id),
        'tokens',
      );
  }

  /** Noted once a minute, and no call waits for it. */
  private used({ id, user }: VerifiedToken, now: number): User {
    const last = this.noted.get(id);
    if (!last || hasPassed(last.at, minuteMillis, now)) {
      this.noted.put(id, undefined, now);
      this.store
        .noteUse(this.db.pool, id, now)
        .catch((cause: unknown) => this.log.debug(`The last use of a token was not stored: ${String(cause)}`));
    }
    return user;
  }
}

function refuseSeveral(userName: string, tokens: readonly AuthTokenEntity[]): void {
  const ids = new Set(tokens.map(({ userId }) => userId));
  if (ids.size <= 1) return;
  const message = `user '${userName}' is the name of several users: name the id of one, ${[...ids].toSorted().join(', ')}`;
  throw SchedulerError.invalid('INVALID_PARAMETER', [{ field: 'user', rule: 'unique', message }]);
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
/** Takes the same time wherever the texts differ and however long they are. */
const equalTexts = (one: string, other: string): boolean => timingSafeEqual(digest(one), digest(other));

/** The first user, who can let others in: an administrator in every mode. */
export function firstAdministrator(rules: Pick<AccessRules, 'adminGroups' | 'scopes'>, name = 'admin'): User {
  return { id: name, name, groups: [...rules.adminGroups], scopes: [...rules.scopes.admin], authenticated: true };
}

/** Allows so many calls per span of time and name, and refuses those beyond that. */
class RateLimit {
  private readonly taken = new Map<string, number[]>();

  constructor(
    private readonly most: number,
    private readonly spanMillis: number,
  ) {}

  /** Counts this time, or answers false. */
  take(name: string, now: number): boolean {
    const since = now - this.spanMillis;
    const recent = (this.taken.get(name) ?? []).filter((at) => at > since);
    if (recent.length >= this.most) return false;
    this.forgetBefore(since);
    this.taken.set(name, [...recent, now]);
    return true;
  }

  /** Names that are not used any more would pile up. */
  private forgetBefore(since: number): void {
    for (const [name, times] of this.taken) if (times.at(-1)! <= since) this.taken.delete(name);
  }
}
