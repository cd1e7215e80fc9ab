import { Inject, Injectable } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { LessThanOrEqual, MoreThan } from 'typeorm';
import { nameOf, type User } from '../../../core/authorization/index.js';
import type { Queryable } from '../../../platform/database/queryable.js';
import type { Transaction } from '../../../platform/database/transaction.js';
import { onlyRow } from '../../../platform/database/only-row.js';
import { rows } from '../../../platform/database/sql.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import { AuthLookupKeyEntity } from './auth-lookup-key.entity.js';
import { AuthTokenEntity } from './auth-token.entity.js';
import { lookupDigest, matchesHash } from './token-text.js';

const newKey = () => ({ key: randomBytes(32).toString('hex') });

/** Issuer of the ids of users for whom an administrator makes tokens. */
const ourselves = 'muster';

/** One user among those of all issuers. */
export const ownerOf = ({ issuer = ourselves, id }: Pick<User, 'issuer' | 'id'>) => ({ issuer, userId: id });

export interface NewToken {
  id: string;
  text: string;
  user: User;
  name: string;
  madeBy: string;
  /** Epoch milliseconds, both. */
  now: number;
  expiresAt: number;
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

  /** Takes the place of the user's token of this name. Those that have expired go, of all users. */
  async put(tx: Transaction, token: NewToken): Promise<void> {
    const { id, text, user, name, madeBy, now, expiresAt, madeOpenly } = token;
    const tokens = tx.getRepository(AuthTokenEntity);
    await tokens.delete({ expiresAt: LessThanOrEqual(new Date(now)) });
    const owner = ownerOf(user);
    const { groups, scopes, email, authenticated } = user;
    const row: AuthTokenEntity = {
      id,
      tokenHash: null,
      lookupDigest: await this.digest(tx, text),
      ...owner,
      userName: nameOf(user),
      name,
      userData: { id: user.id, name: user.name, email, groups, scopes, authenticated },
      madeOpenly,
      madeBy,
      createdAt: new Date(now),
      expiresAt: new Date(expiresAt),
      lastUsedAt: null,
    };
    await tokens
      .createQueryBuilder()
      .insert()
      .values(row as never)
      .orUpdate(
        tokens.metadata.columns.map(({ databaseName }) => databaseName),
        ['issuer', 'user_id', 'name'],
      )
      .updateEntity(false)
      .execute();
  }

  /**
   * Until `tx` ends no other call makes tokens or sessions of users with these ids, nor clears them. Not by issuer, because
   * tokens are cleared by the id alone.
   */
  async lockUsers(tx: Transaction, userIds: readonly string[]): Promise<void> {
    for (const id of [...new Set(userIds)].toSorted())
      await rows(tx, 'SELECT pg_advisory_xact_lock(hashtextextended($1, 7103))', [id]);
  }

  of(tx: Transaction, user: User): Promise<AuthTokenEntity[]> {
    return tx.getRepository(AuthTokenEntity).findBy(ownerOf(user));
  }

  /** Tokens that have not expired, by id: all, those of one user, or those of all users with an id. */
  list(tx: Transaction, now: number, whose: Partial<ReturnType<typeof ownerOf>>): Promise<AuthTokenEntity[]> {
    const where = { ...whose, expiresAt: MoreThan(new Date(now)) };
    return tx.getRepository(AuthTokenEntity).find({ where, order: { id: 'ASC' } });
  }

  findById(tx: Queryable, id: string): Promise<AuthTokenEntity | null> {
    return tx.getRepository(AuthTokenEntity).findOneBy({ id });
  }

  /** Tokens of the users with this id or, when there are none, of those who are shown by this name. */
  async findNamed(tx: Queryable, userName: string): Promise<AuthTokenEntity[]> {
    const tokens = tx.getRepository(AuthTokenEntity);
    const byId = await tokens.findBy({ userId: userName });
    return byId.length > 0 ? byId : tokens.findBy({ userName });
  }

  async remove(tx: Transaction, ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await tx.getRepository(AuthTokenEntity).delete([...ids]);
  }

  /** The token with this text, unless it has expired. Tokens that were made openly count only while callers are not checked. */
  async find(tx: Queryable, text: string, now: number): Promise<AuthTokenEntity | undefined> {
    const found = await tx.getRepository(AuthTokenEntity).findOneBy({
      lookupDigest: await this.digest(tx, text),
      expiresAt: MoreThan(new Date(now)),
      ...(this.settings.auth.enabled && { madeOpenly: false }),
    });
    if (!found) return undefined;
    return found.tokenHash === null || (await matchesHash(text, found.tokenHash)) ? found : undefined;
  }

  async noteUse(tx: Queryable, id: string, now: number): Promise<void> {
    await tx.getRepository(AuthTokenEntity).update({ id }, { lastUsedAt: new Date(now) });
  }

  /** What the row of a token with this text is found by. */
  async digest(tx: Queryable, token: string): Promise<string> {
    this.key ??= (await onlyRow(tx.getRepository(AuthLookupKeyEntity), newKey)).key;
    return lookupDigest(token, this.key);
  }
}
