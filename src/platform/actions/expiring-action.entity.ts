import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { ExpiringKind, MachineState } from '../../core/model/enums.js';
import type { MachineChangeRequest, MachineKind } from '../../core/model/machine.js';
import type {
  BounceRequest,
  PauseRequest,
  PriorityRequest,
  ScaleRequest,
  SkipHealthchecksRequest,
} from '../../core/model/request.js';
import { absentWhenNull, epochMillis } from '../database/entity-values.js';

/** A change that lapses: of a request, a slave or a rack. */
@Entity('expiring_action')
export class ExpiringActionEntity {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'expiring_action_pkey' })
  kind: ExpiringKind;

  @PrimaryColumn({ name: 'target_id', type: 'text', primaryKeyConstraintName: 'expiring_action_pkey' })
  targetId: string;

  @Column({ name: 'user_name', type: 'text', nullable: true, transformer: absentWhenNull })
  user?: string;

  @Column({ name: 'started_at', type: 'timestamptz', transformer: epochMillis })
  startMillis: number;

  @Column({ name: 'duration_millis', type: 'bigint' })
  durationMillis: number;

  @Column({ name: 'action_id', type: 'text' })
  actionId: string;

  /** The action as it was sent. */
  @Column({ type: 'jsonb' })
  document: object;

  /** Former values, to undo it. */
  @Column({ type: 'jsonb' })
  revert: object;
}

/** A row whose documents are known by its kind. */
interface Expiring<
  Kind extends ExpiringKind,
  Document extends object,
  Revert extends object,
> extends ExpiringActionEntity {
  kind: Kind;
  document: Document;
  revert: Revert;
}

export type ExpiringBounceAction = Expiring<'BOUNCE', BounceRequest, { deployId: string }>;
type ExpiringPauseAction = Expiring<'PAUSE', PauseRequest, Record<string, never>>;
export type ExpiringScaleAction = Expiring<'SCALE', ScaleRequest, { revertToInstances?: number; bounce?: boolean }>;
type ExpiringPriorityAction = Expiring<'PRIORITY', PriorityRequest, { revertToPriority?: number }>;
type ExpiringSkipAction = Expiring<
  'SKIP_HEALTHCHECKS',
  SkipHealthchecksRequest,
  { revertToSkipHealthchecks?: boolean }
>;

/** A change of a request that lapses by itself. */
export type ExpiringRequestAction =
  ExpiringBounceAction | ExpiringPauseAction | ExpiringScaleAction | ExpiringPriorityAction | ExpiringSkipAction;
export type ExpiringRequestKind = ExpiringRequestAction['kind'];

/** A change of the state of a machine that lapses by itself. */
export type ExpiringMachineAction = Expiring<
  MachineKind,
  MachineChangeRequest,
  { revertToState: MachineState; killTasksOnDecommissionTimeout: boolean }
>;
