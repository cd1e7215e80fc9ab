import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { MachineState } from '../../core/model/enums.js';
import type { ExpiringMachineState, MachineChangeRequest, MachineKind } from '../../core/model/machine.js';
import { rows } from '../../platform/database/sql.js';

/** The change of a machine's state that lapses. */
export interface ExpiringMachine {
  kind: MachineKind;
  machineId: string;
  user?: string;
  startMillis: number;
  durationMillis: number;
  actionId: string;
  asked: MachineChangeRequest;
  revertToState: MachineState;
  killTasksOnDecommissionTimeout: boolean;
}

interface ExpiringRow {
  kind: MachineKind;
  target_id: string;
  user_name: string | null;
  started_at: Date;
  duration_millis: string;
  action_id: string;
  document: MachineChangeRequest;
  revert: { revertToState: MachineState; killTasksOnDecommissionTimeout: boolean };
}

/** Changes of machines that lapse: at most one per machine. Written under lockFleet. */
@Injectable()
export class ExpiringMachines {
  async find(tx: EntityManager, filter: { kind?: MachineKind; id?: string } = {}): Promise<ExpiringMachine[]> {
    const found = await rows<ExpiringRow>(
      tx,
      `SELECT * FROM expiring_action WHERE kind = ANY ($1) AND ($2::text IS NULL OR target_id = $2)
       ORDER BY kind, target_id`,
      [filter.kind ? [filter.kind] : ['SLAVE', 'RACK'], filter.id ?? null],
    );
    return found.map((row) => ({
      kind: row.kind,
      machineId: row.target_id,
      user: row.user_name ?? undefined,
      startMillis: row.started_at.getTime(),
      durationMillis: Number(row.duration_millis),
      actionId: row.action_id,
      asked: row.document,
      ...row.revert,
    }));
  }

  async insert(tx: EntityManager, expiring: ExpiringMachine): Promise<void> {
    const { revertToState, killTasksOnDecommissionTimeout } = expiring;
    await tx.query(
      `INSERT INTO expiring_action (kind, target_id, user_name, started_at, duration_millis, action_id, document, revert)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
      [
        expiring.kind,
        expiring.machineId,
        expiring.user ?? null,
        new Date(expiring.startMillis),
        expiring.durationMillis,
        expiring.actionId,
        JSON.stringify(expiring.asked),
        JSON.stringify({ revertToState, killTasksOnDecommissionTimeout }),
      ],
    );
  }

  async remove(tx: EntityManager, kind: MachineKind, ids: readonly string[]): Promise<void> {
    await tx.query('DELETE FROM expiring_action WHERE kind = $1 AND target_id = ANY ($2)', [kind, ids]);
  }
}

export const toExpiringState = (expiring: ExpiringMachine): ExpiringMachineState => ({
  user: expiring.user,
  startMillis: expiring.startMillis,
  actionId: expiring.actionId,
  expiringAPIRequestObject: expiring.asked,
  machineId: expiring.machineId,
  revertToState: expiring.revertToState,
  killTasksOnDecommissionTimeout: expiring.killTasksOnDecommissionTimeout,
});
