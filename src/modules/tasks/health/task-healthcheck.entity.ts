import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The result of one health check of a live task. */
@Entity('task_healthcheck')
export class TaskHealthcheckEntity {
  @PrimaryColumn({ name: 'task_id', type: 'text', primaryKeyConstraintName: 'task_healthcheck_pkey' })
  taskId: string;

  @PrimaryColumn({ name: 'checked_at', type: 'timestamptz', primaryKeyConstraintName: 'task_healthcheck_pkey' })
  checkedAt: Date;

  @PrimaryColumn({ type: 'boolean', primaryKeyConstraintName: 'task_healthcheck_pkey' })
  startup: boolean;

  @Column({ name: 'status_code', type: 'integer', nullable: true })
  statusCode: number | null;

  @Column({ name: 'duration_millis', type: 'integer', nullable: true })
  durationMillis: number | null;

  @Column({ name: 'response_body', type: 'text', nullable: true })
  responseBody: string | null;

  @Column({ name: 'error_message', type: 'text', nullable: true })
  errorMessage: string | null;
}
