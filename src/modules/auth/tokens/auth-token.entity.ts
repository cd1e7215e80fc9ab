import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { User } from '../../../core/authorization/index.js';

/** A token, of which only digests are kept, and the user as they were when it was made. */
@Index('auth_token_by_digest', ['lookupDigest'], { unique: true })
@Index('auth_token_by_owner', ['issuer', 'userId', 'name'], { unique: true })
@Entity('auth_token')
export class AuthTokenEntity {
  /** Stands in the text of the token, too, so that a token that was found somewhere can be revoked. */
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'auth_token_pkey' })
  id: string;

  /** A slow hash, of tokens made by an older version, which may have been chosen by their user. */
  @Column({ name: 'token_hash', type: 'text', nullable: true })
  tokenHash: string | null;

  @Column({ name: 'lookup_digest', type: 'text' })
  lookupDigest: string;

  /** Source of the user's id. */
  @Column({ type: 'text' })
  issuer: string;

  @Column({ name: 'user_id', type: 'text' })
  userId: string;

  /** Their name to show. */
  @Column({ name: 'user_name', type: 'text' })
  userName: string;

  /** Name that the owner gave the token; empty: the one that has no name. */
  @Column({ type: 'text' })
  name: string;

  @Column({ name: 'user_data', type: 'jsonb' })
  userData: User;

  @Column({ name: 'made_openly', type: 'boolean' })
  madeOpenly: boolean;

  /** Id of the caller who made it. */
  @Column({ name: 'made_by', type: 'text' })
  madeBy: string;

  @Column({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  @Column({ name: 'expires_at', type: 'timestamptz' })
  expiresAt: Date;

  /** Time of its last use, to the minute. */
  @Column({ name: 'last_used_at', type: 'timestamptz', nullable: true })
  lastUsedAt: Date | null;
}
