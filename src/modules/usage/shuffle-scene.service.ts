import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { RequestType } from '../../core/model/enums.js';
import { currentCpus, type ShuffleSlave, type ShuffleTask } from '../../core/usage/index.js';
import { rows } from '../../platform/database/sql.js';
import { RequestStore } from '../requests/request-store.service.js';
import { ShuffleBlacklist } from '../shuffle/shuffle-blacklist.service.js';
import { LiveTasks, type LiveTask } from '../tasks/live-tasks.service.js';
import type { SampledSlave } from './sampler.service.js';

/** A task that was told to leave its slave for the sake of others, and has not gone yet. */
export interface ShufflingTask {
  requestId: string;
  slaveId: string;
}

/** What the decision about shuffling looks at. */
@Injectable()
export class ShuffleScene {
  constructor(
    private readonly tasks: LiveTasks,
    private readonly requests: RequestStore,
    private readonly blacklist: ShuffleBlacklist,
  ) {}

  async shuffling(tx: EntityManager): Promise<ShufflingTask[]> {
    const found = await rows<{ request_id: string; slave_id: string }>(
      tx,
      `SELECT t.request_id, t.slave_id FROM task_cleanup c JOIN task t USING (task_id)
       WHERE t.ended_at IS NULL AND c.cleanup_type IN ('REBALANCE_CPU_USAGE', 'REBALANCE_MEMORY_USAGE')`,
    );
    return found.map((row) => ({ requestId: row.request_id, slaveId: row.slave_id }));
  }

  /** The slaves with what was sampled there and what else is known of those tasks. */
  async slaves(tx: EntityManager, sampled: readonly SampledSlave[]): Promise<ShuffleSlave[]> {
    const samples = new Map(sampled.flatMap(({ tasks }) => tasks.map((task) => [task.taskId, task] as const)));
    const live = await this.tasks.find(tx, { taskIds: [...samples.keys()] });
    const types = await this.requestTypes(tx, live);
    const excluded = new Set(await this.blacklist.list(tx));
    const toTask = (task: LiveTask, requestType: RequestType): ShuffleTask => {
      const { id: taskId, requestId } = task.taskId;
      const sample = samples.get(taskId)!;
      return {
        taskId,
        requestId,
        requestType,
        excluded: excluded.has(requestId),
        runningAt: task.runningAt,
        leaving: task.killed || task.cleaning !== undefined,
        cpus: task.cpus,
        memoryMb: task.memoryMb,
        cpusUsed: currentCpus(sample),
        memoryBytes: sample.sample?.memoryTotalBytes ?? 0,
      };
    };
    return sampled.map(({ slaveId, usage }) => ({
      slaveId,
      usage,
      tasks: live.flatMap((task) => {
        const type = types.get(task.taskId.requestId);
        return type && task.slaveId === slaveId ? [toTask(task, type)] : [];
      }),
    }));
  }

  private async requestTypes(tx: EntityManager, tasks: readonly LiveTask[]): Promise<Map<string, RequestType>> {
    const ids = [...new Set(tasks.map(({ taskId }) => taskId.requestId))];
    const found = await this.requests.findMany(tx, ids);
    return new Map(found.map(({ request }) => [request.id, request.requestType]));
  }
}
