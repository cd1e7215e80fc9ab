import { Injectable, Logger } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { decideRecovery, statusChange } from '../../core/completion/index.js';
import { isInProgress } from '../../core/load-balancer/index.js';
import { LoadBalancerRecords } from '../../modules/load-balancer/load-balancer-records.service.js';
import { LoadBalancerRemovals } from '../../modules/load-balancer/load-balancer-removals.service.js';
import { LoadBalancer } from '../../modules/load-balancer/load-balancer.js';
import type { TaskId } from '../../core/model/task.js';
import { RequestStore } from '../../modules/requests/request-store.service.js';
import { loadLaunchedTask, TaskCleanups } from '../../modules/tasks/task-cleanups.service.js';
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
    private readonly cleanups: TaskCleanups,
    private readonly loadBalancer: LoadBalancer,
    private readonly balancing: LoadBalancerRecords,
    private readonly leaving: LoadBalancerRemovals,
    private readonly outbox: WebhookOutbox,
    private readonly clock: Clock,
  ) {}

  /** In a transaction of its own: the request's lock comes before the task's, and only now is it known to be needed. */
  async settle(report: Report): Promise<ReturnOutcome> {
    await this.askLoadBalancer(report.taskId);
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

  /** How far its removal is: once that is over, the task may come in again. */
  private async askLoadBalancer(taskId: string): Promise<void> {
    const { remove } = (await this.balancing.find(this.db.manager, [taskId])).get(taskId)!;
    if (!remove || !isInProgress(remove)) return;
    const answer = await this.loadBalancer.state(remove.loadBalancerRequestId);
    await this.db.leaderTransaction((tx) => this.balancing.saveAnswer(tx, taskId, 'REMOVE', remove, answer));
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
    const removal = (await this.balancing.find(tx, [taskId.id])).get(taskId.id)!.remove;
    const now = this.clock.now();
    const decision = decideRecovery({ taskId, hadToGo, updates: updates.length, removal }, request, now);
    if (decision.enqueue) await this.queue.enqueue(tx, decision.enqueue);
    if (decision.killedBecause !== undefined) {
      this.log.warn(`Task '${taskId.id}' was ${state} and is alive, but cannot go on: ${decision.killedBecause}`);
      return 'KILL';
    }
    this.log.warn(`Task '${taskId.id}' was ${state} and is alive: it goes on as ${report.state}`);
    await this.store.reactivate(tx, report);
    await this.enterLoadBalancer(tx, taskId, decision.hasToGo, now);
    const { timestamp, message, reason } = report;
    const update = { taskId, timestamp, taskState: report.state, statusMessage: message, statusReason: reason };
    await this.outbox.tasks(tx, [{ ...update, previous: [] }], (id) => loadLaunchedTask(tx, id));
    return 'GOES_ON';
  }

  /** As if it were new there; unless it is just being let go of, which goes on to its end. */
  private async enterLoadBalancer(tx: EntityManager, taskId: TaskId, hasToGo: boolean, now: number): Promise<void> {
    if (hasToGo) {
      const message = 'The task came back while the load balancer was letting go of it';
      await this.cleanups.create(tx, { taskId, cleanupType: 'DECOMISSIONING', timestamp: now, message });
    } else {
      await this.leaving.remove(tx, taskId.id);
      await this.balancing.forget(tx, [taskId.id]);
    }
  }
}
