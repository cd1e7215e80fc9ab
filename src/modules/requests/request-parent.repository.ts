import { Injectable } from '@nestjs/common';
import type { Deploy, DeployMarker } from '../../core/model/deploy.js';
import type { TaskCleanupType, TaskState } from '../../core/model/enums.js';
import type { PendingTaskId } from '../../core/model/task.js';
import { makeTaskId, parsePendingTaskId } from '../../core/task-id.js';
import type { Queryable } from '../../platform/database/queryable.js';
import { rows } from '../../platform/database/sql.js';
import { markerFromRow } from '../deploys/deploy.repository.js';
import type { JudgedTask } from '../tasks/health/watched-task.repository.js';
import { requestKinds } from '../../platform/actions/expiring-action.repository.js';
import { requestColumns, storedRequest, type RequestRow, type StoredRequest } from './request.repository.js';

/** The deploy that runs, or that is to run next. */
export interface DeployOfRequest {
  marker: DeployMarker;
  /** Absent: it was purged. */
  deploy?: Deploy;
}

/** A request with what goes on around it, as far as one statement reads it; what else there is goes by the two flags. */
export interface RequestRows {
  stored: StoredRequest;
  active?: DeployOfRequest;
  pending?: DeployOfRequest;
  hasDeployInProgress: boolean;
  hasExpiringActions: boolean;
  /** In the order in which they are due. */
  waiting: PendingTaskId[];
  tasks: JudgedTask[];
}

interface TaskItem {
  deploy: string;
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

interface DeployColumns {
  created_at: Date | null;
  user_name: string | null;
  message: string | null;
  deploy: Deploy | null;
}
type Prefix = 'active' | 'pending';
type DeployRows = { [Name in keyof DeployColumns as `${Prefix}_${Name}`]: DeployColumns[Name] };

interface Row extends RequestRow, DeployRows {
  has_deploy_in_progress: boolean;
  has_expiring_actions: boolean;
  waiting: string[];
  tasks: TaskItem[];
}

const millis = (column: string): string => `floor(extract(epoch FROM ${column}) * 1000)::int8`;

const deployColumns = (prefix: Prefix): string =>
  `${prefix}.created_at AS ${prefix}_created_at, ${prefix}.user_name AS ${prefix}_user_name, ${prefix}.message AS ${prefix}_message,
   ${prefix}.data->'deploy' AS ${prefix}_deploy`;

/**
 * By hand: each run that a caller asks for and each look at one request is answered from this, hundreds of times a second. One statement
 * sees one moment and costs one way to the database, where a statement per table took nine.
 */
@Injectable()
export class RequestParentRepository {
  /** In the order of ids; unknown ids are left out. */
  async find(tx: Queryable, ids: readonly string[]): Promise<RequestRows[]> {
    const found = await rows<Row>(
      tx,
      `SELECT ${requestColumns('r')}, ${deployColumns('active')}, ${deployColumns('pending')},
         EXISTS (SELECT 1 FROM pending_deploy p WHERE p.request_id = r.id) AS has_deploy_in_progress,
         EXISTS (SELECT 1 FROM expiring_action e WHERE e.target_id = r.id AND e.kind = ANY ($2)) AS has_expiring_actions,
         (SELECT coalesce(json_agg(p.id ORDER BY p.next_run_at, p.id), '[]') FROM pending_task p
            WHERE p.request_id = r.id AND NOT p.delete_requested) AS waiting,
         (SELECT coalesce(json_agg(json_build_object('deploy', t.deploy_id, 'instance', t.instance_no,
              'startedAt', ${millis('t.started_at')}, 'host', t.host, 'rack', t.rack_id, 'state', t.state,
              'runningAt', ${millis('t.running_at')}, 'skips', t.skip_healthchecks, 'cleanup', c.cleanup_type,
              'killed', k.task_id IS NOT NULL) ORDER BY t.task_id), '[]')
            FROM task t LEFT JOIN task_cleanup c USING (task_id) LEFT JOIN killed_task k USING (task_id)
            WHERE t.request_id = r.id AND t.ended_at IS NULL) AS tasks
       FROM request r
       LEFT JOIN deploy_history active ON active.request_id = r.id AND active.deploy_id = r.active_deploy_id
       LEFT JOIN deploy_history pending ON pending.request_id = r.id AND pending.deploy_id = r.pending_deploy_id
       WHERE r.id = ANY ($1) ORDER BY r.id`,
      [ids, requestKinds],
    );
    return found.map(requestRows);
  }
}

function requestRows(row: Row): RequestRows {
  const stored = storedRequest(row);
  return {
    stored,
    active: deployOf(row, 'active'),
    pending: deployOf(row, 'pending'),
    hasDeployInProgress: row.has_deploy_in_progress,
    hasExpiringActions: row.has_expiring_actions,
    waiting: row.waiting.flatMap((id) => parsePendingTaskId(id) ?? []),
    tasks: row.tasks.map((item) => judgedTask(stored.request.id, item)),
  };
}

function deployOf(row: Row, prefix: Prefix): DeployOfRequest | undefined {
  const createdAt = row[`${prefix}_created_at`];
  if (!createdAt) return undefined;
  const marker = markerFromRow({
    request_id: row.document.id,
    deploy_id: row[`${prefix}_deploy_id`]!,
    created_at: createdAt,
    user_name: row[`${prefix}_user_name`],
    message: row[`${prefix}_message`],
  });
  return { marker, deploy: row[`${prefix}_deploy`] ?? undefined };
}

function judgedTask(requestId: string, item: TaskItem): JudgedTask {
  const { deploy: deployId, instance: instanceNo, startedAt, host, rack: rackId } = item;
  return {
    taskId: makeTaskId({ requestId, deployId, startedAt, instanceNo, host, rackId }),
    state: item.state,
    runningAt: item.runningAt ?? undefined,
    skipHealthchecks: item.skips,
    cleaning: item.cleanup ?? undefined,
    killed: item.killed,
  };
}
