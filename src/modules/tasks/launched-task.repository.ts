import { Inject, Injectable } from '@nestjs/common';
import type { ReadFilter } from '../../core/authorization/index.js';
import { launchRecord, type LaunchRecord, taskRecord } from '../../core/launch/index.js';
import { type Deploy, deployKeyText } from '../../core/model/deploy.js';
import type { LaunchSpec } from '../../core/model/launch.js';
import type { Request } from '../../core/model/request.js';
import type { PendingTask, Task, TaskId } from '../../core/model/task.js';
import { parseTaskId } from '../../core/task-id.js';
import { keysetOf, type KeysetPage } from '../../platform/database/keyset.js';
import type { Queryable } from '../../platform/database/queryable.js';
import { rows } from '../../platform/database/sql.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { seenOfSql, seenParameters } from '../requests/request-access.repository.js';

/** Tasks per query: to read thousands of documents in one go would keep all other calls waiting. */
const batch = 500;

/**
 * The stored part of a launch. The rest of its Task record follows from it, from the task's row and from its deploy.
 */
export interface LaunchDocument {
  /** As it was when the task was launched. */
  request: Request;
  pendingTask: PendingTask;
  launch: LaunchSpec;
}

/** A live task with what it was launched with. */
export interface LaunchedTask {
  task: Task;
  /** Directory of its files, once its machine reported it. */
  directory?: string;
}

/** A task that has ended, as far as its row and its launch say. */
export interface EndedLaunch {
  task: LaunchRecord;
  directory?: string;
}

interface PlaceRow {
  task_id: string;
  slave_id: string;
  incarnation: string;
  host: string;
  rack_id: string;
  directory: string | null;
  /** Present in one row of each deploy only. */
  deploy: Deploy | null;
}
type LaunchedTaskRow = PlaceRow & { document: LaunchDocument };
type LaunchRow = PlaceRow & { launch: LaunchSpec };

/** The deploy of task t. */
const joinDeploySql = `LEFT JOIN deploy_history d ON d.request_id = t.request_id AND d.deploy_id = t.deploy_id`;

/** Deploys may be large, and their tasks many: of each deploy one row has it. */
const placeSql = `t.task_id, t.slave_id, t.incarnation, t.host, t.rack_id, t.directory,
  CASE WHEN row_number() OVER (PARTITION BY t.request_id, t.deploy_id) = 1 THEN d.data->'deploy' END AS deploy`;

/**
 * SQL: what task t was launched for, as its Task record says, as JSON text. `leftOut`: names of fields of the deploy, as text[]. In a
 * query with the joins of `launchedForJoins`.
 */
export const launchedForSql = (leftOut: string): string =>
  `'{"request":' || (l.document->'request')::text || ',"pendingTask":' || (l.document->'pendingTask')::text || ',"deploy":' ||
     (coalesce(d.data->'deploy', jsonb_build_object('requestId', t.request_id, 'id', t.deploy_id)) - ${leftOut})::text || '}'`;
export const launchedForJoins = `JOIN task_launch l USING (task_id) ${joinDeploySql}`;

/**
 * The Task records of live tasks, as stored at their launches. By hand: one join gives thousands of records to the list of
 * active tasks and to the move into the history.
 */
@Injectable()
export class LaunchedTaskRepository {
  constructor(@Inject(SETTINGS) private readonly settings: Settings) {}

  /** By task id, ended tasks included; those that are gone are left out. */
  async find(tx: Queryable, taskIds: readonly string[]): Promise<Map<string, LaunchedTask>> {
    const found = new Map<string, LaunchedTask>();
    const deploys = new Map<string, Deploy>();
    for (let first = 0; first < taskIds.length; first += batch) {
      const ids = taskIds.slice(first, first + batch);
      const launched = await this.read(tx, 't.task_id = ANY ($1)', [ids], deploys);
      for (const one of launched) found.set(one.task.taskId.id, one);
    }
    return found;
  }

