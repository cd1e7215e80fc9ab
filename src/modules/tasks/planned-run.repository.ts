import { Injectable } from '@nestjs/common';
import { runnableStates, type RequestState } from '../../core/model/enums.js';
import type { Request } from '../../core/model/request.js';
import type { PendingTaskId } from '../../core/model/task.js';
import type { RequestToRun } from '../../core/pending-work/index.js';
import { parsePendingTaskId } from '../../core/task-id.js';
import type { ClockLimit } from '../../platform/clock-limit.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { rows, toMillis } from '../../platform/database/sql.js';

/** When a request runs next. */
export interface PlannedRun extends RequestToRun {
  id: PendingTaskId;
}

/** Pending tasks whose time is still to come. By hand: each statement is about the rows of all requests. */
@Injectable()
export class PlannedRunRepository {
  /** The next runs of active SCHEDULED requests that are after `time`. */
  async scheduledAfter(tx: Queryable, time: number): Promise<PlannedRun[]> {
    const found = await rows<{ id: string; request: Request; state: RequestState; schedule_since: Date | null }>(
      tx,
      `SELECT p.id, r.document AS request, r.state, r.schedule_since FROM pending_task p
       JOIN request r ON r.id = p.request_id AND r.active_deploy_id = p.deploy_id AND r.state = ANY ($2)
       WHERE r.request_type = 'SCHEDULED' AND p.next_run_at > $1 AND NOT p.delete_requested`,
      [new Date(time), runnableStates],
    );
    return found.map(({ id, request, state, schedule_since }) => ({
      id: parsePendingTaskId(id)!,
      request,
      state,
      scheduleSince: toMillis(schedule_since),
    }));
  }

  /** Their time has come, and they wait for a run of their request. */
  async markBuffered(tx: Transaction, ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    await tx.query(`UPDATE pending_task SET document = document || '{"buffered": true}' WHERE id = ANY ($1)`, [ids]);
  }

  /**
   * Tasks of services and workers that wait, for the end of a cooldown, since a time that is still to come. A takeover plans what is
   * missing of them.
   */
  async dropPlannedAhead(tx: Transaction, { now, latest }: ClockLimit): Promise<void> {
    await tx.query(
      `UPDATE pending_task p SET delete_requested = true FROM request r
       WHERE r.id = p.request_id AND r.active_deploy_id = p.deploy_id AND r.request_type IN ('SERVICE', 'WORKER')
         AND p.next_run_at > $1 AND p.next_run_at > p.created_at AND p.created_at > $2 AND NOT p.delete_requested`,
      [now, latest],
    );
  }
}
