import { Injectable, Logger } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { decideRecovery, statusChange } from '../../core/completion/index.js';
import { isInProgress } from '../../core/load-balancer/index.js';
import { LoadBalancerRecordRepository } from '../../modules/load-balancer/load-balancer-record.repository.js';
import { LoadBalancerRemovalRepository } from '../../modules/load-balancer/load-balancer-removal.repository.js';
import { LoadBalancer } from '../../modules/load-balancer/load-balancer.js';
import type { TaskId } from '../../core/model/task.js';
import { RequestRepository } from '../../modules/requests/request.repository.js';
import { LaunchedTaskRepository } from '../../modules/tasks/launched-task.repository.js';
import { TaskCleanupRepository } from '../../modules/tasks/task-cleanup.repository.js';
import { PendingRequestRepository } from '../../modules/tasks/pending-request.repository.js';
import { TaskStatusRepository, type ReportedTask } from '../../modules/tasks/task-status.repository.js';
import { OutboxRepository } from '../../modules/events/outbox.repository.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import type { Report } from './report.js';

export type ReturnOutcome = 'GOES_ON' | 'KILL' | 'NOTHING_TO_DO';

/** Tasks that were given up before their end was seen, and whose machine is back with them. */
@Injectable()
export class ReturnedTasks {
  private readonly log = new Logger(ReturnedTasks.name);

  constructor(
    private readonly db: Database,
    private readonly requests: RequestRepository,
    private readonly statuses: TaskStatusRepository,
    private readonly queue: PendingRequestRepository,
    private readonly cleanups: TaskCleanupRepository,
    private readonly loadBalancer: LoadBalancer,
    private readonly balancing: LoadBalancerRecordRepository,
    private readonly leaving: LoadBalancerRemovalRepository,
    private readonly launched: LaunchedTaskRepository,
    private readonly outbox: OutboxRepository,
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
    const requestId = await this.statuses.requestIdOf(tx, taskId);
    if (requestId === undefined) return undefined;
    await this.requests.lock(tx, requestId);
    return (await this.statuses.lockTasks(tx, [taskId])).get(taskId);
  }

  private async recover(tx: EntityManager, { taskId, state }: ReportedTask, report: Report): Promise<ReturnOutcome> {
    const request = await this.requests.find(tx, taskId.requestId);
    const updates = await this.statuses.statesOf(tx, taskId.id);
    const hadToGo = updates.some((update) => update.state === 'TASK_CLEANING');
    const endReason = updates.find((update) => update.state === state)?.reason ?? undefined;
    const removal = (await this.balancing.find(tx, [taskId.id])).get(taskId.id)!.remove;
    const isReplaced = await this.statuses.runsElsewhere(tx, taskId);
    const now = this.clock.now();
    const end = { state, reason: endReason };
    const known = { taskId, end, hadToGo, updates: updates.length, isReplaced, removal };
    const decision = decideRecovery(known, request, now);
    if (decision.enqueue) await this.queue.enqueue(tx, decision.enqueue);
    if (decision.killedBecause !== undefined) {
      this.log.warn(`Task '${taskId.id}' was ${state} and is alive, but cannot go on: ${decision.killedBecause}`);
      return 'KILL';
    }
    this.log.warn(`Task '${taskId.id}' was ${state} and is alive: it goes on as ${report.state}`);
    await this.statuses.reactivate(tx, report);
    await this.enterLoadBalancer(tx, taskId, decision.hasToGo, now);
    const { timestamp, message, reason } = report;
    const update = { taskId, timestamp, taskState: report.state, statusMessage: message, statusReason: reason };
    await this.outbox.tasks(tx, [{ ...update, previous: [] }], (ids) => this.launched.records(tx, ids));
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
