import { Inject, Injectable } from '@nestjs/common';
import { createHash, randomUUID, timingSafeEqual } from 'node:crypto';
import { nameOf, type AccessRules, type User } from '../../../core/authorization/index.js';
import { Clock } from '../../../platform/clock.js';
import { Database } from '../../../platform/database/database.js';
import { SchedulerError } from '../../../platform/errors.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import { RecentAnswers } from '../recent-answers.js';
import { AuthTokenRepository } from './auth-token.repository.js';

/** How long a token is believed without being looked up again, and so how long one that was cleared may go on. */
const believedMillis = 15_000;
const believedAtMost = 1_000;
const minuteMillis = 60_000;

/** Makes, clears and verifies tokens. */
@Injectable()
export class Tokens {
  private readonly believed = new RecentAnswers<User>(believedAtMost);
  private readonly creations: RateLimit;

  constructor(
    private readonly db: Database,
    private readonly store: AuthTokenRepository,
    private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    this.creations = new RateLimit(settings.auth.tokenCreationsPerMinute, minuteMillis);
  }

  /** Answers the text of the token, which is not shown again. */
  async create(user: User, caller: User, chosen?: string): Promise<string> {
    const now = this.clock.now();
    if (!this.creations.take(caller.id, now)) {
      const { tokenCreationsPerMinute: most } = this.settings.auth;
      throw new SchedulerError(
        'TOO_MANY_TOKENS',
        `'${caller.id}' has made ${most} tokens in the last minute; wait a while`,
      );
    }
    const token = chosen || randomUUID();
    const madeOpenly = !this.settings.auth.enabled;
    await this.db.transaction((tx) => this.store.replace(tx, { token, user, now, madeOpenly }));
    this.forget(nameOf(user));
    return token;
  }

  async clear(userName: string): Promise<void> {
    await this.db.transaction((tx) => this.store.clear(tx, userName));
    this.forget(userName);
  }

  async verify(token: string): Promise<User | undefined> {
    const { bootstrapToken, ...rules } = this.settings.auth;
    if (bootstrapToken !== undefined && equalTexts(token, bootstrapToken)) return firstAdministrator(rules);
    const now = this.clock.now();
    const key = digest(token).toString('hex');
    const known = this.believed.get(key);
    if (known && now - known.at < believedMillis) return known.answer;
    const user = await this.store.find(this.db.manager, token);
    if (user) this.believed.put(key, user, now);
    return user;
  }

  /** This instance forgets the token at once; other instances go on believing it for a few seconds. */
  private forget(userName: string): void {
    this.believed.removeWhere((user) => nameOf(user) === userName);
  }
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
