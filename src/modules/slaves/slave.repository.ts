import { Inject, Injectable } from '@nestjs/common';
import { Any, In, Not } from 'typeorm';
import type { SlaveRecord } from '../../core/machines/comparison.js';
import { inactiveStates } from '../../core/machines/machine-life.js';
import type { MachineState } from '../../core/model/enums.js';
import type {
  ClusterResourcesObject,
  MachineKind,
  MachineStateHistoryUpdate,
  Slave,
} from '../../core/model/machine.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { rows, toMillis } from '../../platform/database/sql.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { countsWhileAway } from '../tasks/machine-task.repository.js';
import { MachineHistoryRepository } from './machine-history.repository.js';
import { RackEntity } from './rack.entity.js';
import { SlaveEntity } from './slave.entity.js';

/** State of one machine and how it came to it. */
export interface MachineStanding {
  id: string;
  firstSeenAt: number;
  currentState: MachineStateHistoryUpdate;
}

/** A slave as stored, with the state of the rack it stands in. */
export interface StoredSlave extends Slave {
  resources: ClusterResourcesObject;
  rackState: MachineState;
  /** Operators said that nothing new is to run on its host. */
  hostIsInactive: boolean;
  agentId: string;
  incarnation: string;
  /** Epoch milliseconds at which its agent answered last, as of the last change of the record. */
  seenAt: number;
}

/** A slave that takes tasks, as its row says. */
export interface UsableSlave {
  incarnation: string;
  rackId: string;
  attributes: Record<string, string>;
}

interface StandingRow {
  id: string;
  first_seen_at: Date;
  state: MachineState;
  state_at: Date;
  state_user: string | null;
  state_message: string | null;
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
  host_is_inactive: boolean;
}

/** Key of the advisory lock that stands for "which machines may be used" (any number, but the same everywhere). */
const fleet = 7_099_001;

const table = (kind: MachineKind): 'slave' | 'rack' => (kind === 'SLAVE' ? 'slave' : 'rack');
const entity = (kind: MachineKind): typeof SlaveEntity | typeof RackEntity =>
  kind === 'SLAVE' ? SlaveEntity : RackEntity;
export const kindText = table;

/**
 * The records of slaves and racks. Changes are made under lockFleet.
 * By hand: what the leader reads in every pass, and what it locks.
 */
@Injectable()
export class SlaveRepository {
  /** Records leave out what all host names may end with; marks of hosts need not. */
  private readonly suffix: string;

  constructor(
    private readonly history: MachineHistoryRepository,
    @Inject(SETTINGS) settings: Settings,
  ) {
    this.suffix = settings.commonHostnameSuffixToOmit ?? '';
  }

  /** Taken by every change of a machine's state: waits for placements in flight and holds new ones back until `tx` ends. */
  async lockFleet(tx: Transaction): Promise<void> {
    await tx.query('SELECT pg_advisory_xact_lock($1)', [fleet]);
  }

  /** Taken by every placement, after the locks on its requests: the machines it chose stay usable until it commits. */
  async shareFleet(tx: Transaction): Promise<void> {
    await tx.query('SELECT pg_advisory_xact_lock_shared($1)', [fleet]);
  }

  /** All slaves, or the given ones, in the order of ids. */
  async list(tx: Queryable, ids?: readonly string[]): Promise<StoredSlave[]> {
    return this.find(tx, { ids });
  }

  /** In the order of ids. */
  async find(
    tx: Queryable,
    filter: { id?: string; ids?: readonly string[]; state?: MachineState },
  ): Promise<StoredSlave[]> {
    const found = await rows<SlaveRow>(
      tx,
      `SELECT s.*, coalesce(r.state, 'ACTIVE') AS rack_state, ${onInactiveHost('$4')} AS host_is_inactive
       FROM slave s LEFT JOIN rack r ON r.id = s.rack_id
       WHERE ($1::text IS NULL OR s.id = $1) AND ($3::text[] IS NULL OR s.id = ANY ($3)) AND ($2::text IS NULL OR s.state = $2) ORDER BY s.id`,
      [filter.id ?? null, filter.state ?? null, filter.ids ?? null, this.suffix],
    );
    return found.map(slaveFromRow);
  }

  /** Counts slaves that are ACTIVE, and not on a host that is marked inactive. */
  async activeCount(tx: Queryable): Promise<number> {
    const [found] = await rows<{ slaves: number }>(
      tx,
      `SELECT count(*)::int AS slaves FROM slave s WHERE s.state = 'ACTIVE' AND NOT ${onInactiveHost('$1')}`,
      [this.suffix],
    );
    return found!.slaves;
  }

