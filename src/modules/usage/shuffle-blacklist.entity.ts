import { Entity, PrimaryColumn } from 'typeorm';

/** A request whose tasks are not to be moved off overloaded slaves. */
@Entity('shuffle_blacklist')
export class ShuffleBlacklistEntity {
  @PrimaryColumn({ name: 'request_id', type: 'text', primaryKeyConstraintName: 'shuffle_blacklist_pkey' })
  requestId: string;
}
