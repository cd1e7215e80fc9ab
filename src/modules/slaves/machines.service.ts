import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { MachineSnapshot } from '../../cluster/cluster-driver.js';
import { stateWhenSeen } from '../../core/machines/machine-state.js';
import type { MachineState } from '../../core/model/enums.js';
import type { ClusterResourcesObject, Slave } from '../../core/model/machine.js';
import { rows } from '../../platform/database/sql.js';
import { lockFleet } from './fleet-lock.js';
import { MachineStore, standingFromRow, type StandingRow } from './machine-store.service.js';

/** A slave as stored, with the state of the rack it stands in. */
export interface StoredSlave extends Slave {
  rackState: MachineState;
  agentId: string;
  incarnation: string;
  /** Epoch milliseconds at which its agent answered last, as of the last change of the record. */
  seenAt: number;
}

interface SlaveRow extends StandingRow {
  host: string;
  rack_id: string;
  attributes: Record<string, string>;
  resources: ClusterResourcesObject;
  agent_id: string;
  incarnation: string;
  seen_at: Date;
  rack_state: MachineState;
}

/** What the cluster says about machines, applied to their records. For the leader; operators' changes are MachineChanges. */
@Injectable()
export class Machines {
  constructor(private readonly store: MachineStore) {}

  /**
   * A machine appeared or changed. Unknown ones are stored ACTIVE, those thought gone are ACTIVE again, what an
   * operator decided (frozen, decommissioned) stays. formerIncarnation is set when the machine began anew: whatever ran
   * there before is gone.
   */
  async seen(tx: EntityManager, machine: MachineSnapshot, now: number): Promise<{ formerIncarnation?: string }> {
    await lockFleet(tx);
    await this.rackSeen(tx, machine.rackId, now);
    const [known] = await rows<{ state: MachineState; incarnation: string }>(
      tx,
      'SELECT state, incarnation FROM slave WHERE id = $1 FOR NO KEY UPDATE',
      [machine.slaveId],
    );
    await this.writeSlave(tx, machine, now);
    const state = stateWhenSeen(known?.state);
    const update = { objectId: machine.slaveId, state, timestamp: now };
    if (!known) await this.store.record(tx, 'SLAVE', update);
    else if (state !== known.state) await this.store.setState(tx, 'SLAVE', update);
    return known && known.incarnation !== machine.incarnation ? { formerIncarnation: known.incarnation } : {};
  }

  /** Confirmed gone: DEAD, and its rack too when no other slave of it is ACTIVE. Unknown slaves are ignored. */
  async down(tx: EntityManager, slaveId: string, reason: string, now: number): Promise<void> {
    await lockFleet(tx);
    const [slave] = await rows<{ state: MachineState; rack_id: string }>(
      tx,
      'SELECT state, rack_id FROM slave WHERE id = $1 FOR NO KEY UPDATE',
      [slaveId],
    );
    if (!slave || slave.state === 'DEAD') return;
    await this.store.setState(tx, 'SLAVE', { objectId: slaveId, state: 'DEAD', timestamp: now, message: reason });
    const [active] = await rows(tx, `SELECT 1 FROM slave WHERE rack_id = $1 AND state = 'ACTIVE' LIMIT 1`, [
      slave.rack_id,
    ]);
    const rack = await this.store.lock(tx, 'RACK', slave.rack_id);
    if (active || !rack || rack.currentState.state === 'DEAD') return;
    const message = `Its last active slave '${slaveId}' is gone`;
    await this.store.setState(tx, 'RACK', { objectId: rack.id, state: 'DEAD', timestamp: now, message });
  }

  /** All slaves, or the given ones, in the order of ids. */
  async list(tx: EntityManager, ids?: readonly string[]): Promise<StoredSlave[]> {
    return this.find(tx, { ids });
  }

  async find(
    tx: EntityManager,
    filter: { id?: string; ids?: readonly string[]; state?: MachineState },
  ): Promise<StoredSlave[]> {
    const found = await rows<SlaveRow>(
      tx,
      `SELECT s.*, coalesce(r.state, 'ACTIVE') AS rack_state FROM slave s LEFT JOIN rack r ON r.id = s.rack_id
       WHERE ($1::text IS NULL OR s.id = $1) AND ($3::text[] IS NULL OR s.id = ANY ($3)) AND ($2::text IS NULL OR s.state = $2) ORDER BY s.id`,
      [filter.id ?? null, filter.state ?? null, filter.ids ?? null],
    );
    return found.map(fromRow);
  }

  /** How many slaves are ACTIVE. */
  async activeCount(tx: EntityManager): Promise<number> {
    const [found] = await rows<{ count: string }>(tx, `SELECT count(*) FROM slave WHERE state = 'ACTIVE'`);
    return Number(found!.count);
  }

  private async rackSeen(tx: EntityManager, id: string, now: number): Promise<void> {
    const known = await this.store.lock(tx, 'RACK', id);
    if (!known) return this.store.insertRack(tx, id, now);
    const state = stateWhenSeen(known.currentState.state);
    if (state !== known.currentState.state) {
      await this.store.setState(tx, 'RACK', { objectId: id, state, timestamp: now });
    }
  }

  private async writeSlave(tx: EntityManager, machine: MachineSnapshot, now: number): Promise<void> {
    await tx.query(
      `INSERT INTO slave (id, host, rack_id, attributes, resources, agent_id, incarnation, seen_at, first_seen_at, state, state_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'ACTIVE', $9)
       ON CONFLICT (id) DO UPDATE SET host = excluded.host, rack_id = excluded.rack_id, attributes = excluded.attributes,
         resources = excluded.resources, agent_id = excluded.agent_id, incarnation = excluded.incarnation, seen_at = excluded.seen_at`,
      [
        machine.slaveId,
        machine.hostname,
        machine.rackId,
        JSON.stringify(machine.attributes),
        JSON.stringify(resourcesOf(machine)),
        machine.agentId,
        machine.incarnation,
        new Date(machine.seenAt),
        new Date(now),
      ],
    );
  }
}

const resourcesOf = (machine: MachineSnapshot): ClusterResourcesObject => ({
  cpus: machine.cpus,
  mem: machine.memoryMb,
  disk: machine.diskMb,
  ports: `[${machine.portRanges.map(({ begin, end }) => `${begin}-${end}`).join(', ')}]`,
});

const fromRow = (row: SlaveRow): StoredSlave => ({
  ...standingFromRow(row),
  host: row.host,
  rackId: row.rack_id,
  attributes: row.attributes,
  resources: row.resources,
  rackState: row.rack_state,
  agentId: row.agent_id,
  incarnation: row.incarnation,
  seenAt: row.seen_at.getTime(),
});
