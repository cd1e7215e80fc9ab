import { Injectable } from '@nestjs/common';
import { Clock } from '../../../platform/clock.js';
import { Database } from '../../../platform/database/database.js';
import type { Transaction } from '../../../platform/database/transaction.js';
import { Wake } from '../../../platform/wake/wake.js';
import { SlaveRepository } from '../slave.repository.js';
import { InactiveHostRepository } from './inactive-host.repository.js';

/** Hosts that operators mark inactive. Slaves on a marked one get nothing new; what runs there runs on. */
@Injectable()
export class InactiveMachines {
  constructor(
    private readonly db: Database,
    private readonly hosts: InactiveHostRepository,
    private readonly slaves: SlaveRepository,
    private readonly clock: Clock,
    private readonly wake: Wake,
  ) {}

  list(): Promise<string[]> {
    return this.hosts.list(this.db.pool, this.clock.now());
  }

  mark(host: string): Promise<void> {
    return this.change((tx) => this.hosts.mark(tx, host, this.clock.now()));
  }

  unmark(host: string): Promise<void> {
    return this.change((tx) => this.hosts.unmark(tx, [host]));
  }

  unmarkAll(): Promise<void> {
    return this.change((tx) => this.hosts.unmarkAll(tx));
  }

  private async change(work: (tx: Transaction) => Promise<void>): Promise<void> {
    await this.db.transaction(async (tx) => {
      await this.slaves.lockFleet(tx);
      await work(tx);
    });
    this.wake.signal('scheduler', 'expiring');
  }
}
