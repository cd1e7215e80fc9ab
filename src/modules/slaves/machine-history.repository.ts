import { Inject, Injectable } from '@nestjs/common';
import { Any } from 'typeorm';
import type { MachineKind, MachineStateHistoryUpdate } from '../../core/model/machine.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { rows } from '../../platform/database/sql.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { OutboxRepository } from '../events/outbox.repository.js';
import { MachineHistoryEntity } from './machine-history.entity.js';

/** The states that slaves and racks were in; streams are told in the same transaction. Of every machine only the newest `maxMachineHistoryEntries` are kept. */
@Injectable()
export class MachineHistoryRepository {
  constructor(
    private readonly outbox: OutboxRepository,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  async record(tx: Transaction, kind: MachineKind, change: MachineStateHistoryUpdate): Promise<void> {
    await tx.getRepository(MachineHistoryEntity).insert({ ...change, machineKind: kind });
    await this.outbox.machine(tx, kind, change);
  }

  /** Newest first, as they were written, and no more than are kept; empty for an unknown machine. */
  of(tx: Queryable, kind: MachineKind, id: string): Promise<MachineStateHistoryUpdate[]> {
    return tx.getRepository(MachineHistoryEntity).find({
      select: { objectId: true, state: true, timestamp: true, user: true, message: true },
      where: { machineKind: kind, objectId: id },
      order: { id: 'DESC' },
      take: this.settings.maxMachineHistoryEntries,
    });
  }

  /** Deaths of slaves that were ACTIVE until then, at `since` or later. By hand: compares each entry with the one before. */
  async lostSlavesSince(tx: Transaction, since: number): Promise<{ id: string; at: number }[]> {
    const found = await rows<{ id: string; at: Date }>(
      tx,
      `SELECT dead.id::text, dead.at FROM machine_history dead
       WHERE dead.machine_kind = 'SLAVE' AND dead.state = 'DEAD' AND dead.at >= $1 AND 'ACTIVE' = (
         SELECT former.state FROM machine_history former
         WHERE former.machine_kind = 'SLAVE' AND former.machine_id = dead.machine_id AND former.id < dead.id
         ORDER BY former.id DESC LIMIT 1)`,
      [new Date(since)],
    );
    return found.map(({ id, at }) => ({ id, at: at.getTime() }));
  }

  /** By hand: ranks the entries of all machines in one statement. */
  async trim(tx: Transaction): Promise<void> {
    await tx.query(
      `DELETE FROM machine_history WHERE id IN (SELECT id FROM
         (SELECT id, row_number() OVER (PARTITION BY machine_kind, machine_id ORDER BY id DESC) AS place
          FROM machine_history) ranked WHERE place > $1)`,
      [this.settings.maxMachineHistoryEntries],
    );
  }

  /** With their records. */
  async remove(tx: Transaction, kind: MachineKind, ids: readonly string[]): Promise<void> {
    await tx.getRepository(MachineHistoryEntity).delete({ machineKind: kind, objectId: Any(ids) });
    await this.outbox.machinesRemoved(tx, kind, ids);
  }
}
