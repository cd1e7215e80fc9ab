import { Injectable } from '@nestjs/common';
import { MoreThan } from 'typeorm';
import type { TimeRange } from '../../core/authorization/index.js';
import type { DeployTimes } from '../../core/logs/index.js';
import type { DeployState } from '../../core/model/enums.js';
import type { Deploy, DeployHistory, DeployKey, DeployResult, DeployStatistics } from '../../core/model/deploy.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { rows, timeTests, toMillis } from '../../platform/database/sql.js';
import { DeployStatisticsEntity } from './deploy-statistics.entity.js';

/** Data of a deploy whose logs are looked for. */
interface DeployLifetime extends DeployTimes {
  /** '' for none; absent: not known. */
  tag?: string;
}

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

interface LifetimeRow {
  created_at: Date;
  is_current: boolean;
  last_finish_at: Date | null;
  tag: string | null;
}

const columns = `request_id, deploy_id, created_at, user_name, message, deploy_state, deploy_state_at,
  data->'deployResult' AS result`;

/**
 * Deploys of a request as they are looked back at, in progress or past: every deploy stands here from its first second. By
 * hand: lists leave out what was deployed, which stands in the same column as the result.
 */
@Injectable()
export class DeployHistoryRepository {
  /** bytes: the deploy as an older installation wrote it, where it has not been converted. */
  async find(
    tx: Transaction,
    { requestId, deployId }: DeployKey,
  ): Promise<{ history: DeployHistory; bytes: Buffer | null } | undefined> {
    const [row] = await rows<DeployRow>(
      tx,
      `SELECT ${columns}, data->'deploy' AS deploy, data->'deployStatistics' AS statistics,
           CASE WHEN data IS NULL THEN bytes END AS bytes FROM deploy_history WHERE request_id = $1 AND deploy_id = $2`,
      [requestId, deployId],
    );
    if (!row) return undefined;
    const history = {
      ...fromRow(row),
      deploy: row.deploy ?? undefined,
      // Those of an older installation came with the deploy.
      deployStatistics: (await statisticsOf(tx, requestId, deployId)) ?? row.statistics ?? undefined,
    };
    return { history, bytes: row.bytes ?? null };
  }

  /** Newest first, without what each deployed. */
  async list(
    tx: Queryable,
    requestId: string,
    { count, offset }: { count: number; offset: number },
    past: TimeRange = {},
  ): Promise<DeployHistory[]> {
    const parameters: unknown[] = [requestId, count, offset];
    const found = await rows<DeployRow>(
      tx,
      `SELECT ${columns} FROM deploy_history WHERE request_id = $1${timeTests('created_at', past, parameters)}
       ORDER BY created_at DESC, deploy_id LIMIT $2 OFFSET $3`,
      parameters,
    );
    return found.map(fromRow);
  }

  /**
   * The last deploy of each request if it has failed, in the order of request ids. One look into an index for each
   * request: to sort all deploys there have ever been takes seconds.
   */
  async lastFailed(tx: Transaction): Promise<DeployHistory[]> {
    const found = await rows<DeployRow>(
      tx,
      `SELECT d.* FROM request r CROSS JOIN LATERAL (SELECT ${columns} FROM deploy_history WHERE request_id = r.id
         ORDER BY created_at DESC, deploy_id LIMIT 1) d
       WHERE d.deploy_state IN ('FAILED', 'OVERDUE', 'FAILED_INTERNAL_STATE') ORDER BY r.id`,
    );
    return found.map(fromRow);
  }

  async count(tx: Transaction, requestId: string, past: TimeRange = {}): Promise<number> {
    const parameters: unknown[] = [requestId];
    const [counted] = await rows<{ count: string }>(
      tx,
      `SELECT count(*) FROM deploy_history WHERE request_id = $1${timeTests('created_at', past, parameters)}`,
      parameters,
    );
    return Number(counted!.count);
  }

  /** Ids among these deploys of another installation that are missing here, or that have ended there and not here. */
  async notTakenOver(
    tx: Queryable,
    requestId: string,
    theirs: readonly { deployId: string; ended: boolean }[],
  ): Promise<Set<string>> {
    const found = await rows<{ deploy_id: string }>(
      tx,
      `SELECT n.deploy_id FROM unnest($2::text[], $3::boolean[]) AS n (deploy_id, ended)
       WHERE NOT EXISTS (SELECT 1 FROM deploy_history d WHERE d.request_id = $1 AND d.deploy_id = n.deploy_id
         AND (d.deploy_state IS NOT NULL OR NOT n.ended))`,
      [requestId, theirs.map(({ deployId }) => deployId), theirs.map(({ ended }) => ended)],
    );
    return new Set(found.map((row) => row.deploy_id));
  }

