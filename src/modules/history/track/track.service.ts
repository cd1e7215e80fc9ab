import { Injectable } from '@nestjs/common';
import type { TimeRange } from '../../../core/authorization/index.js';
import type { RunKey, TaskTracking } from '../../../core/model/task.js';
import { Database } from '../../../platform/database/database.js';
import type { Transaction } from '../../../platform/database/transaction.js';
import { SchedulerError } from '../../../platform/errors.js';
import type { TaskRecord } from '../task-history.repository.js';
import { Rows } from '../../../rows.js';

/** Follows one task from the wish to run it to its end. */
@Injectable()
export class TrackService {
  constructor(
    private readonly db: Database,
    private readonly rows: Rows,
  ) {}

  task(taskId: string): Promise<TaskTracking> {
    return this.db.snapshot(async (tx) => {
      const record = await this.rows.taskHistory.find(tx, taskId);
      if (!record || record.history.taskUpdates.length === 0) throw SchedulerError.taskNotFound(taskId);
      return toTracking(record);
    });
  }

  /** The newest task of the run; while there is none, what waits to become it. */
  run(run: RunKey, past: TimeRange): Promise<TaskTracking> {
    // One snapshot: a run must not be overlooked because it moves on from one table to the next meanwhile.
    return this.db.snapshot(async (tx) => {
      const newest = await this.rows.taskSearch.newestOfRun(tx, run, past);
      const record = newest && (await this.rows.taskHistory.find(tx, newest.taskId.id));
      if (record) return toTracking(record);
      // What waits belongs to the request that is there.
      const waiting = past.before === undefined && (await this.waiting(tx, run));
      if (waiting) return waiting;
      const when = run.askedAt === undefined ? '' : ` asked for at ${run.askedAt}`;
      throw new SchedulerError('RUN_NOT_FOUND', `Request '${run.requestId}' has no run '${run.runId}'${when}`);
    });
  }

  private async waiting(tx: Transaction, run: RunKey): Promise<TaskTracking | undefined> {
    const state = { runId: run.runId, taskHistory: [], pending: true };
    const pending = await this.rows.pendingTasks.ofRun(tx, run);
    if (pending) return { ...state, pendingTaskId: pending.pendingTaskId };
    return (await this.rows.pendingRequests.hasRun(tx, run)) ? state : undefined;
  }
}

function toTracking({ history, runId }: TaskRecord): TaskTracking {
  const { task, taskUpdates } = history;
  return {
    taskId: task.taskId,
    pendingTaskId: task.taskRequest.pendingTask.pendingTaskId,
    runId: runId ?? task.taskRequest.pendingTask.runId,
    currentState: taskUpdates.at(-1)?.taskState,
    taskHistory: taskUpdates,
    pending: false,
  };
}
