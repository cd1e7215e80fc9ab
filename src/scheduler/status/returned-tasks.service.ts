import { Injectable, Logger } from '@nestjs/common';
import { decideRecovery, isReportedEndValid, stateBeforeEnd, type TaskReturn } from '../../core/completion/index.js';
import { isInProgress, noRecords } from '../../core/load-balancer/index.js';
import type { TaskState } from '../../core/model/enums.js';
import { GroupRoom } from '../../core/placement/index.js';
import type { PendingRequest, TaskCleanup, TaskId } from '../../core/model/task.js';
import { Rows } from '../../rows.js';
import { LoadBalancer } from '../../platform/load-balancer/load-balancer.js';
import type { StoredRequest } from '../../modules/requests/request.repository.js';
import type { GivenUpTask, ReportedTask } from '../../modules/tasks/task-status.repository.js';
import { inParallel } from '../../platform/async.js';
import { Database } from '../../platform/database/database.js';
import type { Transaction } from '../../platform/database/transaction.js';
import type { Report } from './report.js';

/** Calls of the load balancer at a time, before tasks come back to it. */
const questionsAtOnce = 10;

/** Outcome of tasks that return. */
export interface SettledReturns {
  /** Tasks that are alive again by their rows, with the state from which their reports continue. */
  alive: { taskId: TaskId; state: TaskState; stateAt: number }[];
  /** Alive, but they cannot go on. */
  refused: Report[];
}

/** Changes for returns, written together at the end. */
interface Writes {
  alive: (SettledReturns['alive'][number] & { reported?: Report })[];
  refused: Report[];
  enqueued: PendingRequest[];
  cleanups: TaskCleanup[];
  entering: string[];
}

/** Tasks that were given up before their end was seen, and of which their machine tells again. */
@Injectable()
export class ReturnedTasks {
  private readonly log = new Logger(ReturnedTasks.name);

  constructor(
    private readonly db: Database,
    private readonly rows: Rows,
    private readonly loadBalancer: LoadBalancer,
  ) {}

  /**
   * Asks for the state of their removal: once that is over, a task may come in again. Before the transaction that
   * settles them.
   */
  async askLoadBalancer(taskIds: Iterable<string>): Promise<void> {
    const records = await this.rows.loadBalancerRecords.find(this.db.pool, [...taskIds]);
    await inParallel([...records], questionsAtOnce, async ([taskId, { remove }]) => {
      if (!remove || !isInProgress(remove)) return;
      const answer = await this.loadBalancer.state(remove.loadBalancerRequestId);
      await this.db.leaderTransaction((tx) =>
        this.rows.loadBalancerRecords.saveAnswer(tx, taskId, 'REMOVE', remove, answer),
      );
    });
  }

  /**
   * In a few statements, however many they are. Their requests and their rows are locked in `tx`: the lock of a request comes
   * before that of its tasks.
   */
  async settle(
    tx: Transaction,
    returns: readonly TaskReturn<Report>[],
    tasks: ReadonlyMap<string, ReportedTask>,
    requests: ReadonlyMap<string, StoredRequest>,
    now: number,
  ): Promise<SettledReturns> {
    const writes: Writes = { alive: [], refused: [], enqueued: [], cleanups: [], entering: [] };
    if (returns.length === 0) return writes;
    const ids = returns.map(({ first }) => first.taskId);
    const [known, balanced] = [
      await this.rows.taskStatuses.givenUp(tx, ids),
      await this.rows.loadBalancerRecords.find(tx, ids),
    ];
    const room = await this.groupRoom(tx, returns, tasks, requests);
    for (const one of returns) {
      const { taskId: id } = one.first;
      const task = tasks.get(id)!;
      const request = requests.get(task.taskId.requestId);
      if (one.end) this.takeEnd(one.end, task, known.get(id)!, request, writes);
      else
        this.restore(
          one.first,
          task,
          known.get(id)!,
          (balanced.get(id) ?? noRecords).remove,
          request,
          room,
          writes,
          now,
        );
    }
    await this.write(tx, writes);
    return writes;
  }

