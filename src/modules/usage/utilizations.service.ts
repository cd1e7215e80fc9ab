import { Inject, Injectable } from '@nestjs/common';
import { deployKeyText } from '../../core/model/deploy.js';
import { amountsOf, clusterUtilization, requestUtilization, type UtilizedRequest } from '../../core/usage/index.js';
import { Database } from '../../platform/database/database.js';
import type { Queryable } from '../../platform/database/queryable.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Rows } from '../../rows.js';

/** Few enough that what their samples need is computed in a moment. */
const requestsAtOnce = 25;

/** Computes from the kept samples how much requests, and all of them together, use of what they ask for. */
@Injectable()
export class Utilizations {
  constructor(
    private readonly db: Database,
    private readonly rows: Rows,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  async refresh(now: number): Promise<void> {
    await this.db.leaderTransaction((tx) => this.rows.usage.removeOutdated(tx));
    await this.refreshRequests(now);
    await this.refreshCluster(now);
  }

  private async refreshRequests(now: number): Promise<void> {
    let ids: string[] = [];
    do {
      ids = await this.rows.tasks.activeRequestIdsAfter(this.db.pool, ids.at(-1) ?? '', requestsAtOnce);
      await this.refreshSome(ids, now);
    } while (ids.length === requestsAtOnce);
  }

  private async refreshSome(requestIds: readonly string[], now: number): Promise<void> {
    const former = await this.rows.usage.utilizations(this.db.pool, requestIds);
    const measured = await this.rows.taskUsage.measured(this.db.pool, requestIds, this.settings.numUsageToKeep);
    const computed = measured.flatMap(({ requestId, deployId, tasks }) => {
      return requestUtilization({ requestId, deployId }, tasks, former.get(requestId), now) ?? [];
    });
    if (computed.length > 0) await this.db.leaderTransaction((tx) => this.rows.usage.saveUtilizations(tx, computed));
  }

  private async refreshCluster(now: number): Promise<void> {
    const tx = this.db.pool;
    const slaves = await this.rows.usage.latestSlaveUsage(tx);
    const utilization = clusterUtilization(await this.utilizedRequests(tx), slaves.values(), now);
    await this.db.leaderTransaction((leader) => this.rows.usage.saveClusterUtilization(leader, utilization));
  }

  /** Requests whose deploy says what it asks for; what it leaves open is what its tasks get. */
  private async utilizedRequests(tx: Queryable): Promise<UtilizedRequest[]> {
    const utilizations = [...(await this.rows.usage.utilizations(tx)).values()];
    const resources = await this.rows.deploys.resources(tx, utilizations);
    const { defaultCpus, defaultMemory, defaultDisk } = this.settings.cluster;
    return utilizations.flatMap((utilization) => {
      const asked = resources.get(deployKeyText(utilization));
      if (!asked) return [];
      const { cpus = defaultCpus, memoryMb = defaultMemory, diskMb = defaultDisk } = asked;
      return [{ utilization, asked: amountsOf({ cpus, memoryMb, diskMb }) }];
    });
  }
}
