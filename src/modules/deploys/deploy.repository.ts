import { Injectable } from '@nestjs/common';
import { progressOfJob, type DeployBalance, type DeployEnding } from '../../core/deploys/index.js';
import type { DeployState } from '../../core/model/enums.js';
import {
  type Deploy,
  type DeployKey,
  deployKeyText,
  type DeployMarker,
  type DeployProgress,
  type DeployResult,
  type PendingDeploy,
  type Resources,
} from '../../core/model/deploy.js';
import type { Request } from '../../core/model/request.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { OutboxRepository } from '../events/outbox.repository.js';
import { rows, toMillis } from '../../platform/database/sql.js';
import { liveSql } from '../tasks/task.repository.js';

/** A deploy as stored, in progress or long past. */
export interface StoredDeploy {
  marker: DeployMarker;
  deploy: Deploy;
  result?: DeployResult;
}

/** The deploy of a request that is in progress. */
export interface StoredPendingDeploy extends DeployKey {
  state: DeployState;
  /** Only of SERVICE and WORKER requests. */
  progress?: DeployProgress;
  /** Takes the place of the request when the deploy succeeds. */
  updatedRequest?: Request;
  /** The newest order to the load balancer. */
  balance?: DeployBalance;
  /** The end of the deploy, once the load balancer has taken the old tasks back. */
  ending?: DeployEnding;
  cancel?: { user?: string; requestedAt: number };
  updateTargetInstances?: number;
  /** Key of the user who started it. */
  startedBy?: string;
}

/** An id may have had other requests before, whose deploys stay in the history: they are not of the one that is there. */
const endsSql = (requestId: string): string =>
  `FROM request_history WHERE request_id = ${requestId} AND event_type = 'DELETED'`;
const ofThisRequest = (deploy: string): string =>
  `${deploy}.created_at > coalesce((SELECT max(created_at) ${endsSql(`${deploy}.request_id`)}), '-infinity')`;

interface RunningDeploy {
  marker: DeployMarker;
  /** Time at which its present step began, in epoch milliseconds. */
  stepSince: number;
}

interface DeployRow {
  request_id: string;
  deploy_id: string;
  created_at: Date;
  user_name: string | null;
  message: string | null;
  data: { deploy: Deploy; deployResult?: DeployResult };
}

interface PendingDeployRow {
  request_id: string;
  deploy_id: string;
  state: DeployState;
  progress: DeployProgress | null;
  updated_request: Request | null;
  balance: DeployBalance | null;
  ending: DeployEnding | null;
  cancel_user: string | null;
  cancel_requested_at: Date | null;
  update_target_instances: number | null;
  started_by: string | null;
}

/** A deploy in progress as the API shows it. That of a job is not rolled out in steps, so none of it is stored. */
export const toPendingDeploy = (
  pending: StoredPendingDeploy,
  deployMarker: DeployMarker,
  waitsBecause?: string,
): PendingDeploy => ({
  deployMarker,
  lastLoadBalancerUpdate: pending.balance?.update,
  currentDeployState: pending.state,
  deployProgress: pending.progress ?? progressOfJob(deployMarker.timestamp),
  updatedRequest: pending.updatedRequest,
  waitsBecause,
});

/**
 * The rows of deploys. Changes are made under the lock on the request's row (RequestRepository.lock). By hand: each pass of
 * the leader and each list of the API reads many deploys in one statement.
 */
@Injectable()
export class DeployRepository {
  constructor(private readonly outbox: OutboxRepository) {}

  async find(tx: Queryable, key: DeployKey): Promise<StoredDeploy | undefined> {
    return (await this.findMany(tx, [key])).get(deployKeyText(key));
  }

  /** By deployKeyText; unknown keys are left out. */
  async findMany(tx: Queryable, keys: readonly DeployKey[]): Promise<Map<string, StoredDeploy>> {
    if (keys.length === 0) return new Map();
    const found = await rows<DeployRow>(
      tx,
      `SELECT request_id, deploy_id, created_at, user_name, message, data
       FROM deploy_history JOIN unnest($1::text[], $2::text[]) AS wanted (request_id, deploy_id) USING (request_id, deploy_id)
       WHERE data IS NOT NULL`,
      [keys.map((key) => key.requestId), keys.map((key) => key.deployId)],
    );
    return new Map(found.map(storedDeploy).map((stored) => [deployKeyText(stored.marker), stored]));
  }

