import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { RequestCleanupType } from '../../core/model/enums.js';
import type { ShellCommand } from '../../core/model/request.js';

/** What the cleanup poller still has to do to a request. */
@Entity('request_cleanup')
export class RequestCleanupEntity {
  @PrimaryColumn({ name: 'request_id', type: 'text', primaryKeyConstraintName: 'request_cleanup_pkey' })
  requestId: string;

  @PrimaryColumn({ name: 'cleanup_type', type: 'text', primaryKeyConstraintName: 'request_cleanup_pkey' })
  cleanupType: RequestCleanupType;

  @Column({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  @Column({ name: 'deploy_id', type: 'text', nullable: true })
  deployId: string | null;

  @Column({ name: 'user_name', type: 'text', nullable: true })
  userName: string | null;

  @Column({ name: 'kill_tasks', type: 'boolean', nullable: true })
  killTasks: boolean | null;

  @Column({ name: 'remove_from_load_balancer', type: 'boolean', nullable: true })
  removeFromLoadBalancer: boolean | null;

  @Column({ name: 'skip_healthchecks', type: 'boolean', nullable: true })
  skipHealthchecks: boolean | null;

  @Column({ type: 'text', nullable: true })
  message: string | null;

  @Column({ name: 'action_id', type: 'text', nullable: true })
  actionId: string | null;

  @Column({ name: 'run_shell_command_before_kill', type: 'jsonb', nullable: true })
  runShellCommandBeforeKill: ShellCommand | null;
}
