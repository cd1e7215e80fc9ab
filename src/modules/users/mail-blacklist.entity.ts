import { Entity, PrimaryColumn } from 'typeorm';

/** An address that no mail is sent to, because its owner asked for that. */
@Entity('mail_blacklist')
export class MailBlacklistEntity {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'mail_blacklist_pkey' })
  address: string;
}
