import { Inject, Injectable } from '@nestjs/common';
import type { RequestUtilization, SlaveUsage } from '../../core/model/usage.js';
import { TaskRepository } from '../../modules/tasks/task.repository.js';
import { UsageRepository } from '../../modules/usage/usage.repository.js';
import { Database } from '../../platform/database/database.js';
import type { Queryable } from '../../platform/database/queryable.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { UsageRechecks } from './usage-rechecks.service.js';

export interface UsageMetrics {
  usages: ReadonlyMap<string, SlaveUsage>;
  utilizations: ReadonlyMap<string, RequestUtilization>;
}

/** Use of slaves and requests, as far as placement may trust it. */
@Injectable()
export class UsageMetricsLoader {
  constructor(
    private readonly db: Database,
    private readonly store: UsageRepository,
    private readonly tasks: TaskRepository,
    private readonly rechecks: UsageRechecks,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  async load(tx: Queryable = this.db.pool): Promise<UsageMetrics> {
    const [usages, utilizations] = await Promise.all([this.store.latestSlaveUsage(tx), this.store.utilizations(tx)]);
    return { usages: await this.trusted(tx, usages), utilizations };
  }

  private async trusted(
    tx: Queryable,
    usages: ReadonlyMap<string, SlaveUsage>,
  ): Promise<ReadonlyMap<string, SlaveUsage>> {
    if (!this.settings.reCheckMetricsForLargeNewTaskCount) return usages;
    const sampledAt = new Map([...usages].map(([slaveId, { timestamp }]) => [slaveId, timestamp]));
    return this.rechecks.trusted(usages, await this.tasks.startedSince(tx, sampledAt));
  }
}
