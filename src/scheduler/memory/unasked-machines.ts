import { Injectable } from '@nestjs/common';

/**
 * Slaves with tasks that were given up and may come back with them. Whatever they show of themselves, nothing is placed there
 * until they were asked what they run: else what runs would find its place taken by its own replacement. In memory, because only
 * the leader places; a new one reads it from the rows.
 */
@Injectable()
export class UnaskedMachines {
  private slaveIds = new Set<string>();

  load(slaveIds: Iterable<string>): void {
    this.slaveIds = new Set(slaveIds);
  }

  add(slaveIds: Iterable<string>): void {
    for (const id of slaveIds) this.slaveIds.add(id);
  }

  has(slaveId: string): boolean {
    return this.slaveIds.has(slaveId);
  }

  all(): string[] {
    return [...this.slaveIds];
  }

  /** They have said what they run, and it is recorded. */
  asked(slaveIds: Iterable<string>): void {
    for (const id of slaveIds) this.slaveIds.delete(id);
  }
}
