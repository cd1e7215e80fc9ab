import { Injectable } from '@nestjs/common';
import { deployKeyText } from '../../core/model/deploy.js';
import type { MachineKind, MachineStateHistoryUpdate } from '../../core/model/machine.js';
import type { PendingRequest, TaskId } from '../../core/model/task.js';
import { parseTaskId } from '../../core/task-id.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { Rows } from '../../rows.js';
import { kindText } from './slave.repository.js';

/** The reason for which tasks are looked at again, as the entry in the queue says it. */
interface Occasion {
  now: number;
  user?: string;
  message: string;
}

/** Applies the state of a machine to the tasks on it. */
@Injectable()
export class MachineTasks {
  constructor(private readonly rows: Rows) {}

  async activeCount(tx: Transaction, kind: MachineKind, id: string): Promise<number> {
    return (await this.rows.machineTasks.activeOn(tx, kind, id)).length;
  }

  /**
   * Orders that all tasks leave the machine, and replacements elsewhere. What was told to go already is left alone, so
   * this may be repeated: for tasks that came back, or whose other order was taken back. Answers how many there were.
   */
  async drain(tx: Transaction, kind: MachineKind, state: MachineStateHistoryUpdate, now: number): Promise<number> {
    const tasks = (await this.rows.machineTasks.stayingOn(tx, kind, state.objectId)).map(readId);
    if (tasks.length === 0) return 0;
    const what = `The ${kindText(kind)} '${state.objectId}' is decommissioned`;
    const message = state.message ? `${what} - ${state.message}` : what;
    const { user } = state;
    const order = { cleanupType: 'DECOMISSIONING', timestamp: now, user, message } as const;
    await this.rows.taskCleanups.createAll(
      tx,
      tasks.map((taskId) => ({ taskId, ...order })),
    );
    await this.lookAgain(tx, tasks, { now, user, message });
    return tasks.length;
  }

  /** Orders that all tasks on the machine are killed at once, whatever was ordered before. */
  async kill(tx: Transaction, kind: MachineKind, id: string, user: string | undefined, now: number): Promise<void> {
    const message = `The decommission of ${kindText(kind)} '${id}' took too long`;
    const order = { cleanupType: 'DECOMMISSION_TIMEOUT', timestamp: now, user, message } as const;
    const taskIds = await this.rows.machineTasks.activeOn(tx, kind, id);
    await this.rows.taskCleanups.saveAll(
      tx,
      taskIds.map((taskId) => ({ taskId: readId(taskId), ...order })),
    );
  }

  /**
   * Takes orders of a decommission back that was cancelled. Tasks that are being killed, that have their replacement, or
   * that another decommission (of their slave, or of their rack) drives away as well, have to go all the same. Of the
   * others the replacements that still wait are not needed any more: the scheduler counts again.
   */
  async keep(tx: Transaction, kind: MachineKind, id: string, by: { now: number; user?: string }): Promise<void> {
    const taskIds = await this.rows.taskCleanups.withdrawDecommission(tx, kind, id);
    if (taskIds.length === 0) return;
    const message = `The decommission of ${kindText(kind)} '${id}' was taken back`;
    // Each deploy on its own: tasks of a deploy in progress may be among them.
    const deploys = new Map(taskIds.map(readId).map((task) => [deployKeyText(task), task]));
    const occasion = { now: by.now, user: by.user, message };
    await this.rows.pendingRequests.enqueueAll(
      tx,
      [...deploys.values()].map(({ requestId, deployId }) => queueEntry(requestId, deployId, occasion)),
    );
  }

  /** One entry per request with a deploy to run: the scheduler counts what it has and what it wants. */
  private async lookAgain(tx: Transaction, tasks: readonly TaskId[], occasion: Occasion): Promise<void> {
    const requestIds = [...new Set(tasks.map((task) => task.requestId))];
    const requests = await this.rows.requests.findMany(tx, requestIds);
    const entries = requests.flatMap(({ request, activeDeployId, pendingDeployId }) => {
      const deployId = activeDeployId ?? pendingDeployId;
      return deployId === undefined ? [] : [queueEntry(request.id, deployId, occasion)];
    });
    await this.rows.pendingRequests.enqueueAll(tx, entries);
  }
}

const queueEntry = (requestId: string, deployId: string, { now, user, message }: Occasion): PendingRequest => ({
  requestId,
  deployId,
  pendingType: 'DECOMISSIONED_SLAVE_OR_RACK',
  timestamp: now,
  user,
  message,
});

/** Task ids are made by this service, so each can be read. */
const readId = (taskId: string): TaskId => parseTaskId(taskId)!;
