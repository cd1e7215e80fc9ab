import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { User } from '../../../core/authorization/index.js';

/** A token, of which only its hash is kept, and the user as they were when it was made. */
@Index('auth_token_by_digest', ['lookupDigest'], { unique: true })
@Index('auth_token_by_user', ['userName'], { unique: true })
@Entity('auth_token')
export class AuthTokenEntity {
  @PrimaryColumn({ name: 'token_hash', type: 'text', primaryKeyConstraintName: 'auth_token_pkey' })
  tokenHash: string;

  @Column({ name: 'lookup_digest', type: 'text' })
  lookupDigest: string;

  @Column({ name: 'user_name', type: 'text' })
  userName: string;

  @Column({ name: 'user_data', type: 'jsonb' })
  userData: User;

  @Column({ name: 'made_openly', type: 'boolean' })
  madeOpenly: boolean;

  @Column({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;
}
