import { Inject, Injectable, Logger } from '@nestjs/common';
import { CLUSTER_DRIVER, type ClusterDriver } from '../../cluster/cluster-driver.js';
import type { SlaveUsage } from '../../core/model/usage.js';
import { failsRecheck, needsRecheck, type ScoringRules } from '../../core/usage/index.js';
import { Limiter } from '../../modules/tasks/health/patient-limiter.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { scoringRules } from '../rules.js';

/** Asks slaves for their load again on which many tasks have started since their last sample. Off by default. */
@Injectable()
export class UsageRechecks {
  private readonly log = new Logger(UsageRechecks.name);
  private readonly rules: ScoringRules;
  private readonly limiter: Limiter;

  constructor(
    @Inject(CLUSTER_DRIVER) private readonly driver: ClusterDriver,
    @Inject(SETTINGS) settings: Settings,
  ) {
    this.rules = scoringRules(settings);
    this.limiter = new Limiter(settings.maxConcurrentUsageCollections);
  }

  /**
   * The given usages without those of slaves that turn out to be too busy, or that do not answer. `startedSince`: how
   * many tasks were launched on a slave after `timestamp` of its usage; slaves without any may be left out.
   */
  async trusted(
    usages: ReadonlyMap<string, SlaveUsage>,
    startedSince: ReadonlyMap<string, number>,
  ): Promise<ReadonlyMap<string, SlaveUsage>> {
    const doubtful = [...usages].filter(([slaveId, usage]) =>
      needsRecheck(usage, startedSince.get(slaveId) ?? 0, this.rules),
    );
    if (doubtful.length === 0) return usages;
    const verdicts = await Promise.all(
      doubtful.map(async ([slaveId]) => ({
        slaveId,
        isBusy: await this.limiter.run(() => this.isTooBusy(slaveId)),
      })),
    );
    const busy = new Set(verdicts.filter(({ isBusy }) => isBusy).map(({ slaveId }) => slaveId));
    return new Map([...usages].filter(([slaveId]) => !busy.has(slaveId)));
  }

  private async isTooBusy(slaveId: string): Promise<boolean> {
    try {
      const live = await this.driver.machineUsage(slaveId);
      return !live || failsRecheck({ cpus: live.cpus, load1: live.load1Min, load5: live.load5Min }, this.rules);
    } catch (cause) {
      this.log.warn(`Cannot ask slave '${slaveId}' for its load: ${String(cause)}`);
      return true;
    }
  }
}