  /**
   * On how many slaves a request that is spread over all of them belongs: those that take tasks, and those on which it has a
   * task that counts. A slave that is silent, frozen or yet to be emptied keeps its task, so it keeps its place.
   */
  async spreadCount(tx: Queryable, requestId: string): Promise<number> {
    const [found] = await rows<{ slaves: number }>(
      tx,
      `SELECT count(*)::int AS slaves FROM slave s LEFT JOIN rack r ON r.id = s.rack_id
       WHERE (s.state = 'ACTIVE' AND coalesce(r.state, 'ACTIVE') = 'ACTIVE' AND NOT ${onInactiveHost('$1')})
         OR EXISTS (SELECT 1 FROM task t WHERE t.slave_id = s.id AND t.request_id = $2 AND t.ended_at IS NULL
           AND NOT EXISTS (SELECT 1 FROM task_cleanup c WHERE c.task_id = t.task_id)
           AND NOT EXISTS (SELECT 1 FROM killed_task k WHERE k.task_id = t.task_id))`,
      [this.suffix, requestId],
    );
    return found!.slaves;
  }

  /** Counts slaves on their way to DECOMMISSIONED. */
  decommissioningCount(tx: Transaction): Promise<number> {
    return tx.getRepository(SlaveEntity).countBy({ state: Any(['STARTING_DECOMMISSION', 'DECOMMISSIONING']) });
  }

  /** All slaves, each with its agent. */
  agents(tx: Queryable): Promise<Pick<SlaveEntity, 'id' | 'agentId'>[]> {
    return tx.getRepository(SlaveEntity).find({ select: { id: true, agentId: true } });
  }

  /** The slaves that are there, as far as is known, each with its agent. */
  present(tx: Queryable): Promise<Pick<SlaveEntity, 'id' | 'agentId'>[]> {
    const state = Not(In(inactiveStates));
    return tx.getRepository(SlaveEntity).find({ select: { id: true, agentId: true }, where: { state } });
  }

  /** Ids of the others. */
  async absent(tx: Queryable): Promise<string[]> {
    const found = await tx
      .getRepository(SlaveEntity)
      .find({ select: { id: true }, where: { state: In(inactiveStates) } });
    return found.map(({ id }) => id);
  }

  async hosts(tx: Queryable, ids: readonly string[]): Promise<string[]> {
    const found = await tx.getRepository(SlaveEntity).find({ select: { host: true }, where: { id: Any(ids) } });
    return found.map(({ host }) => host);
  }

  async slaveIds(tx: Queryable): Promise<string[]> {
    return (await rows<{ id: string }>(tx, 'SELECT id FROM slave')).map(({ id }) => id);
  }

  /**
   * The given slaves that take tasks, with their racks and hosts, by id. By hand: asked by every batch of placements.
   */
  async usable(tx: Transaction, ids: readonly string[]): Promise<Map<string, UsableSlave>> {
    const found = await rows<UsableSlave & { id: string }>(
      tx,
      `SELECT s.id, s.incarnation, s.rack_id AS "rackId", s.attributes FROM slave s LEFT JOIN rack r ON r.id = s.rack_id
       WHERE s.id = ANY ($1) AND s.state = 'ACTIVE' AND coalesce(r.state, 'ACTIVE') = 'ACTIVE'
         AND NOT ${onInactiveHost('$2')}`,
      [ids, this.suffix],
    );
    return new Map(found.map((row) => [row.id, row]));
  }

  /**
   * Ids of slaves that operators keep tasks from, themselves or with their rack. By hand: over two tables, and every
   * two seconds.
   */
  async heldIds(tx: Queryable): Promise<string[]> {
    const states = ['FROZEN', 'STARTING_DECOMMISSION', 'DECOMMISSIONING', 'DECOMMISSIONED'] satisfies MachineState[];
    const found = await rows<{ id: string }>(
      tx,
      `SELECT s.id FROM slave s LEFT JOIN rack r ON r.id = s.rack_id WHERE s.state = ANY ($1) OR r.state = ANY ($1)`,
      [states],
    );
    return found.map(({ id }) => id);
  }

  /** Machines of one kind, optionally in one state, in the order of ids. */
  async standings(tx: Queryable, kind: MachineKind, state?: MachineState): Promise<MachineStanding[]> {
    const found = await rows<StandingRow>(
      tx,
      `SELECT id, first_seen_at, state, state_at, state_user, state_message FROM ${table(kind)}
       WHERE $1::text IS NULL OR state = $1 ORDER BY id`,
      [state ?? null],
    );
    return found.map(standingFromRow);
  }

  /** Counts machines by state. */
  async countsByState(tx: Transaction, kind: MachineKind): Promise<Map<MachineState, number>> {
    const found = await rows<{ state: MachineState; count: number }>(
      tx,
      `SELECT state, count(*)::int AS count FROM ${table(kind)} GROUP BY state`,
    );
    return new Map(found.map((row) => [row.state, row.count]));
  }

