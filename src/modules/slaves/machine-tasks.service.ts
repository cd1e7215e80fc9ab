import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { MachineKind, MachineStateHistoryUpdate } from '../../core/model/machine.js';
import type { TaskId } from '../../core/model/task.js';
import { parseTaskId } from '../../core/task-id.js';
import { rows } from '../../platform/database/sql.js';
import { RequestStore } from '../requests/request-store.service.js';
import { PendingQueue } from '../tasks/pending-queue.service.js';
import { TaskCleanups } from '../tasks/task-cleanups.service.js';
import { WithdrawnCleanups } from '../tasks/withdrawn-cleanups.service.js';
import { kindText } from './machine-store.service.js';

const placeColumn = (kind: MachineKind): string => (kind === 'SLAVE' ? 'slave_id' : 'rack_id');

/** Why tasks are looked at again, as the queue says it. */
interface Occasion {
  now: number;
  user?: string;
  message: string;
}

/** What the state of a machine means for the tasks on it. */
@Injectable()
export class MachineTasks {
  constructor(
    private readonly cleanups: TaskCleanups,
    private readonly withdrawn: WithdrawnCleanups,
    private readonly queue: PendingQueue,
    private readonly requests: RequestStore,
  ) {}

  async activeCount(tx: EntityManager, kind: MachineKind, id: string): Promise<number> {
    return (await this.active(tx, kind, id)).length;
  }

  /**
   * Orders that all tasks leave the machine, and replacements elsewhere. What was told to go already is left alone, so
   * this may be repeated: for tasks that came back, or whose other order was taken back. Answers how many there were.
   */
  async drain(tx: EntityManager, kind: MachineKind, state: MachineStateHistoryUpdate, now: number): Promise<number> {
    const tasks = await this.staying(tx, kind, state.objectId);
    if (tasks.length === 0) return 0;
    const what = `The ${kindText(kind)} '${state.objectId}' is decommissioned`;
    const message = state.message ? `${what} - ${state.message}` : what;
    const { user } = state;
    for (const taskId of tasks) {
      await this.cleanups.create(tx, { taskId, cleanupType: 'DECOMISSIONING', timestamp: now, user, message });
    }
    await this.lookAgain(tx, tasks, { now, user, message });
    return tasks.length;
  }

  /** Orders that all tasks on the machine are killed at once, whatever was ordered before. */
  async kill(tx: EntityManager, kind: MachineKind, id: string, user: string | undefined, now: number): Promise<void> {
    const message = `The decommission of ${kindText(kind)} '${id}' took too long`;
    for (const taskId of await this.active(tx, kind, id)) {
      await this.cleanups.save(tx, { taskId, cleanupType: 'DECOMMISSION_TIMEOUT', timestamp: now, user, message });
    }
  }

  /**
   * Takes orders of a decommission back that was cancelled. Tasks that are being killed, that have their replacement, or
   * that another decommission (of their slave, or of their rack) drives away as well, have to go all the same. Of the
   * others the replacements that still wait are not needed any more: the scheduler counts again.
   */
  async keep(tx: EntityManager, kind: MachineKind, id: string, by: { now: number; user?: string }): Promise<void> {
    const kept = await rows<{ task_id: string }>(
      tx,
      `DELETE FROM task_cleanup c USING task t
       WHERE t.task_id = c.task_id AND c.cleanup_type = 'DECOMISSIONING' AND t.${placeColumn(kind)} = $1
         AND NOT EXISTS (SELECT 1 FROM killed_task k WHERE k.task_id = t.task_id)
         AND NOT EXISTS (SELECT 1 FROM task n LEFT JOIN task_cleanup nc USING (task_id) LEFT JOIN killed_task nk USING (task_id)
           WHERE n.request_id = t.request_id AND n.deploy_id = t.deploy_id AND n.instance_no = t.instance_no
             AND n.ended_at IS NULL AND nc.task_id IS NULL AND nk.task_id IS NULL)
         AND NOT EXISTS (SELECT 1 FROM slave s WHERE s.id = t.slave_id AND s.state IN (${drained}) AND NOT ($2 = 'SLAVE' AND s.id = $1))
         AND NOT EXISTS (SELECT 1 FROM rack r WHERE r.id = t.rack_id AND r.state IN (${drained}) AND NOT ($2 = 'RACK' AND r.id = $1))
       RETURNING c.task_id`,
      [id, kind],
    );
    if (kept.length === 0) return;
    const taskIds = kept.map((row) => row.task_id);
    await this.withdrawn.forgetCleaning(tx, taskIds);
    const message = `The decommission of ${kindText(kind)} '${id}' was taken back`;
    // Each deploy on its own: tasks of a deploy in progress may be among them.
    const deploys = new Map(taskIds.map(readId).map((task) => [`${task.requestId}-${task.deployId}`, task]));
    for (const { requestId, deployId } of deploys.values()) {
      const pendingType = 'DECOMISSIONED_SLAVE_OR_RACK';
      await this.queue.enqueue(tx, { requestId, deployId, pendingType, timestamp: by.now, user: by.user, message });
    }
  }

  private async active(tx: EntityManager, kind: MachineKind, id: string): Promise<TaskId[]> {
    const found = await rows<{ task_id: string }>(
      tx,
      `SELECT task_id FROM task WHERE ended_at IS NULL AND ${placeColumn(kind)} = $1 ORDER BY task_id`,
      [id],
    );
    return found.map((row) => readId(row.task_id));
  }

  /** Active tasks that nobody has told to go. */
  private async staying(tx: EntityManager, kind: MachineKind, id: string): Promise<TaskId[]> {
    const found = await rows<{ task_id: string }>(
      tx,
      `SELECT task_id FROM task WHERE ended_at IS NULL AND ${placeColumn(kind)} = $1
         AND NOT EXISTS (SELECT 1 FROM task_cleanup c WHERE c.task_id = task.task_id)
         AND NOT EXISTS (SELECT 1 FROM killed_task k WHERE k.task_id = task.task_id)
       ORDER BY task_id`,
      [id],
    );
    return found.map((row) => readId(row.task_id));
  }

  /** One entry per request with a deploy to run: the scheduler counts what it has and what it wants. */
  private async lookAgain(tx: EntityManager, tasks: readonly TaskId[], occasion: Occasion): Promise<void> {
    const { now: timestamp, user, message } = occasion;
    const requestIds = [...new Set(tasks.map((task) => task.requestId))];
    for (const { request, activeDeployId, pendingDeployId } of await this.requests.findMany(tx, requestIds)) {
      const deployId = activeDeployId ?? pendingDeployId;
      if (deployId === undefined) continue;
      const pendingType = 'DECOMISSIONED_SLAVE_OR_RACK';
      await this.queue.enqueue(tx, { requestId: request.id, deployId, pendingType, timestamp, user, message });
    }
  }
}

const drained = `'STARTING_DECOMMISSION', 'DECOMMISSIONING', 'DECOMMISSIONED'`;
/** Task ids are made by this service, so each can be read. */
const readId = (taskId: string): TaskId => parseTaskId(taskId)!;
