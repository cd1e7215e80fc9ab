import { Inject, Injectable, Logger } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import type { EntityManager } from 'typeorm';
import type { Request } from '../../core/model/request.js';
import { judgeRunTime, type RunTimeDecision } from '../../core/requests/run-times.js';
import { parseTaskId } from '../../core/task-id.js';
import { TaskCleanups } from '../../modules/tasks/task-cleanups.service.js';
import { Database } from '../../platform/database/database.js';
import { rows } from '../../platform/database/sql.js';
import { NotLeaderError } from '../../platform/leadership/leadership.js';
import { Pollers } from '../../platform/poller/pollers.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Wake } from '../../platform/wake/wake.js';

interface RunRow {
  task_id: string;
  started_at: Date;
  average_runtime_millis: number | null;
  overdue_alert_at: Date | null;
  request: Request;
}

/** Ends runs that take longer than they may, and tells once of those that take longer than they should. */
@Injectable()
export class JobPoller {
  private readonly log = new Logger(JobPoller.name);

  constructor(
    pollers: Pollers,
    private readonly db: Database,
    private readonly cleanups: TaskCleanups,
    private readonly wake: Wake,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    pollers.register({ name: 'jobs', everyMs: settings.checkJobsEveryMillis, pass: (now) => this.runOnce(now) });
  }

  async runOnce(now: number): Promise<void> {
    for (const run of await this.longRuns(now)) {
      await this.judge(run, now).catch((cause: unknown) => {
        if (cause instanceof NotLeaderError) throw cause;
        this.log.error(`The run time of task '${run.task_id}' cannot be judged: ${String(cause)}`, cause);
      });
    }
  }

  /** Runs that nobody has told to go, old enough that there may be something to say. */
  private longRuns(now: number): Promise<RunRow[]> {
    const { taskExecutionTimeLimitMillis, warnIfScheduledJobIsRunningForAtLeastMillis } = this.settings;
    return rows<RunRow>(
      this.db.manager,
      `SELECT t.task_id, t.started_at, t.overdue_alert_at, r.document AS request,
         s.average_runtime_millis::double precision AS average_runtime_millis
       FROM task t JOIN request r ON r.id = t.request_id
         LEFT JOIN deploy_statistics s ON s.request_id = t.request_id AND s.deploy_id = t.deploy_id
       WHERE t.ended_at IS NULL AND r.request_type NOT IN ('SERVICE', 'WORKER')
         AND (extract(epoch FROM $1::timestamptz - t.started_at) * 1000
             >= coalesce((r.document->>'taskExecutionTimeLimitMillis')::bigint, $2::bigint)
           OR (r.request_type = 'SCHEDULED' AND t.overdue_alert_at IS NULL AND t.started_at <= $3::timestamptz))
         AND NOT EXISTS (SELECT 1 FROM task_cleanup c WHERE c.task_id = t.task_id)
       ORDER BY t.task_id`,
      [
        new Date(now),
        taskExecutionTimeLimitMillis ?? null,
        new Date(now - warnIfScheduledJobIsRunningForAtLeastMillis),
      ],
    );
  }

  private async judge(run: RunRow, now: number): Promise<void> {
    const decision = judgeRunTime(run.request, activeRun(run), this.settings, now);
    if (decision.kind === 'end') {
      await this.db.leaderTransaction((tx) => this.end(tx, run.task_id, decision, now));
      this.wake.signal('cleanup');
    }
    if (decision.kind === 'overdue' && run.overdue_alert_at === null) {
      const isFirst = await this.db.leaderTransaction((tx) => this.markOverdue(tx, run.task_id, now));
      if (isFirst) this.warn(run.task_id, decision);
    }
  }

  private warn(taskId: string, { runMillis, expectedMillis }: Extract<RunTimeDecision, { kind: 'overdue' }>): void {
    this.log.warn(
      `Task '${taskId}' is overdue: it has run for ${runMillis} ms, about ${expectedMillis} ms were expected`,
    );
  }

  private async end(
    tx: EntityManager,
    taskId: string,
    { runMillis, limitMillis }: Extract<RunTimeDecision, { kind: 'end' }>,
    now: number,
  ): Promise<void> {
    await this.cleanups.create(tx, {
      taskId: parseTaskId(taskId)!,
      cleanupType: 'TASK_EXCEEDED_TIME_LIMIT',
      timestamp: now,
      message: `Ran for ${runMillis} ms, more than the ${limitMillis} ms allowed`,
      actionId: randomUUID(),
    });
  }

  /** false: it ended meanwhile, or it was told before. */
  private async markOverdue(tx: EntityManager, taskId: string, now: number): Promise<boolean> {
    const marked = await rows(
      tx,
      `UPDATE task SET overdue_alert_at = $2
       WHERE task_id = $1 AND ended_at IS NULL AND overdue_alert_at IS NULL RETURNING task_id`,
      [taskId, new Date(now)],
    );
    return marked.length > 0;
  }
}

const activeRun = ({ started_at, average_runtime_millis }: RunRow) => ({
  startedAt: started_at.getTime(),
  averageRuntimeMillis: average_runtime_millis ?? undefined,
});
