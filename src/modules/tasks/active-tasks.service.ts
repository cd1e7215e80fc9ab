import { Injectable } from '@nestjs/common';
import type { User } from '../../core/authorization/index.js';
import type { Task, TaskId, KilledTaskIdRecord, TaskCleanup, TaskHistoryUpdate } from '../../core/model/task.js';
import { parseTaskId } from '../../core/task-id.js';
import { Database } from '../../platform/database/database.js';
import { ListPage, type KeysetPage } from '../../platform/database/keyset.js';
import { momentOf } from '../../platform/database/moment.js';
import type { Queryable } from '../../platform/database/queryable.js';
import { neverChanges } from '../../platform/http/json.js';
import { SharedRead } from '../../platform/reads/reads.js';
import { fromJson, type FromJson, VersionedCache } from '../../platform/reads/versioned-cache.js';
import { Access } from '../auth/access/access.service.js';
import { LaunchedTaskRepository } from './launched-task.repository.js';
import { TaskRepository } from './task.repository.js';
import { SchedulerError } from '../../platform/errors.js';
import { Rows } from '../../rows.js';

/** A task's record takes about 7 kB of memory, and its id half a kilobyte. */
const most = { records: 10_000, ids: 50_000 };

/** The first of the listed tasks, as many as are kept. */
interface TaskList<Member> {
  byId: ReadonlyMap<string, Member>;
  list: Member[];
}

/**
 * All active tasks, in the order of their ids. What a task was launched with never changes, so only which tasks there are is
 * read each time that anything was committed.
 */
@Injectable()
export class ActiveTasks {
  private readonly listed = new VersionedCache<FromJson<string[]>>(1);
  private readonly keptRecords = new VersionedCache<TaskList<Task>>(1);
  private readonly keptIds = new VersionedCache<TaskList<TaskId>>(1);
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

  private readRecords(): Promise<Task[]> {
    return this.read(this.keptRecords, most.records, (ids) => this.launched.records(this.db.pool, ids));
  }

  private readIds(): Promise<TaskId[]> {
    // Made by this service, so they can be read.
    const parse = (ids: readonly string[]) => new Map(ids.map((id) => [id, parseTaskId(id)!]));
    return this.read(this.keptIds, most.ids, (ids) => Promise.resolve(parse(ids)));
  }

  /** Beyond `atMost` of them the others are loaded each time, so that memory stays bounded. */
  private async read<Member extends object>(
    cache: VersionedCache<TaskList<Member>>,
    atMost: number,
    load: (ids: readonly string[]) => Promise<ReadonlyMap<string, Member>>,
  ): Promise<Member[]> {
    const { pool } = this.db;
    const { json, value: ids } = await this.listed.get('ids', await momentOf(pool), async (former) =>
      fromJson(await this.tasks.activeIds(pool), former),
    );
    const kept = await cache.get('tasks', json, async (former) => {
      const first = ids.slice(0, atMost);
      const missing = first.filter((id) => !former?.byId.has(id));
      const loaded = missing.length > 0 ? await load(missing) : new Map<string, Member>();
      const found = first.flatMap((id): [string, Member][] => {
        const member = former?.byId.get(id) ?? loaded.get(id);
        return member ? [[id, neverChanges(member)]] : [];
      });
      return { byId: new Map(found), list: neverChanges(found.map(([, member]) => member)) };
    });
    if (ids.length <= atMost) return kept.list;
    const others = ids.slice(atMost);
    const loaded = await load(others);
    return [...kept.list, ...others.flatMap((id) => loaded.get(id) ?? [])];
  }
}

/** Lists of active tasks, in the order of task ids. */
@Injectable()
export class TaskLists {
  constructor(
    private readonly db: Database,
    private readonly all: ActiveTasks,
    private readonly rows: Rows,
    private readonly access: Access,
  ) {}

  async active(slaveId?: string): Promise<Task[]> {
    if (slaveId === undefined) return this.all.records();
    await this.requireSlave(slaveId);
    return this.rows.launchedTasks.activeOn(this.db.pool, slaveId);
  }

  /** A page of them. Those that have ended since their ids were read are left out. */
  async activePage(page: KeysetPage, user: User, slaveId?: string): Promise<ListPage<Task>> {
    const { members, next } = await this.activeIdsPage(page, user, slaveId);
    const ids = members.map(({ id }) => id);
    const records = await this.rows.launchedTasks.records(this.db.pool, ids);
    return new ListPage(
      ids.flatMap((id) => records.get(id) ?? []),
      next,
    );
  }

  async activeIdsPage(page: KeysetPage, user: User, slaveId?: string): Promise<ListPage<TaskId>> {
    if (slaveId !== undefined) await this.requireSlave(slaveId);
    const found = await this.rows.launchedTasks.activePage(this.db.pool, page, this.access.sightOf(user), slaveId);
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
    const found = await this.rows.tasks.find(this.db.pool, { slaveId });
    return found.map((task) => task.taskId);
  }

  /** By task id, each task's updates from the oldest to the newest. */
  activeStates(): Promise<Record<string, TaskHistoryUpdate[]>> {
    return this.db.snapshot(async (tx) => {
      const ids = (await this.rows.tasks.find(tx)).map((task) => task.taskId);
      return Object.fromEntries(await this.rows.tasks.updates(tx, ids));
    });
  }

  /** Tasks that have to go; of one task when an id is given. */
  cleanups(tx: Queryable = this.db.pool, taskId?: string): Promise<TaskCleanup[]> {
    return this.rows.taskCleanups.ofActiveTasks(tx, taskId);
  }

  /** Tasks whose kill was sent, and whose end has not been reported yet. */
  killed(): Promise<KilledTaskIdRecord[]> {
    return this.rows.killedTasks.ofActiveTasks(this.db.pool);
  }

  private async requireSlave(slaveId: string): Promise<void> {
    const [slave] = await this.rows.slaves.find(this.db.pool, { id: slaveId });
    if (!slave) throw SchedulerError.machineNotFound('slave', slaveId);
  }
}
