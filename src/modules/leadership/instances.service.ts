import { Inject, Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { HostState } from '../../core/model/state.js';
import { rows } from '../../platform/database/sql.js';
import { Leadership } from '../../platform/leadership/leadership.js';
import { ThisInstance } from '../../platform/leadership/this-instance.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { StatusDelays } from './status-delays.service.js';
import { ThisHost } from './this-host.service.js';

/** Two lost writes are forgiven. */
const periodsUntilStale = 3;
/** A stall of the database or of the process is no reason to be taken for dead. */
const shortestLifeSeconds = 10;

export interface KnownInstances {
  hostStates: HostState[];
  /** Of the leader: how long the newest status updates took to be stored. */
  statusDelayMillis: number;
}

interface InstanceRow {
  document: HostState;
  leads: boolean;
  status_delay_millis: number | null;
  age_millis: number;
}

/** The instances of this service. Each writes its own row; one that has not done so for a while is left out. */
@Injectable()
export class Instances {
  private readonly lifeSeconds: number;

  constructor(
    private readonly instance: ThisInstance,
    private readonly host: ThisHost,
    private readonly delays: StatusDelays,
    private readonly leadership: Leadership,
    @Inject(SETTINGS) { saveStateEverySeconds }: Settings,
  ) {
    this.lifeSeconds = Math.max(shortestLifeSeconds, periodsUntilStale * saveStateEverySeconds);
  }

  /** Writes this instance down, and removes those that vanished. */
  async write(tx: EntityManager, now: number): Promise<void> {
    const state = await this.host.describe(tx, now);
    if (!state) return;
    await tx.query(
      `INSERT INTO instance (id, epoch, status_delay_millis, document, written_at)
       VALUES ($1, $2, $3, $4, clock_timestamp())
       ON CONFLICT (id) DO UPDATE SET epoch = excluded.epoch, status_delay_millis = excluded.status_delay_millis,
         document = excluded.document, written_at = excluded.written_at`,
      [
        this.instance.id,
        state.master ? this.leadership.current() : null,
        state.master ? this.delays.average() : null,
        JSON.stringify(state),
      ],
    );
    await tx.query('DELETE FROM instance WHERE written_at < clock_timestamp() - make_interval(secs => $1)', [
      this.lifeSeconds,
    ]);
  }

  /** Nobody shall wait until this one is stale. */
  async removeThis(tx: EntityManager): Promise<void> {
    await tx.query('DELETE FROM instance WHERE id = $1', [this.instance.id]);
  }

  /** By address. This instance as it is now, the others as they said last, with what has aged since. */
  async list(tx: EntityManager, now: number): Promise<KnownInstances> {
    const found = await rows<InstanceRow>(
      tx,
      // A leader that died still says that it leads; its epoch tells.
      `SELECT document, status_delay_millis, coalesce(i.epoch = e.epoch, false) AS leads,
         (extract(epoch FROM clock_timestamp() - written_at) * 1000)::bigint AS age_millis
       FROM instance i CROSS JOIN leader_epoch e
       WHERE id <> $1 AND written_at >= clock_timestamp() - make_interval(secs => $2)`,
      [this.instance.id, this.lifeSeconds],
    );
    const here = await this.host.describe(tx, now);
    const others = found.map(aged).map((state) => (here?.master ? { ...state, master: false } : state));
    const known = [...(here ? [here] : []), ...others];
    // Whoever leads now, whatever each of them wrote when it was last asked.
    const clusterMaster = known.find(({ master }) => master)?.hostAddress;
    const hostStates = known
      .map((state) => ({ ...state, clusterMaster }))
      .toSorted((a, b) => (a.hostAddress < b.hostAddress ? -1 : 1));
    const told = found.find(({ leads }) => leads)?.status_delay_millis ?? 0;
    return { hostStates, statusDelayMillis: here?.master ? this.delays.average() : told };
  }
}

function aged({ document, leads, age_millis }: InstanceRow): HostState {
  const { uptime, millisSinceLastOffer, clusterConnected } = document;
  return {
    ...document,
    master: leads,
    uptime: uptime + age_millis,
    clusterConnected: leads && clusterConnected,
    ...(millisSinceLastOffer !== undefined && { millisSinceLastOffer: millisSinceLastOffer + age_millis }),
  };
}
