import { Injectable } from '@nestjs/common';
import { Clock } from '../../../platform/clock.js';
import { Database } from '../../../platform/database/database.js';
import { InactiveHostRepository } from './inactive-host.repository.js';

/** What operators say about hosts. Marking one says nothing about the slaves that are there already. */
@Injectable()
export class InactiveMachines {
  constructor(
    private readonly db: Database,
    private readonly hosts: InactiveHostRepository,
    private readonly clock: Clock,
  ) {}

  list(): Promise<string[]> {
    return this.hosts.list(this.db.manager, this.clock.now());
  }

  mark(host: string): Promise<void> {
    return this.db.transaction((tx) => this.hosts.mark(tx, host, this.clock.now()));
  }

  unmark(host: string): Promise<void> {
    return this.db.transaction((tx) => this.hosts.unmark(tx, [host]));
  }

  unmarkAll(): Promise<void> {
    return this.db.transaction((tx) => this.hosts.unmarkAll(tx));
  }
}
