import { Injectable, Logger } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { decideRecovery, statusChange } from '../../core/completion/index.js';
import { RequestStore } from '../../modules/requests/request-store.service.js';
import { loadLaunchedTask } from '../../modules/tasks/task-cleanups.service.js';
import { PendingQueue } from '../../modules/tasks/pending-queue.service.js';
import { WebhookOutbox } from '../../modules/webhooks/webhook-outbox.service.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import { rows } from '../../platform/database/sql.js';
import type { Report } from './report.js';
import type { ReportedTask } from './status-batch.js';
import { StatusStore } from './status-store.service.js';

export type ReturnOutcome = 'GOES_ON' | 'KILL' | 'NOTHING_TO_DO';

/** Tasks that were given up without anybody having seen their end, and whose machine is back with them. */
@Injectable()
export class ReturnedTasks {
  private readonly log = new Logger(ReturnedTasks.name);

  constructor(
    private readonly db: Database,
    private readonly requests: RequestStore,
    private readonly store: StatusStore,
    private readonly queue: PendingQueue,
    private readonly outbox: WebhookOutbox,
    private readonly clock: Clock,
  ) {}

  /** In a transaction of its own: the request's lock comes before the task's, and only now is it known to be needed. */
  settle(report: Report): Promise<ReturnOutcome> {
    return this.db.leaderTransaction(async (tx) => {
      const task = await this.lock(tx, report);
      if (!task) return 'KILL';
      // Looked at again under the locks: it may have gone on, or ended for good, meanwhile.
      const change = statusChange(task, report);
      if (change.kind === 'kill') return 'KILL';
      if (change.kind !== 'recover') return 'NOTHING_TO_DO';
      return this.recover(tx, task, report);
    });
  }

  private async lock(tx: EntityManager, { taskId }: Report): Promise<ReportedTask | undefined> {
    const [found] = await rows<{ request_id: string }>(tx, 'SELECT request_id FROM task WHERE task_id = $1', [taskId]);
    if (!found) return undefined;
    await this.requests.lock(tx, found.request_id);
    return (await this.store.lockTasks(tx, [taskId])).get(taskId);
  }

  private async recover(tx: EntityManager, { taskId, state }: ReportedTask, report: Report): Promise<ReturnOutcome> {
    const request = await this.requests.find(tx, taskId.requestId);
    const updates = await rows<{ state: string }>(tx, 'SELECT state FROM task_update WHERE task_id = $1', [taskId.id]);
    const hadToGo = updates.some((update) => update.state === 'TASK_CLEANING');
    const decision = decideRecovery({ taskId, hadToGo, updates: updates.length }, request, this.clock.now());
    if (decision.enqueue) await this.queue.enqueue(tx, decision.enqueue);
    if (decision.killedBecause !== undefined) {
      this.log.warn(`Task '${taskId.id}' was ${state} and is alive, but cannot go on: ${decision.killedBecause}`);
      return 'KILL';
    }
    this.log.warn(`Task '${taskId.id}' was ${state} and is alive: it goes on as ${report.state}`);
    await this.store.reactivate(tx, report);
    const { timestamp, message, reason } = report;
    const update = { taskId, timestamp, taskState: report.state, statusMessage: message, statusReason: reason };
    await this.outbox.tasks(tx, [{ ...update, previous: [] }], (id) => loadLaunchedTask(tx, id));
    return 'GOES_ON';
  }
}
