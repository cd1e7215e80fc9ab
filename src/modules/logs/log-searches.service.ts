import { Injectable } from '@nestjs/common';
import { narrow, spanOfDeploy, spanOfRequest, spanOfTask, type Narrowing, type Search } from '../../core/logs/index.js';
import { parseTaskId } from '../../core/task-id.js';
import type { TaskId } from '../../core/model/task.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { SchedulerError } from '../../platform/errors.js';
import { Rows } from '../../rows.js';
import { idForms } from '../../platform/http/task-id.pipe.js';
import type { RequestLifetime } from '../requests/request-history.repository.js';
import { ObjectStore } from './object-store.service.js';

/** Tasks, deploys and requests whose logs are asked for. */
export interface LogQuery extends Narrowing {
  taskIds?: readonly string[];
  /** Deploy ids by request id; an empty list means all of the request. */
  requestsAndDeploys?: Readonly<Record<string, readonly string[]>>;
}

type SearchTarget = Omit<Search, 'files'>;

/** Tasks, deploys and requests of one search; each is a question to the database and several to the store. */
const mostWanted = 1_000;
/** Group of requests that are in none. */
const defaultGroup = 'default';

/** Finds out when and under which names the logs that are asked for can have been written. */
@Injectable()
export class LogSearches {
  constructor(
    private readonly db: Database,
    private readonly rows: Rows,
    private readonly store: ObjectStore,
    private readonly clock: Clock,
  ) {}

  find({ taskIds = [], requestsAndDeploys = {}, ...times }: LogQuery): Promise<Search[]> {
    const tasks = [...new Set(taskIds)].map(readTaskId);
    const requests = Object.entries(requestsAndDeploys);
    const count = requests.reduce((sum, [, deploys]) => sum + Math.max(deploys.length, 1), tasks.length);
    if (count === 0) throw refusal('', 'required', 'taskIds or requestsAndDeploys must say whose logs to search');
    if (count > mostWanted) {
      throw refusal(
        '',
        'max',
        `A search takes at most ${mostWanted} tasks, deploys and requests together, not ${count}`,
      );
    }
    return this.db.snapshot(async (tx) => {
      const requestIds = [...requests.map(([id]) => id), ...tasks.map((task) => task.requestId)];
      const owning = await this.rows.requestHistory.lifetimes(tx, [...new Set(requestIds)]);
      const searches: SearchTarget[] = await this.ofTasks(tx, tasks, owning);
      for (const [requestId, deployIds] of requests) {
        const request = owning.get(requestId)!;
        if (deployIds.length === 0) searches.push(this.ofRequest(requestId, request, times));
        for (const deployId of new Set(deployIds)) {
          searches.push(await this.ofDeploy(tx, requestId, deployId, request));
        }
      }
      const files = await this.rows.uploadPlaces.ofOwners(
        tx,
        searches.map(({ subject }) => subject.owner),
      );
      return searches.map(({ subject, span }, index) => ({ subject, span: narrow(span, times), files: files[index]! }));
    });
  }

  private async ofTasks(
    tx: Transaction,
    tasks: readonly TaskId[],
    requests: ReadonlyMap<string, RequestLifetime>,
  ): Promise<SearchTarget[]> {
    const { missingTaskDefaultObjstoreSearchPeriodMillis: missingTaskPeriod } = this.store.configured();
    const found = await this.rows.taskHistory.lifetimes(
      tx,
      tasks.map((task) => task.id),
    );
    return tasks.map(({ id, requestId, deployId, host, startedAt }) => {
      const known = found.get(id);
      const group = known?.group ?? requests.get(requestId)?.group ?? defaultGroup;
      const times = { startedAt, isKnown: known !== undefined, endedAt: known?.endedAt };
      return {
        subject: { owner: { requestId, deployId, task: { id, host } }, group, tag: known?.tag },
        span: spanOfTask(times, missingTaskPeriod, this.clock.now()),
      };
    });
  }

  private async ofDeploy(
    tx: Transaction,
    requestId: string,
    deployId: string,
    { group = defaultGroup }: RequestLifetime,
  ): Promise<SearchTarget> {
    const deploy = await this.rows.deployHistory.lifetime(tx, { requestId, deployId });
    if (!deploy) throw SchedulerError.deployNotFound(requestId, deployId);
    const subject = { owner: { requestId, deployId }, group, tag: deploy.tag };
    return { subject, span: spanOfDeploy(deploy, this.clock.now()) };
  }

  private ofRequest(
    requestId: string,
    { group = defaultGroup, times }: RequestLifetime,
    choice: Narrowing,
  ): SearchTarget {
    const span = spanOfRequest(times, choice, this.clock.now());
    if (!span) {
      const message = `start is needed: nothing in the history of request '${requestId}' says since when it has logs`;
      throw refusal('start', 'required', message);
    }
    return { subject: { owner: { requestId }, group }, span };
  }
}

function readTaskId(id: string): TaskId {
  const taskId = parseTaskId(id);
  if (!taskId)
    throw refusal('taskIds', 'pattern', `taskIds has '${id}', which is not the id of a task. ${idForms.task}`);
  return taskId;
}

export const refusal = (field: string, rule: string, message: string): SchedulerError =>
  SchedulerError.invalid('INVALID_REQUEST', [{ field, rule, message }]);
