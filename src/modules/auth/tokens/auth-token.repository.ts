import { Inject, Injectable } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import type { EntityManager } from 'typeorm';
import { nameOf, type User } from '../../../core/authorization/index.js';
import { SchedulerError } from '../../../platform/errors.js';
import { rows } from '../../../platform/database/sql.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import { AuthLookupKeyEntity } from './auth-lookup-key.entity.js';
import { AuthTokenEntity } from './auth-token.entity.js';
import { hashToken, lookupDigest, matchesHash } from './token-hash.js';

interface NewToken {
  token: string;
  user: User;
  /** Epoch milliseconds. */
  now: number;
  /** Made while callers were not checked: it opens nothing once they are. */
  madeOpenly: boolean;
}

/** The rows of tokens. The text of a token is never stored. */
@Injectable()
export class AuthTokenRepository {
  private key: string | undefined;

  constructor(@Inject(SETTINGS) private readonly settings: Pick<Settings, 'auth'>) {
    this.key = settings.auth.tokenLookupKey;
  }

  /**
   * Takes the place of the token that this user had. By hand: the same text must not become the token of two users, and
   * TypeORM has no INSERT that depends on a condition.
   */
  async replace(tx: EntityManager, { token, user, now, madeOpenly }: NewToken): Promise<void> {
    const hash = await hashToken(token, this.settings.auth.tokenHashIterations);
    const values = [hash, await this.digest(tx, token), nameOf(user), JSON.stringify(user), madeOpenly, new Date(now)];
    const written = await rows(
      tx,
      `INSERT INTO auth_token (token_hash, lookup_digest, user_name, user_data, made_openly, created_at)
       SELECT $1, $2, $3, $4, $5, $6 WHERE NOT EXISTS
         (SELECT 1 FROM auth_token WHERE lookup_digest = $2 AND user_name <> $3)
       ON CONFLICT (user_name) DO UPDATE SET token_hash = excluded.token_hash, lookup_digest = excluded.lookup_digest,
         user_data = excluded.user_data, made_openly = excluded.made_openly, created_at = excluded.created_at
       RETURNING 1`,
      values,
    );
    if (written.length === 0) {
      const message = 'token must be another one: a token tells who its bearer is';
      throw SchedulerError.invalid('INVALID_PARAMETER', [{ field: 'token', rule: 'unique', message }]);
    }
  }

  async clear(tx: EntityManager, userName: string): Promise<void> {
    await tx.getRepository(AuthTokenEntity).delete({ userName });
  }

  /** The user whose token it is. Tokens that were made openly count only while callers are not checked. */
  async find(tx: EntityManager, token: string): Promise<User | undefined> {
    const found = await tx.getRepository(AuthTokenEntity).findOneBy({
      lookupDigest: await this.digest(tx, token),
      ...(this.settings.auth.enabled && { madeOpenly: false }),
    });
    return found && (await matchesHash(token, found.tokenHash)) ? found.userData : undefined;
  }

  private async digest(tx: EntityManager, token: string): Promise<string> {
    this.key ??= await keptKey(tx);
    return lookupDigest(token, this.key);
  }
}

/** The same for all instances: the first one makes it. */
async function keptKey(tx: EntityManager): Promise<string> {
  const keys = tx.getRepository(AuthLookupKeyEntity);
  const kept = await keys.findOneBy({ onlyRow: true });
  if (kept) return kept.key;
  const made = { onlyRow: true, key: randomBytes(32).toString('hex') };
  await keys.createQueryBuilder().insert().values(made).orIgnore().updateEntity(false).execute();
  return (await keys.findOneByOrFail({ onlyRow: true })).key;
}
