import { Inject, Injectable } from '@nestjs/common';
import type { ClusterUtilization, RequestUtilization, SlaveUsage, TaskUsage } from '../../core/model/usage.js';
import { Database } from '../../platform/database/database.js';
import { SchedulerError } from '../../platform/errors.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { TaskUsageRepository } from './task-usage.repository.js';
import { UsageRepository } from './usage.repository.js';

const bytesPerMb = 1_048_576;
const rounded = (amount: number | undefined): number | undefined =>
  amount === undefined ? undefined : Math.round(amount);
const toBytes = (mb: number | undefined): number | undefined => rounded(mb === undefined ? undefined : mb * bytesPerMb);

/** A slave's usage as the API shows it. */
interface SlaveUsageWithId extends SlaveUsage {
  slaveId: string;
  memoryBytesTotal?: number;
  diskBytesTotal?: number;
}

/** Usage as the API shows it. */
@Injectable()
export class UsageReads {
  constructor(
    private readonly db: Database,
    private readonly store: UsageRepository,
    private readonly samples: TaskUsageRepository,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  async slaves(): Promise<SlaveUsageWithId[]> {
    return [...(await this.store.latestSlaveUsage(this.db.pool))].map(([slaveId, usage]) => ({
      ...usage,
      slaveId,
      memoryMbTotal: rounded(usage.memoryMbTotal),
      diskMbTotal: rounded(usage.diskMbTotal),
      memoryBytesTotal: toBytes(usage.memoryMbTotal),
      diskBytesTotal: toBytes(usage.diskMbTotal),
    }));
  }

  /** Empty: nothing was measured, or it was cleaned up. */
  taskHistory(taskId: string): Promise<TaskUsage[]> {
    return this.samples.newest(this.db.pool, taskId, this.settings.numUsageToKeep);
  }

  async cluster(): Promise<ClusterUtilization> {
    const found = await this.store.clusterUtilization(this.db.pool);
    if (!found) throw new SchedulerError('NOT_FOUND', 'The utilization of the cluster has not been computed yet');
    return found;
  }

  async requests(): Promise<RequestUtilization[]> {
    return [...(await this.store.utilizations(this.db.pool)).values()];
  }

  async request(requestId: string): Promise<RequestUtilization> {
    const found = (await this.store.utilizations(this.db.pool, [requestId])).get(requestId);
    if (!found) throw new SchedulerError('NOT_FOUND', `Request '${requestId}' has no utilization`);
    return found;
  }
}
