import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { ActionType } from '../../core/model/enums.js';

/** An action that is switched off. */
@Entity('disabled_action')
export class DisabledActionEntity {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'disabled_action_pkey' })
  action: ActionType;

  @Column({ type: 'text' })
  message: string;

  @Column({ name: 'user_name', type: 'text', nullable: true })
  userName: string | null;

  @Column({ name: 'automatically_clearable', type: 'boolean' })
  automaticallyClearable: boolean;

  @Column({ name: 'except_groups', type: 'text', array: true, nullable: true })
  exceptGroups: string[] | null;

  @Column({ name: 'expires_at', type: 'timestamptz', nullable: true })
  expiresAt: Date | null;
}
