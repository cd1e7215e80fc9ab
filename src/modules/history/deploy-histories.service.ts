import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { DeployState, TaskState } from '../../core/model/enums.js';
import type {
  Deploy,
  DeployHistory,
  DeployResult,
  DeployStatistics,
  TaskFailureEvent,
} from '../../core/model/deploy.js';
import { Database } from '../../platform/database/database.js';
import { rows, toMillis } from '../../platform/database/sql.js';
import { SchedulerError } from '../../platform/errors.js';
import { OldPayloads } from './old-payloads.service.js';
import { pageBounds, toPage, type Page, type PageChoice } from './paging.js';

interface DeployRow {
  request_id: string;
  deploy_id: string;
  created_at: Date;
  user_name: string | null;
  message: string | null;
  deploy_state: DeployState | null;
  deploy_state_at: Date | null;
  result: DeployResult | null;
  deploy?: Deploy | null;
  statistics?: DeployStatistics | null;
  bytes?: Buffer | null;
}

interface StatisticsRow {
  request_id: string;
  deploy_id: string;
  num_tasks: number;
  num_success: number;
  num_failures: number;
  num_sequential_retries: number;
  last_finish_at: Date | null;
  last_task_state: TaskState | null;
  average_runtime_millis: number | null;
  average_scheduling_delay_millis: number | null;
  failure_events: TaskFailureEvent[];
}

const columns = `request_id, deploy_id, created_at, user_name, message, deploy_state, deploy_state_at,
  data->'deployResult' AS result`;

/** Deploys of a request, in progress or past: every deploy is in the history from its first second. */
@Injectable()
export class DeployHistories {
  constructor(
    private readonly db: Database,
    private readonly old: OldPayloads,
  ) {}

  find(requestId: string, deployId: string): Promise<DeployHistory> {
    return this.db.snapshot(async (tx) => {
      const [row] = await rows<DeployRow>(
        tx,
        `SELECT ${columns}, data->'deploy' AS deploy, data->'deployStatistics' AS statistics,
           CASE WHEN data IS NULL THEN bytes END AS bytes FROM deploy_history WHERE request_id = $1 AND deploy_id = $2`,
        [requestId, deployId],
      );
      if (!row) throw SchedulerError.deployNotFound(requestId, deployId);
      const old = this.old.document<DeployHistory>('DEPLOY', row.bytes ?? null);
      return {
        ...fromRow({ ...row, result: row.result ?? old?.deployResult ?? null }),
        deploy: row.deploy ?? old?.deploy,
        // Those of an older installation came with the deploy.
        deployStatistics: (await this.statistics(tx, requestId, deployId)) ?? row.statistics ?? old?.deployStatistics,
      };
    });
  }

  /** Newest first, without what each deployed. */
  list(requestId: string, choice: PageChoice): Promise<DeployHistory[]> {
    return this.read(this.db.manager, requestId, choice);
  }

  page(requestId: string, choice: PageChoice): Promise<Page<DeployHistory>> {
    return this.db.snapshot(async (tx) => {
      const [counted] = await rows<{ count: string }>(tx, 'SELECT count(*) FROM deploy_history WHERE request_id = $1', [
        requestId,
      ]);
      return toPage(choice, Number(counted!.count), await this.read(tx, requestId, choice));
    });
  }

  private async read(tx: EntityManager, requestId: string, choice: PageChoice): Promise<DeployHistory[]> {
    const { count, offset } = pageBounds(choice);
    const found = await rows<DeployRow>(
      tx,
      `SELECT ${columns} FROM deploy_history WHERE request_id = $1 ORDER BY created_at DESC, deploy_id LIMIT $2 OFFSET $3`,
      [requestId, count, offset],
    );
    return found.map(fromRow);
  }

  private async statistics(
    tx: EntityManager,
    requestId: string,
    deployId: string,
  ): Promise<DeployStatistics | undefined> {
    const found = await rows<StatisticsRow>(
      tx,
      'SELECT * FROM deploy_statistics WHERE request_id = $1 AND deploy_id = $2 AND num_tasks > 0',
      [requestId, deployId],
    );
    return found.map((row) => ({
      requestId: row.request_id,
      deployId: row.deploy_id,
      numSuccess: row.num_success,
      numFailures: row.num_failures,
      numSequentialRetries: row.num_sequential_retries,
      lastFinishAt: toMillis(row.last_finish_at),
      lastTaskState: row.last_task_state ?? undefined,
      instanceSequentialFailureTimestamps: {},
      numTasks: row.num_tasks,
      averageRuntimeMillis: rounded(row.average_runtime_millis),
      averageSchedulingDelayMillis: rounded(row.average_scheduling_delay_millis),
      taskFailureEvents: row.failure_events,
    }))[0];
  }
}

const rounded = (mean: number | null): number | undefined => (mean === null ? undefined : Math.round(mean));

const fromRow = (row: DeployRow): DeployHistory => ({
  deployResult: row.result ?? resultFromColumns(row),
  deployMarker: {
    requestId: row.request_id,
    deployId: row.deploy_id,
    timestamp: row.created_at.getTime(),
    user: row.user_name ?? undefined,
    message: row.message ?? undefined,
  },
});

/** Rows that came from an older installation have only these. */
const resultFromColumns = ({ deploy_state: deployState, deploy_state_at: at }: DeployRow): DeployResult | undefined =>
  deployState && at ? { deployState, timestamp: at.getTime(), deployFailures: [] } : undefined;
