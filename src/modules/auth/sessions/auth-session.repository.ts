import { Injectable } from '@nestjs/common';
import type { User } from '../../../core/authorization/index.js';
import type { Queryable } from '../../../platform/database/queryable.js';
import { rows } from '../../../platform/database/sql.js';
import type { Transaction } from '../../../platform/database/transaction.js';
import { ownerOf } from '../tokens/auth-token.repository.js';

interface NewSession {
  idDigest: string;
  user: User;
  /** Of the token that it began with, if that is one of this service. */
  tokenDigest: string | null;
  /** It ends after so many seconds, and not after what proves who the user is (`user.provenUntil`). */
  seconds: number;
}

interface SessionEnd {
  /** Epoch milliseconds. */
  expiresAt: number;
  lastsMillis: number;
}

interface FoundSession {
  issuer: string;
  user: User;
  /** Epoch milliseconds. */
  expiresAt: number;
}

/** The sessions of browsers. By hand: their times are those of the statement that writes or reads them. */
@Injectable()
export class AuthSessionRepository {
  /** Beyond `most` of one user the oldest go, and with them those of all users that have ended. Answers when it ends. */
  async put(tx: Transaction, session: NewSession, most: number): Promise<SessionEnd> {
    const { idDigest, user, tokenDigest, seconds } = session;
    const { issuer, userId } = ownerOf(user);
    await rows(
      tx,
      `DELETE FROM auth_session WHERE expires_at <= now() OR id_digest IN (
         SELECT id_digest FROM auth_session WHERE user_id = $1 AND issuer = $2 ORDER BY created_at DESC OFFSET $3)`,
      [userId, issuer, most - 1],
    );
    const { id, name, email, groups, scopes, authenticated } = user;
    const [made] = await rows<SessionEnd>(
      tx,
      `INSERT INTO auth_session (id_digest, issuer, user_id, user_data, token_digest, created_at, expires_at)
       VALUES ($1, $2, $3, $4, $5, now(),
         least(now() + $6 * interval '1 second', to_timestamp($7::double precision / 1000)))
       RETURNING floor(extract(epoch FROM expires_at) * 1000)::double precision AS "expiresAt",
         floor(extract(epoch FROM expires_at - now()) * 1000)::double precision AS "lastsMillis"`,
      [
        idDigest,
        issuer,
        userId,
        JSON.stringify({ id, name, email, groups, scopes, authenticated }),
        tokenDigest,
        seconds,
        user.provenUntil ?? null,
      ],
    );
    return made!;
  }

  /** Unless it has ended, or the token that it began with has. `tokensBeside`: digests of tokens that have no row. */
  async find(tx: Queryable, idDigest: string, tokensBeside: readonly string[]): Promise<FoundSession | undefined> {
    const [found] = await rows<FoundSession>(
      tx,
      `SELECT issuer, user_data AS "user", floor(extract(epoch FROM expires_at) * 1000)::double precision AS "expiresAt"
       FROM auth_session s
       WHERE id_digest = $1 AND expires_at > now() AND (token_digest IS NULL OR token_digest = ANY ($2)
         OR EXISTS (SELECT FROM auth_token t WHERE t.lookup_digest = s.token_digest AND t.expires_at > now()))`,
      [idDigest, tokensBeside],
    );
    return found;
  }

  async remove(tx: Transaction, idDigest: string): Promise<void> {
    await rows(tx, 'DELETE FROM auth_session WHERE id_digest = $1', [idDigest]);
  }

  /** Those of the users with this id, whoever vouches for it. */
  async removeOf(tx: Transaction, userId: string): Promise<void> {
    await rows(tx, 'DELETE FROM auth_session WHERE user_id = $1', [userId]);
  }
}
