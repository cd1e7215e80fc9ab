import { Inject, Injectable } from '@nestjs/common';
import { isWithin, type TimeRange } from '../../core/authorization/index.js';
import { deployKeyText, type DeployHistory } from '../../core/model/deploy.js';
import type { Request } from '../../core/model/request.js';
import { Database } from '../../platform/database/database.js';
import type { Queryable } from '../../platform/database/queryable.js';
import { SchedulerError } from '../../platform/errors.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Rows } from '../../rows.js';
import { RequestHistoryRepository, type RequestChange } from '../requests/request-history.repository.js';
import { oldDocument } from './old-payloads.js';
import { pageBounds, toPage, type Page, type PageChoice } from './paging.js';

interface ChangeChoice extends PageChoice {
  createdBefore?: number;
  createdAfter?: number;
  orderDirection?: 'ASC' | 'DESC';
}
const spanOf = ({ createdAfter, createdBefore }: ChangeChoice) => ({ after: createdAfter, before: createdBefore });

/** History of requests, those that are gone included. */
@Injectable()
export class RequestHistories {
  constructor(
    private readonly db: Database,
    private readonly changes: RequestHistoryRepository,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** Newest first unless asked otherwise. */
  list(requestId: string, choice: ChangeChoice, past: TimeRange): Promise<RequestChange[]> {
    return this.read(this.db.pool, requestId, choice, past);
  }

  page(requestId: string, choice: ChangeChoice, past: TimeRange): Promise<Page<RequestChange>> {
    return this.db.snapshot(async (tx) => {
      const count = await this.changes.count(tx, requestId, [past, spanOf(choice)]);
      return toPage(choice, count, await this.read(tx, requestId, choice, past));
    });
  }

  /** Ids of all requests there ever were that begin so, in the order of their characters. */
  search(prefix: string, choice: PageChoice): Promise<string[]> {
    return this.changes.idsThatBegin(this.db.pool, prefix, pageBounds(choice));
  }

  private async read(
    tx: Queryable,
    requestId: string,
    choice: ChangeChoice,
    past: TimeRange,
  ): Promise<RequestChange[]> {
    const spans = [past, spanOf(choice)];
    const found = await this.changes.list(tx, requestId, pageBounds(choice), spans, choice.orderDirection);
    return found.map(({ change, bytes }) => ({
      ...change,
      request: change.request ?? oldDocument<Request>(this.settings, 'REQUEST', bytes),
    }));
  }
}

/** Deploys of a request, in progress or past: every deploy is in the history from its first second. */
@Injectable()
export class DeployHistories {
  constructor(
    private readonly db: Database,
    private readonly rows: Rows,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  async find(requestId: string, deployId: string, past: TimeRange): Promise<DeployHistory> {
    const key = { requestId, deployId };
    const { found, gates, waitsBecause } = await this.db.snapshot(async (tx) => {
      const found = await this.rows.deployHistory.find(tx, key);
      const hasGates = found?.history.deploy?.canaryDeploySettings?.gates !== undefined;
      const gates = hasGates ? await this.rows.deployGates.results(tx, key) : [];
      if (!found || found.history.deployResult) return { found, gates };
      return {
        found,
        gates,
        waitsBecause: (await this.rows.pendingTasks.whyWaiting(tx, [key])).get(deployKeyText(key)),
      };
    });
    const isSeen = found && isWithin(past, found.history.deployMarker.timestamp);
    if (!isSeen) throw SchedulerError.deployNotFound(requestId, deployId);
    const { bytes } = found;
    const history = { ...found.history, waitsBecause, ...(gates.length > 0 && { gates }) };
    const old = oldDocument<DeployHistory>(this.settings, 'DEPLOY', bytes);
    if (!old) return history;
    return {
      ...history,
      deployResult: old.deployResult ?? history.deployResult,
      deploy: old.deploy,
      deployStatistics: history.deployStatistics ?? old.deployStatistics,
    };
  }

  /** Newest first, without what each deployed. */
  list(requestId: string, choice: PageChoice, past: TimeRange): Promise<DeployHistory[]> {
    return this.rows.deployHistory.list(this.db.pool, requestId, pageBounds(choice), past);
  }

  page(requestId: string, choice: PageChoice, past: TimeRange): Promise<Page<DeployHistory>> {
    return this.db.snapshot(async (tx) => {
      const count = await this.rows.deployHistory.count(tx, requestId, past);
      return toPage(choice, count, await this.rows.deployHistory.list(tx, requestId, pageBounds(choice), past));
    });
  }
}
