import { Inject, Injectable } from '@nestjs/common';
import type { MachineKind } from '../../core/model/machine.js';
import { Database } from '../../platform/database/database.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Rows } from '../../rows.js';

const hourMillis = 3_600_000;

/** Removes machines with all that is kept about them. */
@Injectable()
export class MachineRemoval {
  constructor(
    private readonly db: Database,
    private readonly rows: Rows,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /**
   * Record, history and lapsing change; the host of a slave is not marked inactive any more, and what may still run there counts no more.
   * Under lockFleet.
   */
  async remove(tx: Transaction, kind: MachineKind, ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    if (kind === 'SLAVE') {
      await this.unmarkHosts(tx, ids);
      await this.rows.machineTasks.confirmGoneOf(tx, ids);
    }
    await this.rows.slaves.remove(tx, kind, ids);
    await this.rows.expiringActions.removeOfMachines(tx, kind, ids);
  }

  /**
   * Forgets what has been kept about machines for long enough. While a task that may still run there counts as active, its
   * slave is kept. For the leader.
   */
  async forgetOld(now: number): Promise<void> {
    const goneBefore = now - this.settings.deleteDeadSlavesAfterHours * hourMillis;
    await this.db.leaderTransaction(async (tx) => {
      await this.rows.slaves.lockFleet(tx);
      await this.remove(tx, 'SLAVE', await this.rows.slaves.lockLongGone(tx, goneBefore));
      await this.rows.machineHistory.trim(tx);
    });
  }

  private async unmarkHosts(tx: Transaction, slaveIds: readonly string[]): Promise<void> {
    const hosts = await this.rows.slaves.hosts(tx, slaveIds);
    const suffix = this.settings.commonHostnameSuffixToOmit ?? '';
    await this.rows.inactiveHosts.unmark(
      tx,
      hosts.flatMap((host) => [host, host + suffix]),
    );
  }
}
