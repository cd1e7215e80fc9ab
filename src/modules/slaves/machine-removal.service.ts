import { Inject, Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { MachineKind } from '../../core/model/machine.js';
import { rows } from '../../platform/database/sql.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { InactiveHosts } from '../inactive/inactive-hosts.service.js';
import { ExpiringMachines } from './expiring-machines.service.js';
import { MachineStore } from './machine-store.service.js';

const hourMillis = 3_600_000;

/** Removes machines with all that is kept about them. Under lockFleet. */
@Injectable()
export class MachineRemoval {
  constructor(
    private readonly store: MachineStore,
    private readonly expiring: ExpiringMachines,
    private readonly inactiveHosts: InactiveHosts,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** Record, history and lapsing change; the host of a slave is not marked inactive any more. */
  async remove(tx: EntityManager, kind: MachineKind, ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    if (kind === 'SLAVE') await this.unmarkHosts(tx, ids);
    await this.store.remove(tx, kind, ids);
    await this.expiring.remove(tx, kind, ids);
  }

  /** Slaves that have been gone for long. While a task that may still run there counts as active, its slave is kept. */
  async removeLongGone(tx: EntityManager, now: number): Promise<void> {
    const gone = await rows<{ id: string }>(
      tx,
      `SELECT id FROM slave WHERE state IN ('DEAD', 'MISSING_ON_STARTUP') AND state_at < $1
         AND NOT EXISTS (SELECT 1 FROM task WHERE slave_id = slave.id AND ended_at IS NULL)
       ORDER BY id FOR NO KEY UPDATE`,
      [new Date(now - this.settings.deleteDeadSlavesAfterHours * hourMillis)],
    );
    await this.remove(
      tx,
      'SLAVE',
      gone.map((row) => row.id),
    );
  }

  private async unmarkHosts(tx: EntityManager, slaveIds: readonly string[]): Promise<void> {
    const found = await rows<{ host: string }>(tx, 'SELECT host FROM slave WHERE id = ANY ($1)', [slaveIds]);
    const suffix = this.settings.commonHostnameSuffixToOmit ?? '';
    await this.inactiveHosts.unmark(
      tx,
      found.flatMap(({ host }) => [host, host + suffix]),
    );
  }
}
