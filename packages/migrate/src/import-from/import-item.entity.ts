import { Check, Column, Entity, PrimaryColumn } from 'typeorm';

/** Kinds of things that an import may find at the other installation. */
export type ImportKind = 'REQUEST' | 'GROUP' | 'WEBHOOK' | 'ADDRESS' | 'ACTION' | 'HOST';

/** Something of another installation that was taken, or could not be taken. */
@Check('import_item_outcome_check', `"outcome" IN ('TAKEN', 'REFUSED')`)
@Entity('import_item')
export class ImportItemEntity {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'import_item_pkey' })
  kind: ImportKind;

  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'import_item_pkey' })
  key: string;

  @Column({ type: 'text' })
  outcome: 'TAKEN' | 'REFUSED';

  @Column({ type: 'text' })
  fingerprint: string;

  @Column({ type: 'text', nullable: true })
  reason: string | null;

  @Column({ type: 'bigint', nullable: true })
  version: string | null;

  @Column({ type: 'boolean', default: false })
  held: boolean;

  @Column({ name: 'handed_over_at', type: 'timestamptz', nullable: true })
  handedOverAt: Date | null;

  @Column({ name: 'noted_at', type: 'timestamptz' })
  notedAt: Date;
}
