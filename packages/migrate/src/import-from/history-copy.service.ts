import { Injectable } from '@nestjs/common';
import type { DeployHistory } from '../../../../src/core/model/deploy.js';
import type { TaskState } from '../../../../src/core/model/enums.js';
import type { RequestHistory } from '../../../../src/core/model/request.js';
import type { TaskHistory } from '../../../../src/core/model/task.js';
import { parseTaskId } from '../../../../src/core/task-id.js';
import { inParallel } from '../../../../src/platform/async.js';
import { Database } from '../../../../src/platform/database/database.js';
import { Rows } from '../../../../src/rows.js';
import type { ImportedTask } from '../../../../src/modules/history/task-history.repository.js';
import { type ImportedThing, problemOf } from './import-report.js';
import {
  type OriginalTask,
  type OriginalTaskEntry,
  readDeploy,
  readRequestEvent,
  readTask,
  readTaskEntry,
} from './records.js';
import type { ImportRun } from './request-import.service.js';

/** Records of one page that are asked for at once. How many calls are made at all is bounded by the connections. */
const detailsAtOnce = 8;

/**
 * Copies what happened to one request, page by page: what is here already is not asked for again. Each page is a transaction,
 * so after an end in the middle the next run goes on there.
 */
@Injectable()
export class HistoryCopy {
  constructor(
    private readonly db: Database,
    private readonly rows: Rows,
  ) {}

  async copy(requestId: string, run: ImportRun): Promise<void> {
    const base = `history/request/${encodeURIComponent(requestId)}`;
    for await (const page of run.original.pages(`${base}/requests`)) await this.copyEvents(requestId, page, run);
    for await (const page of run.original.pages(`${base}/deploys`)) await this.copyDeploys(requestId, page, run);
    for await (const page of run.original.pages(`${base}/tasks`)) await this.copyTasks(page, run);
  }

  private async copyEvents(requestId: string, page: unknown[], { report, dryRun }: ImportRun): Promise<void> {
    const name = (_answer: unknown, index: number) => `change ${index + 1} of a page of request ${requestId}`;
    const events = readable('changes of requests', page, readRequestEvent, name, report);
    if (dryRun) return report.count('changes of requests', 'TAKEN', events.length);
    const taken = await this.db.transaction((tx) =>
      this.rows.requestHistory.takeOver(tx, events as unknown as RequestHistory[]),
    );
    report.count('changes of requests', 'TAKEN', taken);
    report.count('changes of requests', 'AS_BEFORE', events.length - taken);
  }

  private async copyDeploys(
    requestId: string,
    page: unknown[],
    { original, report, dryRun }: ImportRun,
  ): Promise<void> {
    const name = (_answer: unknown, index: number) => `deploy ${index + 1} of a page of request ${requestId}`;
    const listed = readable('deploys', page, readDeploy, name, report);
    const keys = listed.map(({ deployMarker: { deployId }, deployResult }) => ({ deployId, ended: !!deployResult }));
    const wanted = await this.rows.deployHistory.notTakenOver(this.db.pool, requestId, keys);
    report.count('deploys', 'AS_BEFORE', keys.length - wanted.size);
    if (dryRun) return report.count('deploys', 'TAKEN', wanted.size);
    const found = await inParallel([...wanted], detailsAtOnce, (deployId) =>
      original.find(`history/request/${encodeURIComponent(requestId)}/deploy/${encodeURIComponent(deployId)}`),
    );
    const details = readable(
      'deploys',
      given(found),
      readDeploy,
      (_answer, index) => `deploy ${[...wanted][index]} of request ${requestId}`,
      report,
    );
    const taken = await this.db.transaction((tx) =>
      this.rows.deployHistory.takeOver(tx, details as unknown as DeployHistory[]),
    );
    report.count('deploys', 'TAKEN', taken);
    report.count('deploys', 'AS_BEFORE', details.length - taken);
  }

  private async copyTasks(page: unknown[], { original, report, dryRun }: ImportRun): Promise<void> {
    const listed = readable(
      'ended tasks',
      page,
      readTaskEntry,
      (_answer, index) => `task ${index + 1} of a page`,
      report,
    );
    const wanted = new Set(
      await this.rows.taskHistory.missing(
        this.db.pool,
        listed.map(({ taskId }) => taskId.id),
      ),
    );
    report.count('ended tasks', 'AS_BEFORE', listed.length - wanted.size);
    if (dryRun) return report.count('ended tasks', 'TAKEN', wanted.size);
    const entries = listed.filter(({ taskId }) => wanted.has(taskId.id));
    const found = await inParallel(entries, detailsAtOnce, ({ taskId }) =>
      original.find(`history/task/${encodeURIComponent(taskId.id)}`),
    );
    const tasks = entries.flatMap((entry, index) => {
      const [details] = readable('ended tasks', [found[index]], readTask, () => `task ${entry.taskId.id}`, report);
      const task = details && toEndedTask(entry, details);
      if (details && !task) report.refuse('ended tasks', `task ${entry.taskId.id}`, 'taskId (pattern): not a task id');
      return task ?? [];
    });
    const taken = await this.db.transaction((tx) => this.rows.taskHistory.takeOver(tx, tasks));
    report.count('ended tasks', 'TAKEN', taken);
    report.count('ended tasks', 'AS_BEFORE', tasks.length - taken);
  }
}

const given = (found: readonly unknown[]): unknown[] => found.filter((answer) => answer !== undefined);

/** Records of a page that can be read; for the others the report says what is wrong with them. */
function readable<T>(
  thing: ImportedThing,
  page: readonly unknown[],
  read: (answer: unknown) => T,
  name: (answer: unknown, index: number) => string,
  report: ImportRun['report'],
): T[] {
  return page.flatMap((answer, index) => {
    try {
      return [read(answer)];
    } catch (cause) {
      const problem = answer === undefined ? 'it is gone there meanwhile' : problemOf(cause);
      if (problem === undefined) throw cause;
      report.refuse(thing, name(answer, index), problem);
      return [];
    }
  });
}

function toEndedTask(entry: OriginalTaskEntry, details: OriginalTask): ImportedTask | undefined {
  const taskId = parseTaskId(entry.taskId.id);
  if (!taskId) return undefined;
  const offer = details.task['offer'] as { slaveId?: { value?: unknown } } | undefined;
  const slaveId = offer?.slaveId?.value;
  return {
    taskId,
    runId: entry.runId,
    slaveId: typeof slaveId === 'string' ? slaveId : undefined,
    runningAt: details.taskUpdates.find(({ taskState }) => taskState === 'TASK_RUNNING')?.timestamp,
    updatedAt: entry.updatedAt,
    state: (entry.lastTaskState ?? details.taskUpdates.at(-1)?.taskState) as TaskState | undefined,
    history: details as unknown as TaskHistory,
  };
}
