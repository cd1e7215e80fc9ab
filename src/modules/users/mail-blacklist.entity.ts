import { Entity, PrimaryColumn } from 'typeorm';

/** An address that no mail is sent to, because its owner asked for that. */
@Entity('mail_blacklist')
export class MailBlacklistEntity {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'mail_blacklist_pkey' })
  address: string;
}

/** An address whose owner subscribed, and did not unsubscribe since. */
@Entity('mail_allowlist')
export class MailAllowlistEntity {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'mail_allowlist_pkey' })
  address: string;
}
