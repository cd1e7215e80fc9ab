import type { TaskState } from '../../core/model/enums.js';
import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { isTerminal } from '../../core/model/enums.js';
import type { TaskHistoryUpdate, TaskId } from '../../core/model/task.js';
import { parseTaskId } from '../../core/task-id.js';
import { RequestRepository, type StoredRequest } from '../../modules/requests/request.repository.js';
import { LaunchedTaskRepository } from '../../modules/tasks/launched-task.repository.js';
import {
  ShellCommandRepository,
  type CommandUpdate,
} from '../../modules/tasks/shell-commands/shell-command.repository.js';
import { TaskRepository } from '../../modules/tasks/task.repository.js';
import { TaskStatusRepository } from '../../modules/tasks/task-status.repository.js';
import { OutboxRepository } from '../../modules/events/outbox.repository.js';
import { Completions } from './completions.service.js';
import type { Report } from './report.js';
import { StatusBatch } from './status-batch.js';

/** What a batch of reports changed, for after the commit. */
export interface Applied {
  /** Tasks that run although they are not wanted. */
  strangers: Report[];
  /** Tasks that were given up and are alive. */
  returned: Report[];
  /** Tasks whose launch document is gone. */
  dataless: Report[];
  /** Requests of whose tasks a status was new. */
  changed: string[];
  /** Tasks whose end was recorded. */
  ended: TaskId[];
  /** Of these the reports of those that did not end as they were meant to. */
  failed: Report[];
  /** Requests of whose tasks a command may have ended that a kill waits for. */
  commandsEnded: string[];
}

/** They did what they were to do, or were told to go. */
const endsWell: ReadonlySet<TaskState> = new Set(['TASK_FINISHED', 'TASK_KILLED']);

/** Applies reports to the rows of tasks, each at most once, in the order given. */
@Injectable()
export class StatusApplier {
  constructor(
    private readonly requests: RequestRepository,
    private readonly tasks: TaskRepository,
    private readonly statuses: TaskStatusRepository,
    private readonly completions: Completions,
    private readonly launched: LaunchedTaskRepository,
    private readonly outbox: OutboxRepository,
    private readonly commands: ShellCommandRepository,
  ) {}

  async apply(tx: EntityManager, given: readonly Report[], now: number): Promise<Applied> {
    const reports = given.filter(({ shellCommand }) => !shellCommand);
    const taskIds = [...new Set(reports.map(({ taskId }) => taskId))];
    const [locked, tasks] = await Promise.all([
      this.lockRequestsOfEnds(tx, reports),
      this.statuses.lockTasks(tx, taskIds),
    ]);
    const batch = new StatusBatch(tasks, now);
    // Before the ends, which take the commands of their tasks along into the history.
    const commandsEnded = await this.commands.record(tx, given.flatMap(commandUpdate));
    for (const report of reports) batch.take(report);
    const [fresh] = await Promise.all([
      this.statuses.insertUpdates(tx, batch.recorded),
      this.statuses.advance(tx, [...batch.advances.values()]),
    ]);
    await this.tellOthers(tx, batch, fresh);
    const ended = batch.ends.map(({ taskId }) => taskId);
    const endedIds = ended.map(({ id }) => id);
    if (ended.length > 0) {
      await this.completions.complete(tx, batch.ends, locked, now);
      await this.commands.endThoseOf(tx, endedIds, now);
      await this.tasks.dropOrders(tx, endedIds);
    }
    const { strangers, returned, dataless } = batch;
    return {
      strangers,
      returned,
      dataless,
      changed: requestIdsOf(fresh),
      ended,
      failed: batch.ends.map(({ report }) => report).filter(({ state }) => !endsWell.has(state)),
      commandsEnded: commandsEnded ? requestIdsOf(given.filter(({ shellCommand }) => shellCommand)) : [],
    };
  }

  /**
   * Only an end changes anything about its request. All other statuses change the task's row alone, whose own lock is
   * enough; so the many updates of a large roll-out neither wait for the calls of users nor hold them up.
   */
  private async lockRequestsOfEnds(tx: EntityManager, reports: readonly Report[]): Promise<Map<string, StoredRequest>> {
    const ids = new Set(
      reports.filter(({ state }) => isTerminal(state)).map(({ taskId }) => parseTaskId(taskId)?.requestId ?? ''),
    );
    if (ids.size === 0) return new Map();
    const locked = await this.requests.lockMany(tx, [...ids]);
    return new Map(locked.map((stored) => [stored.request.id, stored]));
  }

  private tellOthers(tx: EntityManager, batch: StatusBatch, fresh: readonly Report[]): Promise<void> {
    const updates = fresh.map((report): TaskHistoryUpdate => ({
      taskId: batch.taskId(report.taskId),
      timestamp: report.timestamp,
      taskState: report.state,
      statusMessage: report.message,
      statusReason: report.reason,
      previous: [],
    }));
    return this.outbox.tasks(tx, updates, (ids) => this.launched.records(tx, ids));
  }
}

const requestIdsOf = (reports: readonly Report[]): string[] => [
  ...new Set(reports.flatMap(({ taskId }) => parseTaskId(taskId)?.requestId ?? [])),
];

const commandUpdate = ({ taskId, timestamp, shellCommand }: Report): CommandUpdate[] =>
  shellCommand ? [{ ...shellCommand, taskId, at: timestamp }] : [];