  /** The records alone, by task id. */
  async records(tx: Queryable, taskIds: readonly string[]): Promise<Map<string, Task>> {
    return new Map([...(await this.find(tx, taskIds))].map(([id, { task }]) => [id, task]));
  }

  async active(tx: Queryable, taskId: string): Promise<Task | undefined> {
    return (await this.read(tx, 't.task_id = $1 AND t.ended_at IS NULL', [taskId]))[0]?.task;
  }

  /** In the order of task ids. */
  async activeOn(tx: Queryable, slaveId: string): Promise<Task[]> {
    const found = await this.read(tx, 't.ended_at IS NULL AND t.slave_id = $1 ORDER BY t.task_id', [slaveId]);
    return found.map(({ task }) => task);
  }

  /** Ids of a page of active tasks, of one machine or of all, of requests that the caller may read; with what keysetOf reads beyond it. */
  async activePage(tx: Queryable, page: KeysetPage, sight: ReadFilter, slaveId?: string): Promise<string[]> {
    const found = await rows<{ task_id: string }>(
      tx,
      `SELECT task_id FROM task t WHERE ended_at IS NULL AND ($1::text IS NULL OR slave_id = $1)
         AND ${seenOfSql('t.request_id', 2)} AND task_id > $6 ORDER BY task_id LIMIT $7`,
      [slaveId ?? null, ...seenParameters(sight), ...keysetOf(page)],
    );
    return found.map((row) => row.task_id);
  }

  /**
   * Launch data of ended tasks that move into the history, by task id. `launchedForSql`, the pending task of each, need
   * not come here.
   */
  async ended(tx: Queryable, taskIds: readonly string[]): Promise<Map<string, EndedLaunch>> {
    const found = await rows<LaunchRow>(
      tx,
      `SELECT ${placeSql}, l.document->'launch' AS launch FROM task t ${launchedForJoins} WHERE t.task_id = ANY ($1)`,
      [taskIds],
    );
    const deployOf = deploysOf(found);
    return new Map(
      found.map((row) => {
        const { taskId, place } = placeOf(row);
        const task = launchRecord({ taskId, place, deploy: deployOf(taskId) }, row.launch);
        return [row.task_id, { task, directory: row.directory ?? undefined }];
      }),
    );
  }

  /** The tasks of a deploy have one record of it in common, rather than each its own: it is kept in `deploys`. */
  private async read(
    tx: Queryable,
    condition: string,
    parameters: unknown[],
    deploys = new Map<string, Deploy>(),
  ): Promise<LaunchedTask[]> {
    const found = await rows<LaunchedTaskRow>(
      tx,
      `SELECT ${placeSql}, l.document FROM task t ${launchedForJoins} WHERE ${condition}`,
      parameters,
    );
    const isWhole = this.settings.storeAllClusterTaskInfoForDebugging;
    const deployOf = deploysOf(found, deploys);
    return found.map((row) => {
      const { taskId, place } = placeOf(row);
      const { request, pendingTask: pending, launch } = row.document;
      return {
        task: taskRecord({ taskId, place, request, deploy: deployOf(taskId), pending }, launch, isWhole),
        directory: row.directory ?? undefined,
      };
    });
  }
}

function placeOf(row: PlaceRow) {
  return {
    taskId: parseTaskId(row.task_id)!, // made by this service, so it can be read
    place: { slaveId: row.slave_id, incarnation: row.incarnation, hostname: row.host, rackId: row.rack_id },
  };
}

/** Keeps the deploys of these rows; answers which one a task is of. */
function deploysOf(found: readonly PlaceRow[], deploys = new Map<string, Deploy>()): (taskId: TaskId) => Deploy {
  for (const { task_id: id, deploy } of found) if (deploy) deploys.set(deployKeyText(parseTaskId(id)!), deploy);
  return (taskId) => deploys.get(deployKeyText(taskId)) ?? { requestId: taskId.requestId, id: taskId.deployId };
}
