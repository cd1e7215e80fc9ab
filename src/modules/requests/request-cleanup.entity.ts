import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { RequestCleanupType } from '../../core/model/enums.js';
import type { RequestCleanup, ShellCommand } from '../../core/model/request.js';
import { absentWhenNull, epochMillis } from '../../platform/database/entity-values.js';

/** Work on a request that the cleanup poller still has to do. */
@Entity('request_cleanup')
export class RequestCleanupEntity implements RequestCleanup {
  @Column({ name: 'user_name', type: 'text', nullable: true, transformer: absentWhenNull })
  user?: string;

  @PrimaryColumn({ name: 'cleanup_type', type: 'text', primaryKeyConstraintName: 'request_cleanup_pkey' })
  cleanupType: RequestCleanupType;

  @Column({ name: 'created_at', type: 'timestamptz', transformer: epochMillis })
  timestamp: number;

  @Column({ name: 'kill_tasks', type: 'boolean', nullable: true, transformer: absentWhenNull })
  killTasks?: boolean;

  @Column({ name: 'remove_from_load_balancer', type: 'boolean', nullable: true, transformer: absentWhenNull })
  removeFromLoadBalancer?: boolean;

  @PrimaryColumn({ name: 'request_id', type: 'text', primaryKeyConstraintName: 'request_cleanup_pkey' })
  requestId: string;

  @Column({ name: 'deploy_id', type: 'text', nullable: true, transformer: absentWhenNull })
  deployId?: string;

  @Column({ name: 'skip_healthchecks', type: 'boolean', nullable: true, transformer: absentWhenNull })
  skipHealthchecks?: boolean;

  @Column({ type: 'text', nullable: true, transformer: absentWhenNull })
  message?: string;

  @Column({ name: 'action_id', type: 'text', nullable: true, transformer: absentWhenNull })
  actionId?: string;

  @Column({ name: 'run_shell_command_before_kill', type: 'jsonb', nullable: true, transformer: absentWhenNull })
  runShellCommandBeforeKill?: ShellCommand;

  @Column({ type: 'boolean', nullable: true, transformer: absentWhenNull })
  force?: boolean;

  @Column({ name: 'wait_for_tasks', type: 'boolean', nullable: true, transformer: absentWhenNull })
  waitForTasks?: boolean;
}
