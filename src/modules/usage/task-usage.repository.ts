import { Injectable } from '@nestjs/common';
import type { TaskUsage } from '../../core/model/usage.js';
import type { MeasuredTask, SampledTask } from '../../core/usage/index.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { rows, toMillis } from '../../platform/database/sql.js';
import { TaskUsageEntity } from './task-usage.entity.js';

/** An active task of a slave, before it is known what it uses now. */
interface TaskOnSlave extends SampledTask {
  requestId: string;
}

/** The deploy that the figures of a request are about, and those of its tasks that count, with their newest samples. */
interface MeasuredRequest {
  requestId: string;
  deployId: string;
  tasks: (MeasuredTask & { taskId: string })[];
}

interface TaskOnSlaveRow {
  task_id: string;
  request_id: string;
  cpus: number;
  memory_mb: number;
  disk_mb: number;
  starting_at: Date | null;
  sampled_at: Date | null;
  cpu_seconds: number;
}

interface MeasuredRow {
  task_id: string;
  request_id: string;
  current_deploy_id: string;
  started_at: Date;
  cpus: number;
  memory_mb: number;
  disk_mb: number;
  samples: MeasuredTask['samples'];
}

/**
 * Samples of tasks. Only the leader writes.
 * By hand: every minute all tasks get a sample, and all samples that are kept are read.
 */
@Injectable()
export class TaskUsageRepository {
  /** In the order of ids, each with the newest sample there is. */
  async tasksOn(tx: Transaction, slaveId: string): Promise<TaskOnSlave[]> {
    const found = await rows<TaskOnSlaveRow>(
      tx,
      `SELECT t.task_id, t.request_id, t.cpus, t.memory_mb, t.disk_mb, starting.at AS starting_at,
         newest.sampled_at, newest.cpu_seconds
       FROM task t
       LEFT JOIN task_update starting ON starting.task_id = t.task_id AND starting.state = 'TASK_STARTING'
       LEFT JOIN LATERAL (SELECT sampled_at, cpu_seconds FROM task_usage
         WHERE task_id = t.task_id ORDER BY sampled_at DESC LIMIT 1) newest ON true
       WHERE t.slave_id = $1 AND t.ended_at IS NULL ORDER BY t.task_id`,
      [slaveId],
    );
    return found.map((row) => ({
      taskId: row.task_id,
      requestId: row.request_id,
      cpus: row.cpus,
      memoryMb: row.memory_mb,
      diskMb: row.disk_mb,
      startingAt: toMillis(row.starting_at),
      previous: row.sampled_at ? { timestamp: row.sampled_at.getTime(), cpuSeconds: row.cpu_seconds } : undefined,
    }));
  }

  /** A sample that is there already stays. */
  async save(
    tx: Transaction,
    samples: readonly { taskId: string; requestId: string; sample: TaskUsage }[],
  ): Promise<void> {
    await tx.query(
      `INSERT INTO task_usage (task_id, request_id, sampled_at, memory_total_bytes, disk_total_bytes, cpu_seconds,
         cpus_nr_periods, cpus_nr_throttled, cpus_throttled_time_secs)
       SELECT * FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::bigint[], $5::bigint[],
         $6::double precision[], $7::bigint[], $8::bigint[], $9::double precision[])
       ON CONFLICT DO NOTHING`,
      [
        samples.map(({ taskId }) => taskId),
        samples.map(({ requestId }) => requestId),
        samples.map(({ sample }) => new Date(sample.timestamp)),
        samples.map(({ sample }) => sample.memoryTotalBytes),
        samples.map(({ sample }) => sample.diskTotalBytes),
        samples.map(({ sample }) => sample.cpuSeconds),
        samples.map(({ sample }) => sample.cpusNrPeriods),
        samples.map(({ sample }) => sample.cpusNrThrottled),
        samples.map(({ sample }) => sample.cpusThrottledTimeSecs),
      ],
    );
  }

