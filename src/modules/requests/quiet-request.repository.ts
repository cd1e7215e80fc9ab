import { Injectable } from '@nestjs/common';
import type { TaskCleanupType, TaskState } from '../../core/model/enums.js';
import type { PendingTaskId } from '../../core/model/task.js';
import { makeTaskId, parsePendingTaskId } from '../../core/task-id.js';
import type { Queryable } from '../../platform/database/queryable.js';
import { rows } from '../../platform/database/sql.js';
import { storedDeploy, type DeployRow, type StoredDeploy } from '../deploys/deploy.repository.js';
import type { JudgedTask } from '../tasks/health/watched-task.repository.js';
import { requestKinds } from './expiring/expiring-action.repository.js';
import { requestColumns, storedRequest, type RequestRow, type StoredRequest } from './request.repository.js';

/** A request with one deploy, around which nothing goes on but tasks of that deploy, which are not checked. */
export interface QuietRequest {
  stored: StoredRequest;
  deploy: StoredDeploy;
  /** In the order in which they are due. */
  pending: PendingTaskId[];
  tasks: JudgedTask[];
}

interface TaskItem {
  instance: number;
  startedAt: number;
  host: string;
  rack: string;
  state: TaskState;
  runningAt: number | null;
  skips: boolean;
  cleanup: TaskCleanupType | null;
  killed: boolean;
}

interface Row extends RequestRow, DeployRow {
  pending: string[];
  tasks: TaskItem[];
}

const millis = (column: string): string => `floor(extract(epoch FROM ${column}) * 1000)::int8`;

/**
 * By hand: each run that a caller asks for and each look at one request is answered from this, hundreds of times a second. What is read
 * at one moment by one statement takes nine otherwise.
 */
@Injectable()
export class QuietRequestRepository {
  /** By id. Those around which anything else goes on are left out. */
  async find(tx: Queryable, ids: readonly string[]): Promise<Map<string, QuietRequest>> {
    const found = await rows<Row>(
      tx,
      `SELECT ${requestColumns('r')}, d.request_id, d.deploy_id, d.created_at, d.user_name, d.message, d.data,
         (SELECT coalesce(json_agg(p.id ORDER BY p.next_run_at, p.id), '[]') FROM pending_task p
            WHERE p.request_id = r.id AND NOT p.delete_requested) AS pending,
         (SELECT coalesce(json_agg(json_build_object('instance', t.instance_no, 'startedAt', ${millis('t.started_at')},
              'host', t.host, 'rack', t.rack_id, 'state', t.state, 'runningAt', ${millis('t.running_at')},
              'skips', t.skip_healthchecks, 'cleanup', c.cleanup_type, 'killed', k.task_id IS NOT NULL)
              ORDER BY t.task_id), '[]')
            FROM task t LEFT JOIN task_cleanup c USING (task_id) LEFT JOIN killed_task k USING (task_id)
            WHERE t.request_id = r.id AND t.ended_at IS NULL) AS tasks
       FROM request r JOIN deploy_history d ON d.request_id = r.id AND d.deploy_id = r.active_deploy_id
       WHERE r.id = ANY ($1) AND r.pending_deploy_id IS NULL
         AND d.data IS NOT NULL AND d.data #> '{deploy,healthcheck}' IS NULL
         AND coalesce((r.document ->> 'loadBalanced')::boolean, false) = false
         AND NOT EXISTS (SELECT 1 FROM pending_deploy p WHERE p.request_id = r.id)
         AND NOT EXISTS (SELECT 1 FROM expiring_action e WHERE e.target_id = r.id AND e.kind = ANY ($2))
         AND NOT EXISTS (SELECT 1 FROM task t
           WHERE t.request_id = r.id AND t.ended_at IS NULL AND t.deploy_id <> r.active_deploy_id)`,
      [ids, requestKinds],
    );
    return new Map(found.map((row) => [row.request_id, quietRequest(row)]));
  }
}

const quietRequest = (row: Row): QuietRequest => ({
  stored: storedRequest(row),
  deploy: storedDeploy(row),
  pending: row.pending.flatMap((id) => parsePendingTaskId(id) ?? []),
  tasks: row.tasks.map(({ instance, startedAt, host, rack, state, runningAt, skips, cleanup, killed }) => ({
    taskId: makeTaskId({
      requestId: row.request_id,
      deployId: row.deploy_id,
      startedAt,
      instanceNo: instance,
      host,
      rackId: rack,
    }),
    state,
    runningAt: runningAt ?? undefined,
    skipHealthchecks: skips,
    cleaning: cleanup ?? undefined,
    killed,
  })),
});
