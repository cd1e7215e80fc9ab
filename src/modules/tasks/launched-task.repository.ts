import { Inject, Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { taskRecord } from '../../core/launch/index.js';
import type { Deploy } from '../../core/model/deploy.js';
import type { LaunchSpec } from '../../core/model/launch.js';
import type { Request } from '../../core/model/request.js';
import type { PendingTask, Task } from '../../core/model/task.js';
import { parseTaskId } from '../../core/task-id.js';
import { rows } from '../../platform/database/sql.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';

/** Tasks per query: to read thousands of documents in one go would keep all other calls waiting. */
const batch = 500;

/** What is stored of a launch. The rest of its Task record follows from that, from its row and from its deploy. */
export interface LaunchDocument {
  /** As it was when the task was launched. */
  request: Request;
  pendingTask: PendingTask;
  launch: LaunchSpec;
}

/** A live task with what it was launched with. */
export interface LaunchedTask {
  task: Task;
  /** Where its files are, once its machine said so. */
  directory?: string;
}

interface LaunchedTaskRow {
  task_id: string;
  slave_id: string;
  incarnation: string;
  host: string;
  rack_id: string;
  directory: string | null;
  document: LaunchDocument;
  deploy: Deploy | null;
}

/**
 * The Task records of live tasks, as stored at their launches. By hand: one join gives thousands of records to the list of
 * active tasks and to the move into the history.
 */
@Injectable()
export class LaunchedTaskRepository {
  constructor(@Inject(SETTINGS) private readonly settings: Settings) {}

  /** By task id, ended tasks included; those that are gone are left out. */
  async find(tx: EntityManager, taskIds: readonly string[]): Promise<Map<string, LaunchedTask>> {
    const found = new Map<string, LaunchedTask>();
    const deploys = new Map<string, Deploy>();
    for (let first = 0; first < taskIds.length; first += batch) {
      const ids = taskIds.slice(first, first + batch);
      const launched = await this.read(tx, 't.task_id = ANY ($1)', [ids], deploys);
      for (const one of launched) found.set(one.task.taskId.id, one);
    }
    return found;
  }

  /** The same, of each only its record. */
  async records(tx: EntityManager, taskIds: readonly string[]): Promise<Map<string, Task>> {
    return new Map([...(await this.find(tx, taskIds))].map(([id, { task }]) => [id, task]));
  }

  async active(tx: EntityManager, taskId: string): Promise<Task | undefined> {
    return (await this.read(tx, 't.task_id = $1 AND t.ended_at IS NULL', [taskId]))[0]?.task;
  }

  /** In the order of task ids. */
  async activeOn(tx: EntityManager, slaveId: string): Promise<Task[]> {
    const found = await this.read(tx, 't.ended_at IS NULL AND t.slave_id = $1 ORDER BY t.task_id', [slaveId]);
    return found.map(({ task }) => task);
  }

  /** The tasks of a deploy have one record of it in common, rather than each its own: it is kept in `deploys`. */
  private async read(
    tx: EntityManager,
    condition: string,
    parameters: unknown[],
    deploys = new Map<string, Deploy>(),
  ): Promise<LaunchedTask[]> {
    const found = await rows<LaunchedTaskRow>(
      tx,
      `SELECT t.task_id, t.slave_id, t.incarnation, t.host, t.rack_id, t.directory, l.document, d.data->'deploy' AS deploy
       FROM task t JOIN task_launch l USING (task_id)
       LEFT JOIN deploy_history d ON d.request_id = t.request_id AND d.deploy_id = t.deploy_id
       WHERE ${condition}`,
      parameters,
    );
    const isWhole = this.settings.storeAllClusterTaskInfoForDebugging;
    return found.map((row) => fromRow(row, deploys, isWhole));
  }
}

function fromRow(row: LaunchedTaskRow, deploys: Map<string, Deploy>, isWhole: boolean): LaunchedTask {
  const { request, pendingTask: pending, launch } = row.document;
  const taskId = parseTaskId(row.task_id)!; // made by this service, so it can be read
  const place = { slaveId: row.slave_id, incarnation: row.incarnation, hostname: row.host, rackId: row.rack_id };
  const key = JSON.stringify([taskId.requestId, taskId.deployId]);
  const deploy = deploys.get(key) ?? row.deploy ?? { requestId: taskId.requestId, id: taskId.deployId };
  deploys.set(key, deploy);
  return {
    task: taskRecord({ taskId, place, request, deploy, pending }, launch, isWhole),
    directory: row.directory ?? undefined,
  };
}
