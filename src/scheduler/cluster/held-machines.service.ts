import { Inject, Injectable } from '@nestjs/common';
import { CLUSTER_DRIVER, type ClusterDriver } from '../../cluster/cluster-driver.js';
import { SlaveRepository } from '../../modules/slaves/slave.repository.js';
import { Database } from '../../platform/database/database.js';
import { Leadership } from '../../platform/leadership/leadership.js';
import { Pollers } from '../../platform/poller/pollers.js';

const everyMillis = 2_000;

/** Shows a cluster that has other users which machines are frozen or being decommissioned, and which are not any more. */
@Injectable()
export class HeldMachines {
  constructor(
    private readonly db: Database,
    private readonly slaves: SlaveRepository,
    private readonly leadership: Leadership,
    @Inject(CLUSTER_DRIVER) private readonly driver: ClusterDriver,
    pollers: Pollers,
  ) {
    // The whole set each time: what was decided while no leader was there, or could not be shown, is made good.
    if (driver.hold) pollers.register({ name: 'held-machines', everyMs: everyMillis, pass: () => this.runOnce() });
  }

  async runOnce(): Promise<void> {
    const epoch = this.leadership.current();
    if (epoch === undefined) return;
    await this.driver.hold?.(new Set(await this.slaves.heldIds(this.db.leaderPool)), epoch);
  }
}