  /** Only who deployed what and when, by deployKeyText: for lists, which need not read every deploy. */
  async findMarkers(tx: Queryable, keys: readonly DeployKey[]): Promise<Map<string, DeployMarker>> {
    if (keys.length === 0) return new Map();
    const found = await rows<Omit<DeployRow, 'data'>>(
      tx,
      `SELECT request_id, deploy_id, created_at, user_name, message
       FROM deploy_history JOIN unnest($1::text[], $2::text[]) AS wanted (request_id, deploy_id) USING (request_id, deploy_id)`,
      [keys.map((key) => key.requestId), keys.map((key) => key.deployId)],
    );
    return new Map(found.map(markerFromRow).map((marker) => [deployKeyText(marker), marker]));
  }

  /** Deploys in use, and those of live and pending tasks: of the given requests, or all. By hand: the working set is loaded by it. */
  async inUse(
    tx: Queryable,
    requestIds: readonly string[] | null,
  ): Promise<{ requestId: string; deployId: string; deploy: Deploy }[]> {
    return rows(
      tx,
      `SELECT d.request_id AS "requestId", d.deploy_id AS "deployId", d.data->'deploy' AS deploy
       FROM (SELECT id AS request_id, active_deploy_id AS deploy_id FROM request WHERE $1::text[] IS NULL OR id = ANY ($1)
         UNION SELECT id, pending_deploy_id FROM request WHERE $1::text[] IS NULL OR id = ANY ($1)
         UNION SELECT request_id, deploy_id FROM pending_task WHERE $1::text[] IS NULL OR request_id = ANY ($1)
         UNION SELECT request_id, deploy_id FROM task WHERE ${liveSql('task')} AND ($1::text[] IS NULL OR request_id = ANY ($1))) used
       JOIN deploy_history d USING (request_id, deploy_id) WHERE d.data IS NOT NULL`,
      [requestIds],
    );
  }

  /** Resources that deploys ask for, by deployKeyText; those that do not say are left out. */
  async resources(tx: Queryable, keys: readonly DeployKey[]): Promise<Map<string, Resources>> {
    const found = await rows<{ request_id: string; deploy_id: string; resources: Resources }>(
      tx,
      `SELECT request_id, deploy_id, data #> '{deploy,resources}' AS resources
       FROM deploy_history JOIN unnest($1::text[], $2::text[]) AS wanted (request_id, deploy_id) USING (request_id, deploy_id)
       WHERE data #> '{deploy,resources}' IS NOT NULL`,
      [keys.map((key) => key.requestId), keys.map((key) => key.deployId)],
    );
    return new Map(
      found.map((row) => [deployKeyText({ requestId: row.request_id, deployId: row.deploy_id }), row.resources]),
    );
  }

  /** The newest one that succeeded before `active` was started. */
  async lastSuccessfulBefore(tx: Queryable, active: DeployKey): Promise<string | undefined> {
    const found = await rows<{ deploy_id: string }>(
      tx,
      `SELECT earlier.deploy_id FROM deploy_history earlier JOIN deploy_history active USING (request_id)
       WHERE request_id = $1 AND active.deploy_id = $2 AND earlier.deploy_id <> $2
         AND earlier.deploy_state = 'SUCCEEDED' AND earlier.created_at <= active.created_at AND ${ofThisRequest('earlier')}
       ORDER BY earlier.created_at DESC, earlier.deploy_id DESC LIMIT 1`,
      [active.requestId, active.deployId],
    );
    return found[0]?.deploy_id;
  }

  /** True if it belongs to another request, which had the same id and is gone. */
  async isOfFormerRequest(tx: Transaction, { requestId, deployId }: DeployKey): Promise<boolean> {
    const sql = `SELECT 1 FROM deploy_history d WHERE request_id = $1 AND deploy_id = $2 AND NOT ${ofThisRequest('d')}`;
    return (await rows(tx, sql, [requestId, deployId])).length > 0;
  }

  /** Ids with `part` in them, of all deploys that requests of this id have had. */
  async idsWith(tx: Transaction, requestId: string, part: string): Promise<Set<string>> {
    const found = await rows<{ deploy_id: string }>(
      tx,
      `SELECT deploy_id FROM deploy_history WHERE request_id = $1 AND position($2 IN deploy_id) > 0`,
      [requestId, part],
    );
    return new Set(found.map((row) => row.deploy_id));
  }

  /** false when this request already had a deploy of this id, now or ever. */
  async insert(tx: Transaction, { marker, deploy }: StoredDeploy): Promise<boolean> {
    const written = await rows(
      tx,
      `INSERT INTO deploy_history (request_id, deploy_id, created_at, user_name, message, data, deploy_bytes)
       VALUES ($1, $2, greatest($3::timestamptz, (SELECT max(created_at) + interval '1 millisecond' ${endsSql('$1')})), $4, $5, $6,
         octet_length(($6::jsonb->'deploy')::text))
       ON CONFLICT (request_id, deploy_id) DO NOTHING RETURNING deploy_id`,
      [
        marker.requestId,
        marker.deployId,
        new Date(marker.timestamp),
        marker.user ?? null,
        marker.message ?? null,
        JSON.stringify({ deploy }),
      ],
    );
    return written.length > 0;
  }

