import { Injectable } from '@nestjs/common';
import type { Deploy } from '../../core/model/deploy.js';
import type { Task, TaskId } from '../../core/model/task.js';
import { parseTaskId } from '../../core/task-id.js';
import { Database } from '../../platform/database/database.js';
import { rows } from '../../platform/database/sql.js';
import { neverChanges } from '../../platform/http/json.js';
import { KeptRecords } from '../../platform/reads/kept-records.js';
import { SharedRead } from '../../platform/reads/shared-read.js';
import { launchedTask, launchedTaskColumns, launchedTaskTables, type LaunchedTaskRow } from './launched-tasks.js';

/** A task's record takes about 7 kB of memory, and its id half a kilobyte. */
const most = { records: 10_000, ids: 50_000 };
/** Tasks per query: to read thousands of documents in one go would keep all other calls waiting. */
const batch = 500;

/**
 * All active tasks, in the order of their ids. What a task was launched with never changes, so only which tasks there are is
 * read each time.
 */
@Injectable()
export class ActiveTasks {
  private readonly keptRecords = new KeptRecords<Task>(most.records);
  private readonly keptIds = new KeptRecords<TaskId>(most.ids);
  private readonly recordsRead = new SharedRead(() => this.readRecords());
  private readonly idsRead = new SharedRead(() => this.readIds());

  constructor(private readonly db: Database) {}

  records(): Promise<Task[]> {
    return this.recordsRead.ask();
  }

  ids(): Promise<TaskId[]> {
    return this.idsRead.ask();
  }

  private async readRecords(): Promise<Task[]> {
    return neverChanges(await this.keptRecords.list(await this.findIds(), (missing) => this.load(missing)));
  }

  private async readIds(): Promise<TaskId[]> {
    // Made by this service, so they can be read.
    const parsed = (ids: readonly string[]) => new Map(ids.map((id) => [id, parseTaskId(id)!]));
    return neverChanges(await this.keptIds.list(await this.findIds(), (missing) => Promise.resolve(parsed(missing))));
  }

  /** As one value: thousands of rows would cost more than what stands in them. */
  private async findIds(): Promise<string[]> {
    const [found] = await rows<{ ids: string[] }>(
      this.db.manager,
      `SELECT coalesce(json_agg(task_id ORDER BY task_id), '[]') AS ids FROM task WHERE ended_at IS NULL`,
    );
    return found!.ids;
  }

  /** Those that are there still. */
  private async load(ids: readonly string[]): Promise<Map<string, Task>> {
    const found = new Map<string, Task>();
    const deploys = new Map<string, Deploy>();
    for (let first = 0; first < ids.length; first += batch) {
      const launched = await rows<LaunchedTaskRow>(
        this.db.manager,
        `SELECT ${launchedTaskColumns} FROM ${launchedTaskTables} WHERE t.task_id = ANY ($1)`,
        [ids.slice(first, first + batch)],
      );
      for (const row of launched) found.set(row.task_id, launchedTask({ ...row, deploy: sameDeploy(deploys, row) }));
    }
    return found;
  }
}

/** The tasks of a deploy have one record of it in common, rather than each its own. */
function sameDeploy(deploys: Map<string, Deploy>, { deploy }: LaunchedTaskRow): Deploy | null {
  if (!deploy) return null;
  const key = `${deploy.requestId}-${deploy.id}`;
  const known = deploys.get(key) ?? deploy;
  deploys.set(key, known);
  return known;
}
