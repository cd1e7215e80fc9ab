import { Injectable } from '@nestjs/common';
import type { User } from '../../core/authorization/index.js';
import type { Task, TaskId, KilledTaskIdRecord, TaskCleanup, TaskHistoryUpdate } from '../../core/model/task.js';
import { parseTaskId } from '../../core/task-id.js';
import { Database } from '../../platform/database/database.js';
import { ListPage, type PageQuery } from '../../platform/database/keyset.js';
import type { Queryable } from '../../platform/database/queryable.js';
import { neverChanges } from '../../platform/http/json.js';
import { KeptList, KeptRecords, SharedRead } from '../../platform/reads/reads.js';
import { Access } from '../auth/access/access.service.js';
import { LaunchedTaskRepository } from './launched-task.repository.js';
import { TaskRepository } from './task.repository.js';
import { SchedulerError } from '../../platform/errors.js';
import { SlaveRepository } from '../slaves/slave.repository.js';
import { KilledTaskRepository } from './killed-task.repository.js';
import { TaskCleanupRepository } from './task-cleanup.repository.js';

/** A task's record takes about 7 kB of memory, and its id half a kilobyte. */
const most = { records: 10_000, ids: 50_000 };

/**
 * All active tasks, in the order of their ids. What a task was launched with never changes, so only which tasks there are is
 * read each time.
 */
@Injectable()
export class ActiveTasks {
  private readonly listed = new KeptList<string>();
  private readonly keptRecords = new KeptRecords<Task>(most.records);
  private readonly keptIds = new KeptRecords<TaskId>(most.ids);
  private readonly recordsRead = new SharedRead(() => this.readRecords());
  private readonly idsRead = new SharedRead(() => this.readIds());

  constructor(
    private readonly db: Database,
    private readonly tasks: TaskRepository,
    private readonly launched: LaunchedTaskRepository,
  ) {}

  records(): Promise<Task[]> {
    return this.recordsRead.ask();
  }

  ids(): Promise<TaskId[]> {
    return this.idsRead.ask();
  }

  private async readRecords(): Promise<Task[]> {
    const { pool } = this.db;
    const ids = await this.listed.read((since) => this.tasks.activeIds(pool, since));
    return neverChanges(await this.keptRecords.list(ids, (missing) => this.launched.records(pool, missing)));
  }

  private async readIds(): Promise<TaskId[]> {
    // Made by this service, so they can be read.
    const parsed = (ids: readonly string[]) => new Map(ids.map((id) => [id, parseTaskId(id)!]));
    const ids = await this.listed.read((since) => this.tasks.activeIds(this.db.pool, since));
    return neverChanges(await this.keptIds.list(ids, (missing) => Promise.resolve(parsed(missing))));
  }
}

/** Lists of active tasks, in the order of task ids. */
@Injectable()
export class TaskLists {
  constructor(
    private readonly db: Database,
    private readonly all: ActiveTasks,
    private readonly tasks: TaskRepository,
    private readonly launched: LaunchedTaskRepository,
    private readonly orders: TaskCleanupRepository,
    private readonly kills: KilledTaskRepository,
    private readonly slaves: SlaveRepository,
    private readonly access: Access,
  ) {}

  async active(slaveId?: string): Promise<Task[]> {
    if (slaveId === undefined) return this.all.records();
    await this.requireSlave(slaveId);
    return this.launched.activeOn(this.db.pool, slaveId);
  }

  /** A page of them. Those that have ended since their ids were read are left out. */
  async activePage(page: PageQuery, user: User, slaveId?: string): Promise<ListPage<Task>> {
    const { members, next } = await this.activeIdsPage(page, user, slaveId);
    const ids = members.map(({ id }) => id);
    const records = await this.launched.records(this.db.pool, ids);
    return new ListPage(
      ids.flatMap((id) => records.get(id) ?? []),
      next,
    );
  }

  async activeIdsPage(page: PageQuery, user: User, slaveId?: string): Promise<ListPage<TaskId>> {
    if (slaveId !== undefined) await this.requireSlave(slaveId);
    const found = await this.launched.activePage(this.db.pool, page, this.access.sightOf(user), slaveId);
    const { members, next } = ListPage.of(found, page.limit, (id) => id);
    // Made by this service, so they can be read.
    return new ListPage(
      members.map((id) => parseTaskId(id)!),
      next,
    );
  }

  async activeIds(slaveId?: string): Promise<TaskId[]> {
    if (slaveId === undefined) return this.all.ids();
    await this.requireSlave(slaveId);
    const found = await this.tasks.find(this.db.pool, { slaveId });
    return found.map((task) => task.taskId);
  }

  /** By task id, each task's updates from the oldest to the newest. */
  activeStates(): Promise<Record<string, TaskHistoryUpdate[]>> {
    return this.db.snapshot(async (tx) => {
      const ids = (await this.tasks.find(tx)).map((task) => task.taskId);
      return Object.fromEntries(await this.tasks.updates(tx, ids));
    });
  }

  /** Tasks that have to go; of one task when an id is given. */
  cleanups(tx: Queryable = this.db.pool, taskId?: string): Promise<TaskCleanup[]> {
    return this.orders.ofActiveTasks(tx, taskId);
  }

  /** Tasks whose kill was sent, and whose end has not been reported yet. */
  killed(): Promise<KilledTaskIdRecord[]> {
    return this.kills.ofActiveTasks(this.db.pool);
  }

  private async requireSlave(slaveId: string): Promise<void> {
    const [slave] = await this.slaves.find(this.db.pool, { id: slaveId });
    if (!slave) throw SchedulerError.machineNotFound('slave', slaveId);
  }
}