  /** The result of a deploy is written once; a later one is ignored. */
  async saveResult(tx: Transaction, key: DeployKey, result: DeployResult): Promise<void> {
    await tx.query(
      `UPDATE deploy_history SET deploy_state = $3, deploy_state_at = $4,
         data = jsonb_set(data, '{deployResult}', $5::jsonb)
       WHERE request_id = $1 AND deploy_id = $2 AND deploy_state IS NULL`,
      [key.requestId, key.deployId, result.deployState, new Date(result.timestamp), JSON.stringify(result)],
    );
  }

  /** Deploys in progress: of the given requests, or all; in the order of request ids. */
  async findPending(tx: Queryable, requestIds?: readonly string[]): Promise<StoredPendingDeploy[]> {
    const found = await rows<PendingDeployRow>(
      tx,
      `SELECT * FROM pending_deploy WHERE $1::text[] IS NULL OR request_id = ANY ($1) ORDER BY request_id`,
      [requestIds ?? null],
    );
    return found.map((row) => ({
      requestId: row.request_id,
      deployId: row.deploy_id,
      state: row.state,
      progress: row.progress ?? undefined,
      updatedRequest: row.updated_request ?? undefined,
      balance: row.balance ?? undefined,
      ending: row.ending ?? undefined,
      cancel: row.cancel_requested_at
        ? { user: row.cancel_user ?? undefined, requestedAt: row.cancel_requested_at.getTime() }
        : undefined,
      updateTargetInstances: row.update_target_instances ?? undefined,
      startedBy: row.started_by ?? undefined,
    }));
  }

  /**
   * The deploys in progress with the user who started each, and the time since which it is at its present step; the
   * oldest first.
   */
  async running(tx: Transaction): Promise<RunningDeploy[]> {
    const found = await rows<Omit<DeployRow, 'data'> & { progress: DeployProgress | null }>(
      tx,
      `SELECT request_id, deploy_id, created_at, user_name, message, progress
       FROM pending_deploy JOIN deploy_history USING (request_id, deploy_id) ORDER BY created_at, request_id`,
    );
    return found.map((row) => ({
      marker: markerFromRow(row),
      stepSince: row.progress?.timestamp ?? row.created_at.getTime(),
    }));
  }

  /** Overwrites the deploy in progress of a request, and tells that it has come on. */
  async changePending(tx: Transaction, pending: StoredPendingDeploy): Promise<void> {
    await Promise.all([this.savePending(tx, pending), this.outbox.deployStep(tx, pending)]);
  }

  /** Inserts or overwrites the deploy in progress of a request. */
  async savePending(tx: Queryable, pending: StoredPendingDeploy): Promise<void> {
    await tx.query(
      `INSERT INTO pending_deploy (request_id, deploy_id, state, progress, updated_request, cancel_user,
         cancel_requested_at, update_target_instances, balance, ending, started_by, bytes)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, coalesce(octet_length($5::jsonb::text), 0))
       ON CONFLICT (request_id) DO UPDATE SET deploy_id = excluded.deploy_id, state = excluded.state,
         progress = excluded.progress, updated_request = excluded.updated_request, cancel_user = excluded.cancel_user,
         cancel_requested_at = excluded.cancel_requested_at, update_target_instances = excluded.update_target_instances,
         balance = excluded.balance, ending = excluded.ending, started_by = excluded.started_by, bytes = excluded.bytes`,
      [
        pending.requestId,
        pending.deployId,
        pending.state,
        pending.progress ? JSON.stringify(pending.progress) : null,
        pending.updatedRequest ? JSON.stringify(pending.updatedRequest) : null,
        pending.cancel?.user ?? null,
        pending.cancel ? new Date(pending.cancel.requestedAt) : null,
        pending.updateTargetInstances ?? null,
        pending.balance ? JSON.stringify(pending.balance) : null,
        pending.ending ? JSON.stringify(pending.ending) : null,
        pending.startedBy ?? null,
      ],
    );
  }

  async removePending(tx: Queryable, requestId: string): Promise<void> {
    await tx.query('DELETE FROM pending_deploy WHERE request_id = $1', [requestId]);
  }
}

export const markerFromRow = (row: Omit<DeployRow, 'data'>): DeployMarker => ({
  requestId: row.request_id,
  deployId: row.deploy_id,
  timestamp: toMillis(row.created_at)!,
  user: row.user_name ?? undefined,
  message: row.message ?? undefined,
});

const storedDeploy = (row: DeployRow): StoredDeploy => ({
  marker: markerFromRow(row),
  deploy: row.data.deploy,
  result: row.data.deployResult,
});
