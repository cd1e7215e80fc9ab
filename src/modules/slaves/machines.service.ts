import { Inject, Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { MachineSnapshot } from '../../cluster/cluster-driver.js';
import { shortHost, type SlaveRecord } from '../../core/machines/comparison.js';
import { nextMachineStep } from '../../core/machines/machine-life.js';
import { isInactive } from '../../core/machines/machine-state.js';
import type { MachineState } from '../../core/model/enums.js';
import type { ClusterResourcesObject, MachineStateHistoryUpdate, Slave } from '../../core/model/machine.js';
import { rows } from '../../platform/database/sql.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { InactiveHosts } from '../inactive/inactive-hosts.service.js';
import { lockFleet } from './fleet-lock.js';
import { MachineStates } from './machine-states.service.js';
import { MachineStore, standingFromRow, type StandingRow } from './machine-store.service.js';

/** A slave as stored, with the state of the rack it stands in. */
export interface StoredSlave extends Slave {
  resources: ClusterResourcesObject;
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
  constructor(
    private readonly store: MachineStore,
    private readonly states: MachineStates,
    private readonly inactiveHosts: InactiveHosts,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /**
   * A machine appeared or changed. Unknown ones are stored ACTIVE, those thought gone are ACTIVE again (or decommissioned,
   * where nothing is to run on their host); what an operator decided stays.
   */
  async seen(tx: EntityManager, machine: MachineSnapshot, now: number): Promise<void> {
    await lockFleet(tx);
    await this.rackSeen(tx, machine.rackId, now);
    const known = await this.store.lock(tx, 'SLAVE', machine.slaveId);
    const isBack = known === undefined || isInactive(known.currentState.state);
    const hostIsInactive = isBack && (await this.isOnInactiveHost(tx, machine, now));
    const message = hostIsInactive
      ? `Nothing is to run on its host: '${machine.hostname}' is marked inactive`
      : undefined;
    if (known) {
      await this.refresh(tx, machine);
      await this.states.apply(tx, 'SLAVE', known, { kind: 'seen', hostIsInactive }, { now, message });
      return;
    }
    const step = nextMachineStep(undefined, { kind: 'seen', hostIsInactive });
    if (step.kind !== 'enter') return;
    await this.insert(tx, machine, { objectId: machine.slaveId, state: step.state, timestamp: now, message });
  }

  /** Confirmed gone: DEAD, and its rack too when no other slave of it is ACTIVE. Unknown slaves are ignored. */
  async down(tx: EntityManager, slaveId: string, reason: string, now: number): Promise<void> {
    await lockFleet(tx);
    const slave = await this.store.lock(tx, 'SLAVE', slaveId);
    if (!slave) return;
    const step = await this.states.apply(tx, 'SLAVE', slave, { kind: 'lost' }, { now, message: reason });
    if (step.kind !== 'enter') return;
    const [left] = await rows<{ rack_id: string; active: boolean }>(
      tx,
      `SELECT rack_id, EXISTS (SELECT 1 FROM slave other WHERE other.rack_id = slave.rack_id AND other.state = 'ACTIVE')
         AS active FROM slave WHERE id = $1`,
      [slaveId],
    );
    const rack = left!.active ? undefined : await this.store.lock(tx, 'RACK', left!.rack_id);
    if (!rack) return;
    const message = `Its last active slave '${slaveId}' is gone`;
    await this.states.apply(tx, 'RACK', rack, { kind: 'lost' }, { now, message });
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

  /** A machine as its record says it. */
  toRecord(machine: MachineSnapshot): SlaveRecord {
    const { slaveId: id, rackId, agentId, incarnation, attributes } = machine;
    const host = shortHost(machine.hostname, this.settings.commonHostnameSuffixToOmit);
    return { id, host, rackId, agentId, incarnation, attributes, resources: resourcesOf(machine) };
  }

  private async rackSeen(tx: EntityManager, objectId: string, now: number): Promise<void> {
    const event = { kind: 'seen', hostIsInactive: false } as const;
    const known = await this.store.lock(tx, 'RACK', objectId);
    if (known) {
      await this.states.apply(tx, 'RACK', known, event, { now });
      return;
    }
    const step = nextMachineStep(undefined, event);
    if (step.kind === 'enter') await this.store.insertRack(tx, { objectId, state: step.state, timestamp: now });
  }

  private isOnInactiveHost(tx: EntityManager, { hostname }: MachineSnapshot, now: number): Promise<boolean> {
    const short = shortHost(hostname, this.settings.commonHostnameSuffixToOmit);
    return this.inactiveHosts.includesAny(tx, [hostname, short], now);
  }

  private async insert(tx: EntityManager, machine: MachineSnapshot, state: MachineStateHistoryUpdate): Promise<void> {
    await tx.query(
      `INSERT INTO slave (id, host, rack_id, attributes, resources, agent_id, incarnation, seen_at, first_seen_at, state, state_at, state_message)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $9, $11)`,
      [...this.parameters(machine), new Date(state.timestamp), state.state, state.message ?? null],
    );
    await this.store.record(tx, 'SLAVE', state);
  }

  private async refresh(tx: EntityManager, machine: MachineSnapshot): Promise<void> {
    await tx.query(
      `UPDATE slave SET host = $2, rack_id = $3, attributes = $4, resources = $5, agent_id = $6, incarnation = $7, seen_at = $8
       WHERE id = $1`,
      this.parameters(machine),
    );
  }

  private parameters(machine: MachineSnapshot): unknown[] {
    const { id, host, rackId, attributes, resources, agentId, incarnation } = this.toRecord(machine);
    return [
      id,
      host,
      rackId,
      JSON.stringify(attributes),
      JSON.stringify(resources),
      agentId,
      incarnation,
      new Date(machine.seenAt),
    ];
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
