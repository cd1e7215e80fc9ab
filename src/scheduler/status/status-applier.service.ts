import { Injectable } from '@nestjs/common';
import { isGivenUp } from '../../core/completion/index.js';
import type { TaskState } from '../../core/model/enums.js';
import { isTerminal } from '../../core/model/enums.js';
import type { TaskHistoryUpdate, TaskId } from '../../core/model/task.js';
import { parseTaskId } from '../../core/task-id.js';
import type { StoredRequest } from '../../modules/requests/request.repository.js';
import { Rows } from '../../rows.js';
import type { ProgramChange } from '../../modules/tasks/programs/task-program.repository.js';
import type { CommandUpdate } from '../../modules/tasks/shell-commands/shell-command.repository.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { Completions } from './completions.service.js';
import type { Report } from './report.js';
import { ReturnedTasks } from './returned-tasks.service.js';
import { StatusBatch } from './status-batch.js';

/** Effects of a batch of reports, for after the commit. */
export interface AppliedReports {
  /** Tasks that run although they are not wanted. */
  unexpected: Report[];
  /** Requests of tasks that were given up and go on. */
  recovered: string[];
  /** Slaves of tasks that were given up now, and may come back with them. */
  givenUpOn: string[];
  /** Tasks that were given up, of which their machine says now that they do not run. */
  confirmedGone: string[];
  /** Tasks whose launch document is gone. */
  dataless: Report[];
  /** Requests of whose tasks a status was new. */
  changed: string[];
  /** Tasks whose end was recorded; `mayRun`: it was concluded, and they may still run. */
  ended: (TaskId & { mayRun: boolean })[];
  /** Times of schedules that passed without a run while these ran. */
  skippedRuns: number;
  /** Reports of the tasks among them that did not end as intended. */
  failed: Report[];
  /** Requests of whose tasks a command may have ended that a kill waits for. */
  commandsEnded: string[];
}

/** The lock of a request comes before those of its tasks, and only now is it known to be needed: to be tried again with it. */
export class ReturnsNotLocked extends Error {
  constructor(readonly taskIds: readonly string[]) {
    super(`${taskIds.length} tasks come back whose requests are not locked`);
  }
}

/** They did what they were to do, or were told to go. */
const endsWell: ReadonlySet<TaskState> = new Set(['TASK_FINISHED', 'TASK_KILLED']);

/** Applies reports to the rows of tasks, each at most once, in the order given. */
@Injectable()
export class StatusApplier {
  constructor(
    private readonly rows: Rows,
    private readonly completions: Completions,
    private readonly returned: ReturnedTasks,
  ) {}

