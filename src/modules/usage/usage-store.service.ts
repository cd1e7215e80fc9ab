import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { ClusterUtilization, RequestUtilization, SlaveUsage, TaskUsage } from '../../core/model/usage.js';
import { rows } from '../../platform/database/sql.js';

/** Figures of a deploy count until another one has taken its place. */
const current = `EXISTS (SELECT 1 FROM request r
  WHERE r.id = u.request_id AND coalesce(r.active_deploy_id, r.pending_deploy_id) = u.deploy_id)`;
/** A slave that is gone uses nothing; one that does not answer is believed to use what it did. */
const present = `EXISTS (SELECT 1 FROM slave s WHERE s.id = u.slave_id AND s.state <> 'DEAD')`;

/** What slaves, requests and the cluster use, as of the newest round of sampling. Only the leader writes. */
@Injectable()
export class UsageStore {
  /** By slave id, in the order of ids. */
  async latestSlaveUsage(tx: EntityManager): Promise<Map<string, SlaveUsage>> {
    const found = await rows<{ slave_id: string; document: SlaveUsage }>(
      tx,
      `SELECT slave_id, document FROM slave_usage u WHERE ${present} ORDER BY slave_id`,
    );
    return new Map(found.map((row) => [row.slave_id, row.document]));
  }

  /** By request id, in the order of ids: of the given requests, or of all that have figures. */
  async utilizations(tx: EntityManager, requestIds?: readonly string[]): Promise<Map<string, RequestUtilization>> {
    const found = await rows<{ document: RequestUtilization }>(
      tx,
      `SELECT document FROM request_utilization u
       WHERE ($1::text[] IS NULL OR request_id = ANY ($1)) AND ${current} ORDER BY request_id`,
      [requestIds ?? null],
    );
    return new Map(found.map(({ document }) => [document.requestId, document]));
  }

  /** undefined: never computed. */
  async clusterUtilization(tx: EntityManager): Promise<ClusterUtilization | undefined> {
    const found = await rows<{ document: ClusterUtilization }>(tx, 'SELECT document FROM cluster_utilization');
    return found[0]?.document;
  }

  /** The newest samples of a task, oldest first. */
  async samplesOf(tx: EntityManager, taskId: string, atMost: number): Promise<TaskUsage[]> {
    const found = await rows<SampleRow>(
      tx,
      'SELECT * FROM task_usage WHERE task_id = $1 ORDER BY sampled_at DESC LIMIT $2',
      [taskId, atMost],
    );
    return found.map(sampleFromRow).toReversed();
  }

  async saveSlaveUsage(tx: EntityManager, slaveId: string, usage: SlaveUsage): Promise<void> {
    await tx.query(
      `INSERT INTO slave_usage (slave_id, document) VALUES ($1, $2)
       ON CONFLICT (slave_id) DO UPDATE SET document = excluded.document`,
      [slaveId, JSON.stringify(usage)],
    );
  }

  async saveUtilizations(tx: EntityManager, utilizations: readonly RequestUtilization[]): Promise<void> {
    await tx.query(
      `INSERT INTO request_utilization (request_id, deploy_id, document)
       SELECT document->>'requestId', document->>'deployId', document FROM unnest($1::jsonb[]) AS document
       ON CONFLICT (request_id) DO UPDATE SET deploy_id = excluded.deploy_id, document = excluded.document`,
      [utilizations.map((utilization) => JSON.stringify(utilization))],
    );
  }

  async saveClusterUtilization(tx: EntityManager, utilization: ClusterUtilization): Promise<void> {
    await tx.query(
      `INSERT INTO cluster_utilization (document) VALUES ($1)
       ON CONFLICT (only_row) DO UPDATE SET document = excluded.document`,
      [JSON.stringify(utilization)],
    );
  }

  /** Erases what the reads above leave out. */
  async removeOutdated(tx: EntityManager): Promise<void> {
    await tx.query(`DELETE FROM slave_usage u WHERE NOT ${present}`);
    await tx.query(`DELETE FROM request_utilization u WHERE NOT ${current}`);
  }
}

interface SampleRow {
  sampled_at: Date;
  memory_total_bytes: number;
  disk_total_bytes: number;
  cpu_seconds: number;
  cpus_nr_periods: number;
  cpus_nr_throttled: number;
  cpus_throttled_time_secs: number;
}

const sampleFromRow = (row: SampleRow): TaskUsage => ({
  memoryTotalBytes: row.memory_total_bytes,
  timestamp: row.sampled_at.getTime(),
  cpuSeconds: row.cpu_seconds,
  diskTotalBytes: row.disk_total_bytes,
  cpusNrPeriods: row.cpus_nr_periods,
  cpusNrThrottled: row.cpus_nr_throttled,
  cpusThrottledTimeSecs: row.cpus_throttled_time_secs,
});
