import { Injectable } from '@nestjs/common';
import { groupBy } from '../../core/group-by.js';
import type { CrashLoopInfo } from '../../core/model/crash-loop.js';
import { type DeployKey, deployKeyText, type DeployUpdate } from '../../core/model/deploy.js';
import type { DisasterType } from '../../core/model/enums.js';
import type { PendingEventType, WrittenEvent } from '../../core/model/event.js';
import type { GateRow } from '../../core/model/gate.js';
import type { MachineKind, MachineStateHistoryUpdate } from '../../core/model/machine.js';
import type { RequestHistory } from '../../core/model/request.js';
import type { Task, TaskCleanup, TaskHistoryUpdate } from '../../core/model/task.js';
import { Clock } from '../../platform/clock.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { WebhookOutboxRepository } from '../webhooks/webhook-outbox.repository.js';
import { LiveEventRepository } from './live-event.repository.js';

/** What is told of a task that waits. */
export interface ToldPendingTask extends DeployKey {
  reason?: string;
  message?: string;
}

/**
 * All that others are told of changes, written in the transaction of the change: so nothing is told that did not happen, and
 * nothing goes untold that did. Streams hear of everything, webhooks of what there is a webhook for; the statements for both go out
 * together.
 */
@Injectable()
export class OutboxRepository {
  constructor(
    private readonly events: LiveEventRepository,
    private readonly webhooks: WebhookOutboxRepository,
    private readonly clock: Clock,
  ) {}

  async request(tx: Transaction, change: RequestHistory): Promise<void> {
    await Promise.all([this.events.add(tx, [eventOf(change)]), this.webhooks.request(tx, change)]);
  }

  /** The streams' share of `request`, as a part of the statement that makes the change where `source` has a row. */
  requestAddedTo(tx: Transaction, change: RequestHistory, source: string, parameters: unknown[]): string {
    return this.events.addedTo(tx, eventOf(change), source, parameters);
  }

  /** The webhooks' share of it. */
  requestToWebhooks(tx: Transaction, change: RequestHistory): Promise<void> {
    return this.webhooks.request(tx, change);
  }

  async deploy(tx: Transaction, update: DeployUpdate): Promise<void> {
    const { requestId, deployId, timestamp, user, message } = update.deployMarker;
    const { eventType, deployResult } = update;
    const at = deployResult?.timestamp ?? timestamp;
    const deployState = deployResult?.deployState;
    const event: WrittenEvent = { type: 'DEPLOY', at, requestId, deployId, eventType, deployState, user, message };
    await Promise.all([this.events.add(tx, [event]), this.webhooks.deploy(tx, update)]);
  }

  /** Of the deploy in progress; webhooks hear of its begin and its end alone. */
  deployStep(tx: Transaction, { requestId, deployId }: DeployKey): Promise<void> {
    return this.events.add(tx, [{ type: 'DEPLOY', at: this.clock.now(), requestId, deployId, eventType: 'STEP' }]);
  }

  /** A gate of the deploy in progress. */
  gate(tx: Transaction, { requestId, deployId }: DeployKey, row: GateRow): Promise<void> {
    const { step, gate, state: gateState, user, message } = row;
    const place = { requestId, deployId, step, gate, gateState };
    return this.events.add(tx, [{ type: 'DEPLOY', at: this.clock.now(), eventType: 'GATE', ...place, user, message }]);
  }

  /** Tasks that wait: those of one deploy for which the same is to be told are one event. */
  pendingTasks(tx: Transaction, eventType: PendingEventType, tasks: readonly ToldPendingTask[]): Promise<void> {
    const at = this.clock.now();
    const told = groupBy(tasks, (task) => `${deployKeyText(task)}\n${task.reason ?? ''}\n${task.message ?? ''}`);
    const events = [...told.values()].map((alike): WrittenEvent => {
      const { requestId, deployId, reason, message } = alike[0]!;
      return { type: 'PENDING', at, requestId, deployId, eventType, tasks: alike.length, reason, message };
    });
    return this.events.add(tx, events);
  }

  /** Tasks that have passed their health checks. */
  healthy(tx: Transaction, taskIds: readonly string[]): Promise<void> {
    const at = this.clock.now();
    const events = taskIds.map((taskId): WrittenEvent => ({ type: 'HEALTH', at, taskId }));
    return this.events.add(tx, events);
  }

  /** Tasks that turned sick, or well again, after they had passed their health checks. */
  liveness(tx: Transaction, changes: readonly { taskId: string; isSick: boolean; message: string }[]): Promise<void> {
    const at = this.clock.now();
    return this.events.add(
      tx,
      changes.map(({ taskId, isSick, message }): WrittenEvent => {
        return { type: 'HEALTH', at, taskId, eventType: isSick ? 'UNHEALTHY' : 'RECOVERED', message };
      }),
    );
  }

  /** Tasks of services that are ended from now on. */
  leaving(tx: Transaction, cleanups: readonly TaskCleanup[]): Promise<void> {
    const at = this.clock.now();
    return this.events.add(
      tx,
      cleanups.map(({ taskId, cleanupType: message }): WrittenEvent => {
        return { type: 'HEALTH', at, taskId: taskId.id, eventType: 'LEAVING', message };
      }),
    );
  }

  async crashLoops(tx: Transaction, loops: readonly CrashLoopInfo[]): Promise<void> {
    const events = loops.map(({ requestId, deployId, type: crashLoopType, start, end }): WrittenEvent => {
      return { type: 'CRASHLOOP', at: end ?? start, requestId, deployId, crashLoopType, start, end };
    });
    await Promise.all([this.events.add(tx, events), this.webhooks.crashLoops(tx, loops)]);
  }

  /** `loadTasks` is only called where a webhook listens: status updates are a hot path. */
  async tasks(
    tx: Transaction,
    updates: readonly TaskHistoryUpdate[],
    loadTasks: (taskIds: string[]) => Promise<ReadonlyMap<string, Task>>,
  ): Promise<void> {
    await Promise.all([this.events.add(tx, updates.map(taskEventOf)), this.webhooks.tasks(tx, updates, loadTasks)]);
  }

  /** Of tasks whose state is as before. Webhooks hear of each state once. */
  taskMessages(tx: Transaction, updates: readonly TaskHistoryUpdate[]): Promise<void> {
    return this.events.add(tx, updates.map(taskEventOf));
  }

  machine(
    tx: Transaction,
    kind: MachineKind,
    { objectId: machineId, state, timestamp: at, user, message }: MachineStateHistoryUpdate,
  ): Promise<void> {
    return this.events.add(tx, [{ type: kind, at, machineId, state, user, message }]);
  }

  /** Their records are gone. */
  machinesRemoved(tx: Transaction, kind: MachineKind, ids: readonly string[]): Promise<void> {
    const at = this.clock.now();
    return this.events.add(
      tx,
      ids.map((machineId) => ({ type: kind, at, machineId })),
    );
  }

  disasters(tx: Transaction, types: readonly DisasterType[], active: boolean, at: number): Promise<void> {
    return this.events.add(
      tx,
      types.map((disaster) => ({ type: 'DISASTER', at, disaster, active })),
    );
  }
}

const taskEventOf = ({
  taskId,
  timestamp: at,
  taskState,
  statusMessage: message,
  statusReason: reason,
}: TaskHistoryUpdate): WrittenEvent => ({ type: 'TASK', at, taskId: taskId.id, taskState, message, reason });

const eventOf = ({ createdAt: at, eventType, request, user, message }: RequestHistory): WrittenEvent => {
  return { type: 'REQUEST', at, requestId: request.id, eventType, user, message };
};
