import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { isTerminal } from '../../core/model/enums.js';
import type { TaskHistoryUpdate, TaskId } from '../../core/model/task.js';
import { parseTaskId } from '../../core/task-id.js';
import { RequestStore, type StoredRequest } from '../../modules/requests/request-store.service.js';
import { loadLaunchedTask } from '../../modules/tasks/task-cleanups.service.js';
import {
  ShellCommandStore,
  type CommandUpdate,
} from '../../modules/tasks/shell-commands/shell-command-store.service.js';
import { WebhookOutbox } from '../../modules/webhooks/webhook-outbox.service.js';
import { Completions } from './completions.service.js';
import type { Report } from './report.js';
import { StatusBatch } from './status-batch.js';
import { StatusStore } from './status-store.service.js';

/** What a batch of reports changed, for after the commit. */
export interface Applied {
  /** Tasks that run although nobody wants them to. */
  strangers: Report[];
  /** Tasks that were given up and are alive. */
  returned: Report[];
  /** Tasks without their launch document: nobody knows any more what they are. */
  dataless: Report[];
  /** How many statuses were new. */
  recorded: number;
  /** Tasks whose end was recorded. */
  ended: TaskId[];
  /** Commands ended that somebody may wait for. */
  commandsEnded: boolean;
}

/** Applies reports to the rows of tasks, each at most once, in the order given. */
@Injectable()
export class StatusApplier {
  constructor(
    private readonly requests: RequestStore,
    private readonly store: StatusStore,
    private readonly completions: Completions,
    private readonly outbox: WebhookOutbox,
    private readonly commands: ShellCommandStore,
  ) {}

  async apply(tx: EntityManager, given: readonly Report[], now: number): Promise<Applied> {
    const reports = given.filter(({ shellCommand }) => !shellCommand);
    const locked = await this.lockRequestsOfEnds(tx, reports);
    const taskIds = [...new Set(reports.map(({ taskId }) => taskId))];
    const batch = new StatusBatch(await this.store.lockTasks(tx, taskIds));
    // Before the ends, which take the commands of their tasks along into the history.
    const commandsEnded = await this.commands.record(tx, given.flatMap(commandUpdate));
    for (const report of reports) batch.take(report);
    const fresh = await this.store.insertUpdates(tx, batch.recorded);
    await this.store.advance(tx, [...batch.advances.values()]);
    await this.tellWebhooks(tx, batch, fresh);
    const ended = batch.ends.map(({ taskId }) => taskId);
    const endedIds = ended.map(({ id }) => id);
    if (ended.length > 0) {
      await this.completions.complete(tx, batch.ends, locked, now);
      await this.commands.endThoseOf(tx, endedIds, now);
      await this.store.dropOrders(tx, endedIds);
    }
    const { strangers, returned, dataless } = batch;
    return { strangers, returned, dataless, recorded: fresh.length, ended, commandsEnded };
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

  private tellWebhooks(tx: EntityManager, batch: StatusBatch, fresh: readonly Report[]): Promise<void> {
    const updates = fresh.map((report): TaskHistoryUpdate => ({
      taskId: batch.taskId(report.taskId),
      timestamp: report.timestamp,
      taskState: report.state,
      statusMessage: report.message,
      statusReason: report.reason,
      previous: [],
    }));
    return this.outbox.tasks(tx, updates, (taskId) => loadLaunchedTask(tx, taskId));
  }
}

const commandUpdate = ({ taskId, timestamp, shellCommand }: Report): CommandUpdate[] =>
  shellCommand ? [{ ...shellCommand, taskId, at: timestamp }] : [];
