import { Inject, Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { parseTaskId } from '../../core/task-id.js';
import { TaskCleanups } from '../../modules/tasks/task-cleanups.service.js';
import { Database } from '../../platform/database/database.js';
import { rows } from '../../platform/database/sql.js';
import { Pollers } from '../../platform/poller/pollers.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Wake } from '../../platform/wake/wake.js';

/** Ends runs that take longer than their request, or the service, allows. */
@Injectable()
export class JobPoller {
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
    const late = await rows<{ task_id: string; limit_millis: number; run_millis: number }>(
      this.db.manager,
      `SELECT task_id, limit_millis, run_millis FROM (
         SELECT t.task_id, coalesce((r.document->>'taskExecutionTimeLimitMillis')::bigint, $2::bigint) AS limit_millis,
           (extract(epoch FROM $1::timestamptz - t.started_at) * 1000)::bigint AS run_millis
         FROM task t JOIN request r ON r.id = t.request_id
         WHERE t.ended_at IS NULL AND r.request_type NOT IN ('SERVICE', 'WORKER')
           AND NOT EXISTS (SELECT 1 FROM task_cleanup c WHERE c.task_id = t.task_id)) runs
       WHERE run_millis >= limit_millis ORDER BY task_id`,
      [new Date(now), this.settings.taskExecutionTimeLimitMillis ?? null],
    );
    for (const run of late) {
      const message = `Ran for ${run.run_millis} ms, more than the ${run.limit_millis} ms allowed`;
      await this.db.leaderTransaction((tx) =>
        this.cleanups.create(tx, {
          taskId: parseTaskId(run.task_id)!,
          cleanupType: 'TASK_EXCEEDED_TIME_LIMIT',
          timestamp: now,
          message,
          actionId: randomUUID(),
        }),
      );
    }
    if (late.length > 0) this.wake.signal('cleanup');
  }
}
