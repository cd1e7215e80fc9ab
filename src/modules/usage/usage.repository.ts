import { Injectable } from '@nestjs/common';
import type { ClusterUtilization, RequestUtilization, SlaveUsage } from '../../core/model/usage.js';
import { replaceRows } from '../../platform/database/entity-values.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { rows } from '../../platform/database/sql.js';
import { ClusterUtilizationEntity, RequestUtilizationEntity, SlaveUsageEntity } from './usage.entity.js';

/** Figures of a deploy count until another one has taken its place. */
const current = `EXISTS (SELECT 1 FROM request r
  WHERE r.id = u.request_id AND coalesce(r.active_deploy_id, r.pending_deploy_id) = u.deploy_id)`;
/** A slave that is gone uses nothing; one that does not answer is believed to use what it did. */
const present = `EXISTS (SELECT 1 FROM slave s WHERE s.id = u.slave_id AND s.state <> 'DEAD')`;

/**
 * Use of slaves, requests and the cluster as of the newest round of sampling. Only the leader writes. By hand: what
 * placement reads, and whether a figure still counts, which other tables say.
 */
@Injectable()
export class UsageRepository {
  /** By slave id, in the order of ids. */
  async latestSlaveUsage(tx: Queryable): Promise<Map<string, SlaveUsage>> {
    const found = await rows<{ slave_id: string; document: SlaveUsage }>(
      tx,
      `SELECT slave_id, document FROM slave_usage u WHERE ${present} ORDER BY slave_id`,
    );
    return new Map(found.map((row) => [row.slave_id, row.document]));
  }

  /** By request id, in the order of ids: of the given requests, or of all that have figures. */
  async utilizations(tx: Queryable, requestIds?: readonly string[]): Promise<Map<string, RequestUtilization>> {
    const found = await rows<{ document: RequestUtilization }>(
      tx,
      `SELECT document FROM request_utilization u
       WHERE ($1::text[] IS NULL OR request_id = ANY ($1)) AND ${current} ORDER BY request_id`,
      [requestIds ?? null],
    );
    return new Map(found.map(({ document }) => [document.requestId, document]));
  }

  /** undefined: never computed. */
  async clusterUtilization(tx: Queryable): Promise<ClusterUtilization | undefined> {
    const found = await tx.getRepository(ClusterUtilizationEntity).findOneBy({ onlyRow: true });
    return found?.document;
  }

  saveSlaveUsage(tx: Queryable, slaveId: string, document: SlaveUsage): Promise<void> {
    return replaceRows(tx.getRepository(SlaveUsageEntity), [{ slaveId, document }]);
  }

  saveUtilizations(tx: Queryable, utilizations: readonly RequestUtilization[]): Promise<void> {
    const found = utilizations.map((document) => ({ ...keyOf(document), document }));
    return replaceRows(tx.getRepository(RequestUtilizationEntity), found);
  }

  saveClusterUtilization(tx: Transaction, document: ClusterUtilization): Promise<void> {
    return replaceRows(tx.getRepository(ClusterUtilizationEntity), [{ onlyRow: true, document }]);
  }

  /** Erases what the reads above leave out. */
  async removeOutdated(tx: Transaction): Promise<void> {
    await tx.query(`DELETE FROM slave_usage u WHERE NOT ${present}`);
    await tx.query(`DELETE FROM request_utilization u WHERE NOT ${current}`);
  }

  async removeUtilization(tx: Transaction, requestId: string): Promise<void> {
    await tx.query('DELETE FROM request_utilization WHERE request_id = $1', [requestId]);
  }
}

const keyOf = ({ requestId, deployId }: RequestUtilization) => ({ requestId, deployId });
