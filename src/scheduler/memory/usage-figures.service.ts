import { Inject, Injectable } from '@nestjs/common';
import type { RequestUtilization, SlaveUsage } from '../../core/model/usage.js';
import { UsageRechecks } from '../../modules/usage/usage-rechecks.service.js';
import { UsageStore } from '../../modules/usage/usage-store.service.js';
import { Database } from '../../platform/database/database.js';
import { rows } from '../../platform/database/sql.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';

export interface UsageFigures {
  usages: ReadonlyMap<string, SlaveUsage>;
  utilizations: ReadonlyMap<string, RequestUtilization>;
}

/** What slaves and requests use, as far as placement may trust it. */
@Injectable()
export class UsageFiguresLoader {
  constructor(
    private readonly db: Database,
    private readonly store: UsageStore,
    private readonly rechecks: UsageRechecks,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  async load(): Promise<UsageFigures> {
    const [usages, utilizations] = await Promise.all([
      this.store.latestSlaveUsage(this.db.manager),
      this.store.utilizations(this.db.manager),
    ]);
    return { usages: await this.trusted(usages), utilizations };
  }

  private async trusted(usages: ReadonlyMap<string, SlaveUsage>): Promise<ReadonlyMap<string, SlaveUsage>> {
    if (!this.settings.reCheckMetricsForLargeNewTaskCount) return usages;
    const found = await rows<{ slave_id: string; count: number }>(
      this.db.manager,
      `SELECT t.slave_id, count(*)::integer AS count FROM task t
       JOIN unnest($1::text[], $2::timestamptz[]) AS u (slave_id, sampled_at) USING (slave_id)
       WHERE t.started_at > u.sampled_at GROUP BY t.slave_id`,
      [[...usages.keys()], [...usages.values()].map(({ timestamp }) => new Date(timestamp))],
    );
    return this.rechecks.trusted(usages, new Map(found.map((row) => [row.slave_id, row.count])));
  }
}
