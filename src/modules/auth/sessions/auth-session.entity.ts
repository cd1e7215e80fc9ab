import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { User } from '../../../core/authorization/index.js';

/** A browser that someone has signed in with, and the user as they were then. */
@Index('auth_session_by_owner', ['userId', 'issuer', 'createdAt'])
@Index('auth_session_by_end', ['expiresAt'])
@Entity('auth_session')
export class AuthSessionEntity {
  /** Of the text in the cookie, which is not kept. */
  @PrimaryColumn({ name: 'id_digest', type: 'text', primaryKeyConstraintName: 'auth_session_pkey' })
  idDigest: string;

  /** Who vouched for the user's id. */
  @Column({ type: 'text' })
  issuer: string;

  @Column({ name: 'user_id', type: 'text' })
  userId: string;

  @Column({ name: 'user_data', type: 'jsonb' })
  userData: User;

  /** Of the token of this service that it began with. It ends with that token. */
  @Column({ name: 'token_digest', type: 'text', nullable: true })
  tokenDigest: string | null;

  @Column({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  @Column({ name: 'expires_at', type: 'timestamptz' })
  expiresAt: Date;
}
