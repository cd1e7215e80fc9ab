import { Injectable } from '@nestjs/common';
import { Database } from '../../platform/database/database.js';
import { InactiveHosts } from '../inactive/inactive-hosts.service.js';
import { lockFleet } from './fleet-lock.js';
import { MachineRemoval } from './machine-removal.service.js';
import { MachineStore } from './machine-store.service.js';

/** Forgets what has been kept about machines for long enough. For the leader. */
@Injectable()
export class FleetHousekeeping {
  constructor(
    private readonly db: Database,
    private readonly store: MachineStore,
    private readonly removal: MachineRemoval,
    private readonly inactiveHosts: InactiveHosts,
  ) {}

  async runOnce(now: number): Promise<void> {
    await this.db.leaderTransaction(async (tx) => {
      await lockFleet(tx);
      await this.removal.removeLongGone(tx, now);
      await this.store.trimHistories(tx);
      await this.inactiveHosts.removeExpired(tx, now);
    });
  }
}