  /**
   * Deploys of another installation, as they were there. One that is here already stays as it is, unless its end or what it
   * deployed was not known yet. Answers how many were written.
   */
  async takeOver(tx: Transaction, deploys: readonly DeployHistory[]): Promise<number> {
    const written = await rows(
      tx,
      `INSERT INTO deploy_history AS d (request_id, deploy_id, created_at, user_name, message, deploy_state, deploy_state_at, data, deploy_bytes)
       SELECT request_id, deploy_id, created_at, user_name, message, deploy_state, deploy_state_at, data,
         coalesce(octet_length((data->'deploy')::text), 0)
       FROM jsonb_populate_recordset(NULL::deploy_history, $1::jsonb)
       ON CONFLICT (request_id, deploy_id) DO UPDATE SET deploy_state = coalesce(excluded.deploy_state, d.deploy_state),
         deploy_state_at = coalesce(excluded.deploy_state_at, d.deploy_state_at), bytes = NULL,
         data = excluded.data || coalesce(d.data, '{}'), deploy_bytes = greatest(d.deploy_bytes, excluded.deploy_bytes)
       WHERE (d.deploy_state IS NULL AND excluded.deploy_state IS NOT NULL OR d.data IS NULL) AND NOT EXISTS (
         SELECT 1 FROM pending_deploy p WHERE (p.request_id, p.deploy_id) = (d.request_id, d.deploy_id)) RETURNING 1`,
      [
        JSON.stringify(
          deploys.map(({ deployMarker: marker, deploy, deployResult, deployStatistics }) => ({
            request_id: marker.requestId,
            deploy_id: marker.deployId,
            created_at: new Date(marker.timestamp),
            user_name: marker.user,
            message: marker.message,
            deploy_state: deployResult?.deployState,
            deploy_state_at: deployResult && new Date(deployResult.timestamp),
            data: { deploy, deployResult, deployStatistics },
          })),
        ),
      ],
    );
    return written.length;
  }

  /** undefined: there never was one of this id, or its history was purged. */
  async lifetime(tx: Transaction, { requestId, deployId }: DeployKey): Promise<DeployLifetime | undefined> {
    const [row] = await rows<LifetimeRow>(
      tx,
      `SELECT d.created_at, coalesce(d.deploy_id IN (r.active_deploy_id, r.pending_deploy_id), false) AS is_current,
         s.last_finish_at,
         CASE WHEN d.data IS NOT NULL THEN coalesce(d.data #>> '{deploy,executorData,loggingTag}', '') END AS tag
       FROM deploy_history d LEFT JOIN request r ON r.id = d.request_id
         LEFT JOIN deploy_statistics s ON (s.request_id, s.deploy_id) = (d.request_id, d.deploy_id)
       WHERE d.request_id = $1 AND d.deploy_id = $2`,
      [requestId, deployId],
    );
    if (!row) return undefined;
    return {
      createdAt: row.created_at.getTime(),
      isCurrent: row.is_current,
      lastFinishAt: toMillis(row.last_finish_at),
      tag: row.tag ?? undefined,
    };
  }

  /**
   * Removes at most so many that are older and that nothing needs any more: not those that serve, are under way, or have a
   * task. Answers how many went.
   */
  async purge(tx: Transaction, before: Date, most: number): Promise<number> {
    const gone = await rows(
      tx,
      `DELETE FROM deploy_history WHERE ctid = ANY (ARRAY(SELECT d.ctid FROM deploy_history d WHERE created_at < $1
         AND NOT EXISTS (SELECT 1 FROM request r
           WHERE r.id = d.request_id AND d.deploy_id IN (r.active_deploy_id, r.pending_deploy_id))
         AND NOT EXISTS (SELECT 1 FROM pending_deploy p WHERE p.request_id = d.request_id AND p.deploy_id = d.deploy_id)
         AND NOT EXISTS (SELECT 1 FROM task t WHERE t.request_id = d.request_id AND t.deploy_id = d.deploy_id)
         AND NOT EXISTS (SELECT 1 FROM pending_task w WHERE w.request_id = d.request_id AND w.deploy_id = d.deploy_id)
         LIMIT $2)) RETURNING 1`,
      [before, most],
    );
    return gone.length;
  }
}

async function statisticsOf(
  tx: Transaction,
  requestId: string,
  deployId: string,
): Promise<DeployStatistics | undefined> {
  const found = await tx
    .getRepository(DeployStatisticsEntity)
    .findOneBy({ requestId, deployId, numTasks: MoreThan(0) });
  if (!found) return undefined;
  return {
    requestId,
    deployId,
    numSuccess: found.numSuccess,
    numFailures: found.numFailures,
    numSequentialRetries: found.numSequentialRetries,
    lastFinishAt: toMillis(found.lastFinishAt),
    lastTaskState: found.lastTaskState ?? undefined,
    instanceSequentialFailureTimestamps: {},
    numTasks: found.numTasks,
    averageRuntimeMillis: rounded(found.averageRuntimeMillis),
    averageSchedulingDelayMillis: rounded(found.averageSchedulingDelayMillis),
    skippedRuns: found.skippedRuns || undefined,
    taskFailureEvents: found.failureEvents,
  };
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