  /** `returning`: tasks that are known to come back; others that do have ReturnsNotLocked thrown, and nothing is written. */
  async apply(
    tx: Transaction,
    given: readonly Report[],
    now: number,
    returning: ReadonlySet<string>,
  ): Promise<AppliedReports> {
    const reports = given.filter(({ shellCommand, program }) => !shellCommand && !program);
    const taskIds = [...new Set(reports.map(({ taskId }) => taskId))];
    const [locked, tasks] = await Promise.all([
      this.lockRequests(tx, reports, returning),
      this.rows.taskStatuses.lockTasks(tx, taskIds),
    ]);
    const batch = new StatusBatch(tasks, reports, now);
    const returns = batch.returns();
    const notLocked = returns.filter(({ first, end }) => !end && !returning.has(first.taskId));
    if (notLocked.length > 0) throw new ReturnsNotLocked(notLocked.map(({ first }) => first.taskId));
    // Before the ends, which take the commands of their tasks along into the history.
    const commandsEnded = await this.rows.shellCommands.record(tx, given.flatMap(commandUpdate));
    await this.rows.taskPrograms.record(tx, given.flatMap(programChange));
    const { alive, refused } = await this.returned.settle(tx, returns, tasks, locked, now);
    for (const { taskId, state, stateAt } of alive) batch.lives(taskId.id, { state, stateAt });
    for (const report of batch.reports) batch.take(report);
    for (const report of refused) batch.refuse(report);
    const [fresh] = await Promise.all([
      this.rows.taskStatuses.insertUpdates(tx, batch.recorded),
      this.rows.taskStatuses.advance(tx, [...batch.advances.values()]),
      this.rows.taskStatuses.setMayRun(tx, batch.mayRun),
    ]);
    const retold = await this.rows.taskStatuses.retell(tx, [...batch.retold.values()]);
    await this.publish(tx, batch, fresh, retold);
    const ended = batch.ends.map(({ taskId }) => taskId);
    const endedIds = ended.map(({ id }) => id);
    let skippedRuns = 0;
    if (ended.length > 0) {
      skippedRuns = await this.completions.complete(tx, batch.ends, locked, now);
      await Promise.all([
        this.rows.shellCommands.endThoseOf(tx, endedIds, now),
        this.rows.tasks.dropOrders(tx, endedIds),
      ]);
    }
    const { unexpected, dataless } = batch;
    const endReports = batch.ends.map(({ report }) => report);
    return {
      unexpected,
      dataless,
      recovered: [...new Set(alive.map(({ taskId }) => taskId.requestId))],
      givenUpOn: endReports.filter(isGivenUp).map(({ slaveId }) => slaveId),
      confirmedGone: [...batch.mayRun].flatMap(([taskId, mayRun]) => (mayRun ? [] : [taskId])),
      changed: requestIdsOf(fresh),
      ended: ended.map((taskId) => ({ ...taskId, mayRun: batch.mayRun.get(taskId.id) === true })),
      skippedRuns,
      failed: endReports.filter(({ state }) => !endsWell.has(state)),
      commandsEnded: commandsEnded ? requestIdsOf(given.filter(({ shellCommand }) => shellCommand)) : [],
    };
  }

  /**
   * Only an end, and a return, change anything about their request. All other statuses change the task's row alone, whose own
   * lock is enough; so the many updates of a large roll-out neither wait for the calls of users nor hold them up.
   */
  private async lockRequests(
    tx: Transaction,
    reports: readonly Report[],
    returning: ReadonlySet<string>,
  ): Promise<Map<string, StoredRequest>> {
    const ids = new Set(
      reports
        .filter(({ taskId, state }) => isTerminal(state) || returning.has(taskId))
        .map(({ taskId }) => parseTaskId(taskId)?.requestId ?? ''),
    );
    if (ids.size === 0) return new Map();
    const locked = await this.rows.requests.lockMany(tx, [...ids]);
    return new Map(locked.map((stored) => [stored.request.id, stored]));
  }

  private async publish(
    tx: Transaction,
    batch: StatusBatch,
    fresh: readonly Report[],
    retold: readonly Report[],
  ): Promise<void> {
    const updateOf = (report: Report): TaskHistoryUpdate => ({
      taskId: batch.taskId(report.taskId),
      timestamp: report.timestamp,
      taskState: report.state,
      statusMessage: report.message,
      statusReason: report.reason,
      previous: [],
    });
    const { outbox, launchedTasks } = this.rows;
    await outbox.tasks(tx, fresh.map(updateOf), (ids) => launchedTasks.records(tx, ids));
    await outbox.taskMessages(tx, retold.map(updateOf));
  }
}

const requestIdsOf = (reports: readonly Report[]): string[] => [
  ...new Set(reports.flatMap(({ taskId }) => parseTaskId(taskId)?.requestId ?? [])),
];

const commandUpdate = ({ taskId, timestamp, shellCommand }: Report): CommandUpdate[] =>
  shellCommand ? [{ ...shellCommand, taskId, at: timestamp }] : [];

const programChange = ({ taskId, timestamp, program }: Report): ProgramChange[] =>
  program ? [{ ...program, taskId, at: timestamp }] : [];
