import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { statusChange, type KnownTask } from '../../core/completion/index.js';
import type { TaskHistoryUpdate, TaskId } from '../../core/model/task.js';
import { parseTaskId } from '../../core/task-id.js';
import { TaskHistoryWriter } from '../../modules/history/task-history-writer.service.js';
import { RequestStore } from '../../modules/requests/request-store.service.js';
import { LiveTasks, type LiveTask } from '../../modules/tasks/live-tasks.service.js';
import { loadLaunchedTask } from '../../modules/tasks/task-cleanups.service.js';
import { WebhookOutbox } from '../../modules/webhooks/webhook-outbox.service.js';
import { Completions, type TaskEnd } from './completions.service.js';
import type { Report } from './report.js';
import { StatusStore, type TaskAdvance } from './status-store.service.js';

/** What a batch of reports changed, for after the commit. */
export interface Applied {
  /** Tasks that run although nobody wants them to. */
  strangers: Report[];
  recorded: number;
  ended: TaskId[];
}

/** Applies reports to the rows of tasks, each at most once, in the order given. */
@Injectable()
export class StatusApplier {
  constructor(
    private readonly requests: RequestStore,
    private readonly tasks: LiveTasks,
    private readonly store: StatusStore,
    private readonly completions: Completions,
    private readonly history: TaskHistoryWriter,
    private readonly outbox: WebhookOutbox,
  ) {}

  async apply(tx: EntityManager, reports: readonly Report[], now: number): Promise<Applied> {
    const requestIds = new Set(reports.map(({ taskId }) => parseTaskId(taskId)?.requestId ?? ''));
    const locked = await this.requests.lockMany(tx, [...requestIds]);
    const taskIds = [...new Set(reports.map(({ taskId }) => taskId))];
    const live = await this.tasks.find(tx, { taskIds, includeEnded: true, lock: true });
    const updates = await this.tasks.updates(
      tx,
      live.map(({ taskId }) => taskId),
    );
    const batch = new Batch(live, updates);
    for (const report of reports) batch.take(report);
    await this.store.insertUpdates(tx, batch.recorded);
    await this.store.advance(tx, [...batch.advances.values()]);
    await this.tellWebhooks(tx, batch);
    if (batch.ends.length > 0) {
      await this.completions.complete(
        tx,
        batch.ends,
        new Map(locked.map((stored) => [stored.request.id, stored])),
        now,
      );
      const ended = batch.ends.map(({ task }) => task.taskId.id);
      await this.store.dropOrders(tx, ended);
      await this.history.move(tx, ended);
    }
    return {
      strangers: batch.strangers,
      recorded: batch.recorded.length,
      ended: batch.ends.map(({ task }) => task.taskId),
    };
  }

  private tellWebhooks(tx: EntityManager, { recorded, byId }: Batch): Promise<void> {
    const updates = recorded.map((report): TaskHistoryUpdate => ({
      taskId: byId.get(report.taskId)!.taskId,
      timestamp: report.timestamp,
      taskState: report.state,
      statusMessage: report.message,
      statusReason: report.reason,
      previous: [],
    }));
    return this.outbox.tasks(tx, updates, (taskId) => loadLaunchedTask(tx, taskId));
  }
}

/** The tasks of a batch while its reports are taken one after the other. */
class Batch {
  readonly byId: Map<string, LiveTask>;
  readonly recorded: Report[] = [];
  readonly advances = new Map<string, TaskAdvance>();
  readonly ends: TaskEnd[] = [];
  readonly strangers: Report[] = [];
  private readonly known: Map<string, KnownTask & { recorded: Set<string> }>;
  private readonly cleaningTexts: Map<string, string | undefined>;

  constructor(live: readonly LiveTask[], updates: ReadonlyMap<string, TaskHistoryUpdate[]>) {
    this.byId = new Map(live.map((task) => [task.taskId.id, task]));
    this.known = new Map(
      live.map(({ taskId: { id }, state, incarnation, endedAt }) => {
        const recorded = new Set((updates.get(id) ?? []).map(({ taskState }) => taskState));
        return [id, { state, incarnation, ended: endedAt !== undefined, recorded }];
      }),
    );
    this.cleaningTexts = new Map(
      [...updates].map(([id, list]) => {
        const cleaning = list.find(({ taskState }) => taskState === 'TASK_CLEANING');
        return [id, cleaning && (cleaning.statusMessage ?? '')];
      }),
    );
  }

  take(report: Report): void {
    const known = this.known.get(report.taskId);
    const change = statusChange(known, report);
    if (change.kind === 'kill') this.strangers.push(report);
    if (change.kind !== 'record' || !known) return;
    this.recorded.push(report);
    known.recorded.add(report.state);
    if (change.advances) known.state = report.state;
    known.ended = change.ends;
    this.advance(report, change.advances, change.ends);
    if (!change.ends) return;
    const task = this.byId.get(report.taskId)!;
    this.ends.push({ task, report, cleaningText: this.cleaningTexts.get(report.taskId) });
  }

  private advance(report: Report, advances: boolean, ends: boolean): void {
    const task = this.byId.get(report.taskId)!;
    const former = this.advances.get(report.taskId) ?? {
      taskId: report.taskId,
      state: task.state,
      stateAt: task.stateAt,
    };
    this.advances.set(report.taskId, {
      ...former,
      ...(advances && { state: report.state, stateAt: report.timestamp }),
      ...(report.state === 'TASK_RUNNING' && { runningAt: report.timestamp }),
      ...(ends && { endedAt: report.timestamp }),
      directory: former.directory ?? report.directory,
    });
  }
}
