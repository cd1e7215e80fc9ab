import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { RequestCleanupType } from '../../core/model/enums.js';
import type { RequestCleanup, ShellCommand } from '../../core/model/request.js';
import { rows } from '../../platform/database/sql.js';

interface RequestCleanupRow {
  request_id: string;
  cleanup_type: RequestCleanupType;
  created_at: Date;
  deploy_id: string | null;
  user_name: string | null;
  kill_tasks: boolean | null;
  remove_from_load_balancer: boolean | null;
  skip_healthchecks: boolean | null;
  message: string | null;
  action_id: string | null;
  run_shell_command_before_kill: ShellCommand | null;
}

/** Orders for a whole request (pause, delete, bounce) that the cleanup poller carries out; wake 'cleanup' after the commit. */
@Injectable()
export class RequestCleanups {
  /** First one wins: does nothing and answers false when an order of this type waits already. */
  async create(tx: EntityManager, cleanup: RequestCleanup): Promise<boolean> {
    const written = await rows(
      tx,
      `INSERT INTO request_cleanup (request_id, cleanup_type, created_at, deploy_id, user_name, kill_tasks,
         remove_from_load_balancer, skip_healthchecks, message, action_id, run_shell_command_before_kill)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
       ON CONFLICT (request_id, cleanup_type) DO NOTHING RETURNING request_id`,
      [
        cleanup.requestId,
        cleanup.cleanupType,
        new Date(cleanup.timestamp),
        cleanup.deployId ?? null,
        cleanup.user ?? null,
        cleanup.killTasks ?? null,
        cleanup.removeFromLoadBalancer ?? null,
        cleanup.skipHealthchecks ?? null,
        cleanup.message ?? null,
        cleanup.actionId ?? null,
        cleanup.runShellCommandBeforeKill ? JSON.stringify(cleanup.runShellCommandBeforeKill) : null,
      ],
    );
    return written.length > 0;
  }

  /** Oldest first: of one request, or all. */
  async find(tx: EntityManager, requestId?: string): Promise<RequestCleanup[]> {
    const found = await rows<RequestCleanupRow>(
      tx,
      `SELECT * FROM request_cleanup WHERE $1::text IS NULL OR request_id = $1
       ORDER BY created_at, request_id, cleanup_type`,
      [requestId ?? null],
    );
    return found.map(fromRow);
  }

  async remove(tx: EntityManager, requestId: string, types: readonly RequestCleanupType[]): Promise<void> {
    await tx.query('DELETE FROM request_cleanup WHERE request_id = $1 AND cleanup_type = ANY ($2)', [requestId, types]);
  }
}

const fromRow = (row: RequestCleanupRow): RequestCleanup => ({
  user: row.user_name ?? undefined,
  cleanupType: row.cleanup_type,
  timestamp: row.created_at.getTime(),
  killTasks: row.kill_tasks ?? undefined,
  removeFromLoadBalancer: row.remove_from_load_balancer ?? undefined,
  requestId: row.request_id,
  deployId: row.deploy_id ?? undefined,
  skipHealthchecks: row.skip_healthchecks ?? undefined,
  message: row.message ?? undefined,
  actionId: row.action_id ?? undefined,
  runShellCommandBeforeKill: row.run_shell_command_before_kill ?? undefined,
});