  /** The newest samples of a task, oldest first. */
  async newest(tx: Queryable, taskId: string, atMost: number): Promise<TaskUsage[]> {
    const found = await tx.getRepository(TaskUsageEntity).find({
      select: {
        memoryTotalBytes: true,
        timestamp: true,
        cpuSeconds: true,
        diskTotalBytes: true,
        cpusNrPeriods: true,
        cpusNrThrottled: true,
        cpusThrottledTimeSecs: true,
      },
      where: { taskId },
      order: { timestamp: 'DESC' },
      take: atMost,
    });
    return found.toReversed();
  }

  /**
   * Requests that have samples, with those of their active tasks. Tasks of former deploys, which are on their way out,
   * would lend their figures to the deploy that replaced theirs.
   */
  async measured(tx: Queryable, requestIds: readonly string[], samplesPerTask: number): Promise<MeasuredRequest[]> {
    // The samples of a task come as one value: reading many thousands of rows would hold up everything else.
    const found = await rows<MeasuredRow>(
      tx,
      `SELECT t.task_id, t.request_id, coalesce(r.active_deploy_id, r.pending_deploy_id) AS current_deploy_id, t.started_at,
         t.cpus, t.memory_mb, t.disk_mb, kept.samples
       FROM task t JOIN request r ON r.id = t.request_id
       JOIN LATERAL (
         SELECT json_agg(json_build_object('timestamp', round(date_part('epoch', sampled_at) * 1000),
           'cpuSeconds', cpu_seconds, 'memoryTotalBytes', memory_total_bytes, 'diskTotalBytes', disk_total_bytes,
           'cpusThrottledTimeSecs', cpus_throttled_time_secs) ORDER BY sampled_at) AS samples
         FROM (SELECT * FROM task_usage u WHERE u.task_id = t.task_id ORDER BY sampled_at DESC LIMIT $2) newest
       ) kept ON kept.samples IS NOT NULL
       WHERE t.request_id = ANY ($1) AND t.ended_at IS NULL
         AND t.deploy_id IN (r.active_deploy_id, r.pending_deploy_id)
       ORDER BY t.request_id, t.task_id`,
      [requestIds, samplesPerTask],
    );
    const requests = new Map<string, MeasuredRequest>();
    for (const row of found) {
      const { request_id: requestId, current_deploy_id: deployId } = row;
      const request = requests.get(requestId) ?? { requestId, deployId, tasks: [] };
      request.tasks.push(toMeasured(row));
      requests.set(requestId, request);
    }
    return [...requests.values()];
  }

  /** Erases samples of tasks that are not active any more. Answers whether there may be more of them. */
  async removeOfEnded(tx: Transaction, atMostTasks: number): Promise<boolean> {
    const removed = await rows<{ task_id: string }>(
      tx,
      `DELETE FROM task_usage WHERE task_id IN (
         SELECT DISTINCT u.task_id FROM task_usage u
         WHERE NOT EXISTS (SELECT 1 FROM task t WHERE t.task_id = u.task_id AND t.ended_at IS NULL) LIMIT $1)
       RETURNING task_id`,
      [atMostTasks],
    );
    return new Set(removed.map((row) => row.task_id)).size === atMostTasks;
  }

  /** Erases all but the newest samples of each of these tasks. */
  async trim(tx: Transaction, taskIds: readonly string[], keep: number): Promise<void> {
    await tx.query(
      `DELETE FROM task_usage u USING unnest($1::text[]) AS wanted (task_id)
       WHERE u.task_id = wanted.task_id AND u.sampled_at <= (SELECT sampled_at FROM task_usage
         WHERE task_id = wanted.task_id ORDER BY sampled_at DESC OFFSET $2 LIMIT 1)`,
      [taskIds, keep],
    );
  }
}

const toMeasured = (row: MeasuredRow): MeasuredRequest['tasks'][number] => ({
  taskId: row.task_id,
  startedAt: row.started_at.getTime(),
  cpus: row.cpus,
  memoryMb: row.memory_mb,
  diskMb: row.disk_mb,
  samples: row.samples,
});
