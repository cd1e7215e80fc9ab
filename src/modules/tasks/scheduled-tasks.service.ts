import { Injectable } from '@nestjs/common';
import { isRunnable, requestStates } from '../../core/model/enums.js';
import type { Deploy } from '../../core/model/deploy.js';
import type { Request } from '../../core/model/request.js';
import type { PendingTask, PendingTaskId, TaskRequest } from '../../core/model/task.js';
import { parsePendingTaskId } from '../../core/task-id.js';
import { Database } from '../../platform/database/database.js';
import { rows } from '../../platform/database/sql.js';
import { SchedulerError } from '../../platform/errors.js';
import { Wake } from '../../platform/wake/wake.js';

/** Order of pending tasks everywhere. */
const order = 'p.next_run_at, p.request_id, p.deploy_id, p.instance_no, p.created_at, p.id';
const runnable = requestStates.filter(isRunnable);

interface ScheduledRow {
  pending_task: PendingTask;
  request: Request;
  deploy: Deploy;
}

/** Tasks that wait for their time or for a machine. */
@Injectable()
export class ScheduledTasks {
  constructor(
    private readonly db: Database,
    private readonly wake: Wake,
  ) {}

  /** With the request as it will be when its pending deploy succeeds. Those that cannot run as things stand are left out. */
  async list(filter: { requestId?: string; id?: string } = {}): Promise<TaskRequest[]> {
    const found = await rows<ScheduledRow>(
      this.db.manager,
      `SELECT p.document AS pending_task, coalesce(pd.updated_request, r.document) AS request, d.data->'deploy' AS deploy
       FROM pending_task p JOIN request r ON r.id = p.request_id AND r.state = ANY ($3)
       JOIN deploy_history d ON d.request_id = p.request_id AND d.deploy_id = p.deploy_id AND d.data IS NOT NULL
       LEFT JOIN pending_deploy pd ON pd.request_id = p.request_id AND pd.deploy_id = p.deploy_id
       WHERE NOT p.delete_requested AND ($1::text IS NULL OR p.request_id = $1) AND ($2::text IS NULL OR p.id = $2)
       ORDER BY ${order}`,
      [filter.requestId ?? null, filter.id ?? null, runnable],
    );
    return found.map(({ request, deploy, pending_task: pendingTask }) => ({ request, deploy, pendingTask }));
  }

  async ids(): Promise<PendingTaskId[]> {
    const found = await rows<{ id: string }>(
      this.db.manager,
      `SELECT p.id FROM pending_task p WHERE NOT p.delete_requested ORDER BY ${order}`,
    );
    return found.map((row) => parsePendingTaskId(row.id)!);
  }

  async find(id: string): Promise<TaskRequest> {
    const [found] = await this.list({ id });
    if (!found) throw notFound(id);
    return found;
  }

  /** Takes a run of an ON_DEMAND request back before it starts. The scheduler removes the row, unless it launched it first. */
  async remove(id: string): Promise<PendingTask> {
    const removed = await this.db.transaction(async (tx) => {
      const [found] = await rows<{ document: PendingTask; request_type: string | null }>(
        tx,
        `SELECT p.document, r.request_type FROM pending_task p LEFT JOIN request r ON r.id = p.request_id
         WHERE p.id = $1 AND NOT p.delete_requested FOR NO KEY UPDATE OF p`,
        [id],
      );
      if (!found) throw notFound(id);
      if (found.request_type !== 'ON_DEMAND') {
        const message = `Only pending tasks of ON_DEMAND requests can be deleted; '${id}' is of ${found.request_type ?? 'no'} request`;
        throw new SchedulerError('INVALID_REQUEST', message);
      }
      await tx.query('UPDATE pending_task SET delete_requested = true WHERE id = $1', [id]);
      return found.document;
    });
    this.wake.signal('scheduler');
    return removed;
  }
}

const notFound = (id: string): SchedulerError =>
  new SchedulerError('PENDING_TASK_NOT_FOUND', `No pending task with id '${id}'`);
