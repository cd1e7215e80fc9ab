import { Inject, Injectable } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import type { EntityManager } from 'typeorm';
import { nameOf, type User } from '../../../core/authorization/index.js';
import { SchedulerError } from '../../../platform/errors.js';
import { rows } from '../../../platform/database/sql.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import { hashToken, lookupDigest, matchesHash } from './token-hash.js';

export interface NewToken {
  token: string;
  user: User;
  /** Epoch milliseconds. */
  now: number;
  /** Nobody had checked who made it: it opens nothing once somebody does. */
  madeOpenly: boolean;
}

/** The rows of tokens. The text of a token is never stored. */
@Injectable()
export class TokenStore {
  private key: string | undefined;

  constructor(@Inject(SETTINGS) private readonly settings: Pick<Settings, 'auth'>) {
    this.key = settings.auth.tokenLookupKey;
  }

  /** Takes the place of the token that this user had. */
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

  /** Answers whether there was one. */
  async clear(tx: EntityManager, userName: string): Promise<boolean> {
    return (await rows(tx, 'DELETE FROM auth_token WHERE user_name = $1 RETURNING 1', [userName])).length > 0;
  }

  /** Whose token it is. Tokens that were made openly count only while nobody is checked. */
  async find(tx: EntityManager, token: string): Promise<User | undefined> {
    const [row] = await rows<{ token_hash: string; user_data: User }>(
      tx,
      'SELECT token_hash, user_data FROM auth_token WHERE lookup_digest = $1 AND (NOT made_openly OR NOT $2)',
      [await this.digest(tx, token), this.settings.auth.enabled],
    );
    return row && (await matchesHash(token, row.token_hash)) ? row.user_data : undefined;
  }

  private async digest(tx: EntityManager, token: string): Promise<string> {
    this.key ??= await keptKey(tx);
    return lookupDigest(token, this.key);
  }
}

/** The same for all instances: whoever is first makes it. */
async function keptKey(tx: EntityManager): Promise<string> {
  const read = () => rows<{ key: string }>(tx, 'SELECT key FROM auth_lookup_key');
  let [kept] = await read();
  if (!kept) {
    const made = randomBytes(32).toString('hex');
    await tx.query('INSERT INTO auth_lookup_key (key) VALUES ($1) ON CONFLICT DO NOTHING', [made]);
    [kept] = await read();
  }
  return kept!.key;
}
