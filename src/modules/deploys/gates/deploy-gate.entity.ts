import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { GateState, GateType, MeasurementOutcome } from '../../../core/model/gate.js';

/** A gate after one step of a deploy. */
@Index('deploy_gate_due', { synchronize: false })
@Check('deploy_gate_step_check', '"step" > 0')
@Check('deploy_gate_gate_check', '"gate" > 0')
@Entity('deploy_gate')
export class DeployGateEntity {
  @PrimaryColumn({ name: 'request_id', type: 'text', primaryKeyConstraintName: 'deploy_gate_pkey' })
  requestId: string;

  @PrimaryColumn({ name: 'deploy_id', type: 'text', primaryKeyConstraintName: 'deploy_gate_pkey' })
  deployId: string;

  @PrimaryColumn({ type: 'integer', primaryKeyConstraintName: 'deploy_gate_pkey' })
  step: number;

  /** Its number in the settings of the deploy, from 1. */
  @PrimaryColumn({ type: 'integer', primaryKeyConstraintName: 'deploy_gate_pkey' })
  gate: number;

  @Column({ type: 'text' })
  type: GateType;

  @Column({ type: 'text' })
  state: GateState;

  @Column({ type: 'timestamptz' })
  since: Date;

  /** Time of the next measurement; only while there is one to come. */
  @Column({ name: 'next_at', type: 'timestamptz', nullable: true })
  nextAt: Date | null;

  @Column({ name: 'ended_at', type: 'timestamptz', nullable: true })
  endedAt: Date | null;

  @Column({ type: 'integer' })
  passes: number;

  @Column({ type: 'integer' })
  failures: number;

  @Column({ type: 'integer' })
  inconclusive: number;

  @Column({ name: 'user_name', type: 'text', nullable: true })
  userName: string | null;

  @Column({ type: 'text', nullable: true })
  message: string | null;
}

const measurementKey = { primaryKeyConstraintName: 'gate_measurement_pkey' } as const;

/** One answer that a gate got. */
@Check('gate_measurement_number_check', '"number" > 0')
@Entity('gate_measurement')
export class GateMeasurementEntity {
  @PrimaryColumn({ name: 'request_id', type: 'text', ...measurementKey })
  requestId: string;

  @PrimaryColumn({ name: 'deploy_id', type: 'text', ...measurementKey })
  deployId: string;

  @PrimaryColumn({ type: 'integer', ...measurementKey })
  step: number;

  @PrimaryColumn({ type: 'integer', ...measurementKey })
  gate: number;

  @PrimaryColumn({ type: 'integer', ...measurementKey })
  number: number;

  @Column({ type: 'timestamptz' })
  at: Date;

  @Column({ type: 'text' })
  outcome: MeasurementOutcome;

  @Column({ type: 'double precision', nullable: true })
  value: number | null;

  @Column({ type: 'text', nullable: true })
  message: string | null;
}
