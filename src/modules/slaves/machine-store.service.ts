import { Inject, Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { MachineState } from '../../core/model/enums.js';
import type { MachineKind, MachineStateHistoryUpdate } from '../../core/model/machine.js';
import { rows } from '../../platform/database/sql.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';

/** State of one machine and how it came to it. */
export interface MachineStanding {
  id: string;
  firstSeenAt: number;
  currentState: MachineStateHistoryUpdate;
}

export interface StandingRow {
  id: string;
  first_seen_at: Date;
  state: MachineState;
  state_at: Date;
  state_user: string | null;
  state_message: string | null;
}

const table = (kind: MachineKind): string => (kind === 'SLAVE' ? 'slave' : 'rack');
export const kindText = table;

export const standingFromRow = (row: StandingRow): MachineStanding => ({
  id: row.id,
  firstSeenAt: row.first_seen_at.getTime(),
  currentState: {
    objectId: row.id,
    state: row.state,
    timestamp: row.state_at.getTime(),
    user: row.state_user ?? undefined,
    message: row.state_message ?? undefined,
  },
});

/** The states of slaves and racks and their history. Changes are made under lockFleet. */
@Injectable()
export class MachineStore {
  constructor(@Inject(SETTINGS) private readonly settings: Settings) {}

  /** Of one kind, optionally in one state, in the order of ids. */
  async find(tx: EntityManager, kind: MachineKind, state?: MachineState): Promise<MachineStanding[]> {
    const found = await rows<StandingRow>(
      tx,
      `SELECT id, first_seen_at, state, state_at, state_user, state_message FROM ${table(kind)}
       WHERE $1::text IS NULL OR state = $1 ORDER BY id`,
      [state ?? null],
    );
    return found.map(standingFromRow);
  }

  /** Locks the row until `tx` ends. */
  async lock(tx: EntityManager, kind: MachineKind, id: string): Promise<MachineStanding | undefined> {
    const found = await rows<StandingRow>(
      tx,
      `SELECT id, first_seen_at, state, state_at, state_user, state_message FROM ${table(kind)}
       WHERE id = $1 FOR NO KEY UPDATE`,
      [id],
    );
    return found.map(standingFromRow)[0];
  }

  async insertRack(tx: EntityManager, { objectId, state, timestamp }: MachineStateHistoryUpdate): Promise<void> {
    await tx.query(`INSERT INTO rack (id, first_seen_at, state, state_at) VALUES ($1, $2, $3, $2)`, [
      objectId,
      new Date(timestamp),
      state,
    ]);
    await this.record(tx, 'RACK', { objectId, state, timestamp });
  }

  async setState(tx: EntityManager, kind: MachineKind, change: MachineStateHistoryUpdate): Promise<void> {
    await tx.query(
      `UPDATE ${table(kind)} SET state = $2, state_at = $3, state_user = $4, state_message = $5 WHERE id = $1`,
      [change.objectId, change.state, new Date(change.timestamp), change.user ?? null, change.message ?? null],
    );
    await this.record(tx, kind, change);
  }

  /** Adds to the history. */
  async record(tx: EntityManager, kind: MachineKind, change: MachineStateHistoryUpdate): Promise<void> {
    await tx.query(
      `INSERT INTO machine_history (machine_kind, machine_id, state, at, user_name, message) VALUES ($1, $2, $3, $4, $5, $6)`,
      [kind, change.objectId, change.state, new Date(change.timestamp), change.user ?? null, change.message ?? null],
    );
  }

  /** Of every machine only the newest states are kept. */
  async trimHistories(tx: EntityManager): Promise<void> {
    await tx.query(
      `DELETE FROM machine_history WHERE id IN (SELECT id FROM
         (SELECT id, row_number() OVER (PARTITION BY machine_kind, machine_id ORDER BY id DESC) AS place
          FROM machine_history) ranked WHERE place > $1)`,
      [this.settings.maxMachineHistoryEntries],
    );
  }

  /** Newest first, as they were written, and no more than are kept; empty for an unknown machine. */
  async history(tx: EntityManager, kind: MachineKind, id: string): Promise<MachineStateHistoryUpdate[]> {
    const found = await rows<{ state: MachineState; at: Date; user_name: string | null; message: string | null }>(
      tx,
      `SELECT state, at, user_name, message FROM machine_history
       WHERE machine_kind = $1 AND machine_id = $2 ORDER BY id DESC LIMIT $3`,
      [kind, id, this.settings.maxMachineHistoryEntries],
    );
    return found.map((row) => ({
      objectId: id,
      state: row.state,
      timestamp: row.at.getTime(),
      user: row.user_name ?? undefined,
      message: row.message ?? undefined,
    }));
  }

  /** Erases records and histories. */
  async remove(tx: EntityManager, kind: MachineKind, ids: readonly string[]): Promise<void> {
    await tx.query('DELETE FROM machine_history WHERE machine_kind = $1 AND machine_id = ANY ($2)', [kind, ids]);
    await tx.query(`DELETE FROM ${table(kind)} WHERE id = ANY ($1)`, [ids]);
  }
}