  /** Tasks that come back alive take their places in concurrency groups again, as far as there are some left. */
  private async groupRoom(
    tx: Transaction,
    returns: readonly TaskReturn<Report>[],
    tasks: ReadonlyMap<string, ReportedTask>,
    requests: ReadonlyMap<string, StoredRequest>,
  ): Promise<GroupRoom> {
    const names = returns.flatMap(({ first, end }) => {
      const request = requests.get(tasks.get(first.taskId)!.taskId.requestId)?.request;
      return end ? [] : (request?.concurrencyGroup?.name ?? []);
    });
    return new GroupRoom(names.length > 0 ? await this.rows.concurrencyGroups.lockUse(tx, names) : undefined);
  }

  /** It is over: from where it was when it was given up, its reports lead to its end as those of any task. */
  private takeEnd(
    report: Report,
    { taskId, state, stateAt }: ReportedTask,
    { reasons, isAnswered }: GivenUpTask,
    request: StoredRequest | undefined,
    { alive }: Writes,
  ): void {
    const before = stateBeforeEnd([...reasons.keys()]);
    const end = { state, reason: reasons.get(state) ?? undefined };
    const hasBegun = isAnswered || before !== 'TASK_LAUNCHED';
    const hadToGo = reasons.has('TASK_CLEANING');
    if (!isReportedEndValid(report.state, { end, hadToGo, hasBegun }, request)) return;
    this.log.warn(`Task '${taskId.id}' was ${state}, and its machine says that it is ${report.state}`);
    alive.push({ taskId, state: before, stateAt });
  }

  private restore(
    report: Report,
    { taskId, state }: ReportedTask,
    { reasons, isReplaced }: GivenUpTask,
    removal: Parameters<typeof decideRecovery>[0]['removal'],
    request: StoredRequest | undefined,
    room: GroupRoom,
    writes: Writes,
    now: number,
  ): void {
    const end = { state, reason: reasons.get(state) ?? undefined };
    const hadToGo = reasons.has('TASK_CLEANING');
    const groupIsFull = request && room.fullFor(request.request) !== undefined;
    const task = { taskId, end, hadToGo, updates: reasons.size, isReplaced, groupIsFull, removal };
    const { killedBecause, hasToGo, enqueue } = decideRecovery(task, request, now);
    if (enqueue) writes.enqueued.push(enqueue);
    if (killedBecause !== undefined) {
      this.log.warn(`Task '${taskId.id}' was ${state} and is alive, but cannot continue: ${killedBecause}`);
      writes.refused.push(report);
      return;
    }
    this.log.warn(`Task '${taskId.id}' was ${state} and is alive: it continues as ${report.state}`);
    if (request) room.take(request.request);
    writes.alive.push({ taskId, state: report.state, stateAt: report.timestamp, reported: report });
    if (!hasToGo) writes.entering.push(taskId.id);
    else {
      const message = 'The task came back while the load balancer was letting go of it';
      writes.cleanups.push({ taskId, cleanupType: 'DECOMISSIONING', timestamp: now, message });
    }
  }

  private async write(tx: Transaction, { alive, enqueued, cleanups, entering }: Writes): Promise<void> {
    await this.rows.pendingRequests.enqueueAll(tx, enqueued);
    await this.rows.taskStatuses.reactivate(
      tx,
      alive.map(({ taskId, state, stateAt, reported }) => ({
        ...reported,
        taskId: taskId.id,
        state,
        timestamp: stateAt,
        told: reported !== undefined,
      })),
    );
    await this.rows.taskCleanups.createAll(tx, cleanups);
    // As if they were new there; but for those that it is just letting go of, which goes on to its end.
    await this.rows.loadBalancerRemovals.removeAll(tx, entering);
    await this.rows.loadBalancerRecords.forget(tx, entering);
    const updates = alive.flatMap(({ taskId, reported }) => (reported ? [{ taskId, report: reported }] : []));
    if (updates.length === 0) return;
    await this.rows.outbox.tasks(
      tx,
      updates.map(
        ({ taskId, report: { timestamp, state: taskState, message: statusMessage, reason: statusReason } }) => {
          return { taskId, timestamp, taskState, statusMessage, statusReason, previous: [] };
        },
      ),
      (ids) => this.rows.launchedTasks.records(tx, ids),
    );
  }
}