  /** Time of the newest answer of any slave, in epoch milliseconds. */
  async lastSeenAt(tx: Transaction): Promise<number | undefined> {
    const [found] = await rows<{ at: Date | null }>(tx, 'SELECT max(seen_at) AS at FROM slave');
    return toMillis(found!.at);
  }

  async standing(tx: Queryable, kind: MachineKind, id: string, lock = ''): Promise<MachineStanding | undefined> {
    const found = await rows<StandingRow>(
      tx,
      `SELECT id, first_seen_at, state, state_at, state_user, state_message FROM ${table(kind)} WHERE id = $1 ${lock}`,
      [id],
    );
    return found.map(standingFromRow)[0];
  }

  /** Locks the row until `tx` ends. */
  lock(tx: Transaction, kind: MachineKind, id: string): Promise<MachineStanding | undefined> {
    return this.standing(tx, kind, id, 'FOR NO KEY UPDATE');
  }

  /** Locks slaves that have been gone since before then and have no task that counts as active or as live; in the order of ids. */
  async lockLongGone(tx: Transaction, before: number): Promise<string[]> {
    const gone = await rows<{ id: string }>(
      tx,
      `SELECT id FROM slave WHERE state IN ('DEAD', 'MISSING_ON_STARTUP') AND state_at < $1
         AND NOT EXISTS (SELECT 1 FROM task t WHERE t.slave_id = slave.id AND (t.ended_at IS NULL OR ${countsWhileAway}))
       ORDER BY id FOR NO KEY UPDATE`,
      [new Date(before)],
    );
    return gone.map((row) => row.id);
  }

  /** The rack of a slave, unless another slave of it is ACTIVE. */
  async rackWithoutActive(tx: Transaction, slaveId: string): Promise<string | undefined> {
    const [found] = await rows<{ rack_id: string; active: boolean }>(
      tx,
      `SELECT rack_id, EXISTS (SELECT 1 FROM slave other WHERE other.rack_id = slave.rack_id AND other.state = 'ACTIVE')
         AS active FROM slave WHERE id = $1`,
      [slaveId],
    );
    return found!.active ? undefined : found!.rack_id;
  }

  async insert(tx: Transaction, slave: SlaveRecord, seenAt: number, change: MachineStateHistoryUpdate): Promise<void> {
    await tx.getRepository(SlaveEntity).insert({
      ...described(slave, seenAt),
      id: slave.id,
      firstSeenAt: new Date(change.timestamp),
      ...entered(change),
    });
    await this.history.record(tx, 'SLAVE', change);
  }

  async insertRack(tx: Transaction, change: MachineStateHistoryUpdate): Promise<void> {
    const firstSeenAt = new Date(change.timestamp);
    await tx.getRepository(RackEntity).insert({ id: change.objectId, firstSeenAt, ...entered(change) });
    await this.history.record(tx, 'RACK', change);
  }

  /** Stores what the machine reports of itself now. */
  async refresh(tx: Transaction, slave: SlaveRecord, seenAt: number): Promise<void> {
    await tx.getRepository(SlaveEntity).update(slave.id, described(slave, seenAt));
  }

  async setState(tx: Transaction, kind: MachineKind, change: MachineStateHistoryUpdate): Promise<void> {
    await tx.getRepository(entity(kind)).update(change.objectId, entered(change));
    await this.history.record(tx, kind, change);
  }

  /** Erases records and histories. */
  async remove(tx: Transaction, kind: MachineKind, ids: readonly string[]): Promise<void> {
    await this.history.remove(tx, kind, ids);
    await tx.getRepository(entity(kind)).delete({ id: Any(ids) });
  }
}

/**
 * True if slave `s` is on a host that is marked inactive. Marks that have lapsed are removed by then
 * (`MachinesPoller.expire`).
 */
const onInactiveHost = (suffix: string): string =>
  `EXISTS (SELECT 1 FROM inactive_host h WHERE h.host IN (s.host, s.host || ${suffix}::text))`;

const described = ({ host, rackId, attributes, resources, agentId, incarnation }: SlaveRecord, seenAt: number) => ({
  host,
  rackId,
  attributes,
  resources,
  agentId,
  incarnation,
  seenAt: new Date(seenAt),
});

const entered = ({ state, timestamp, user, message }: MachineStateHistoryUpdate) => ({
  state,
  stateAt: new Date(timestamp),
  stateUser: user ?? null,
  stateMessage: message ?? null,
});

const standingFromRow = (row: StandingRow): MachineStanding => ({
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

const slaveFromRow = (row: SlaveRow): StoredSlave => ({
  ...standingFromRow(row),
  host: row.host,
  rackId: row.rack_id,
  attributes: row.attributes,
  resources: row.resources,
  rackState: row.rack_state,
  hostIsInactive: row.host_is_inactive,
  agentId: row.agent_id,
  incarnation: row.incarnation,
  seenAt: row.seen_at.getTime(),
});
