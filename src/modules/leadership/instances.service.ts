import {
  Inject,
  Injectable,
  Logger,
  type BeforeApplicationShutdown,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { hostname } from 'node:os';
import { CLUSTER_DRIVER, type ClusterDriver, type MachineSnapshot } from '../../cluster/cluster-driver.js';
import { connectionState } from '../../core/leadership/connection-state.js';
import type { HostState } from '../../core/model/state.js';
import { Database } from '../../platform/database/database.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { Leadership } from '../../platform/leadership/leadership.js';
import { ThisInstance } from '../../platform/leadership/this-instance.js';
import { StatusDelays } from '../../platform/metrics/status-delays.js';
import { PROCESS_ROLE, type ProcessRole } from '../../platform/process/process-role.js';
import type { Poller } from '../../platform/poller/poller.js';
import { Pollers } from '../../platform/poller/pollers.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { TaskRepository } from '../tasks/task.repository.js';
import { InstanceRepository, type InstanceNote } from './instance.repository.js';

const roundTo3 = (value: number): number => Math.round(value * 1_000) / 1_000;

/** The state of this instance, for the others and for the API. */
@Injectable()
export class ThisHost {
  constructor(
    private readonly tasks: TaskRepository,
    private readonly instance: ThisInstance,
    private readonly leadership: Leadership,
    @Inject(CLUSTER_DRIVER) private readonly driver: ClusterDriver,
  ) {}

  /** undefined: it cannot be reached yet. */
  async describe(tx: Queryable): Promise<HostState | undefined> {
    const address = this.instance.address();
    if (address === undefined) return undefined;
    const leads = this.leadership.ready();
    // What was seen in an earlier time of leading is no longer known to be true.
    const machines = leads ? this.driver.machines() : [];
    const millisSinceHeard =
      machines.length > 0 ? Math.round(Math.min(...machines.map((machine) => machine.silentForMillis))) : undefined;
    const driverStatus = connectionState({ ...this.leadership.standing(), leads, millisSinceHeard });
    const free = await this.freeOn(tx, machines);
    return {
      master: leads,
      uptime: Math.round(process.uptime() * 1_000),
      driverStatus,
      millisSinceLastOffer: millisSinceHeard,
      hostAddress: new URL(address).host,
      hostname: hostname(),
      clusterConnected: driverStatus === 'SUBSCRIBED',
      offerCacheSize: machines.length,
      availableCachedCpus: roundTo3(free.cpus),
      availableCachedMemory: roundTo3(free.memoryMb),
    };
  }

  /** Resources of the machines that active tasks leave free, in cores and MB. */
  private async freeOn(
    tx: Queryable,
    machines: readonly MachineSnapshot[],
  ): Promise<{ cpus: number; memoryMb: number }> {
    if (machines.length === 0) return { cpus: 0, memoryMb: 0 };
    const used = await this.tasks.usedOn(
      tx,
      machines.map(({ slaveId }) => slaveId),
    );
    const sum = (left: (machine: MachineSnapshot) => number): number =>
      machines.reduce((total, machine) => total + Math.max(0, left(machine)), 0);
    return {
      cpus: sum(({ slaveId, cpus }) => cpus - (used.get(slaveId)?.cpus ?? 0)),
      memoryMb: sum(({ slaveId, memoryMb }) => memoryMb - (used.get(slaveId)?.memoryMb ?? 0)),
    };
  }
}

/** Two lost writes are forgiven. */
const periodsUntilStale = 3;
/** A stall of the database or of the process is no reason to be taken for dead. */
const shortestLifeSeconds = 10;

interface KnownInstances {
  hostStates: HostState[];
  /** For the leader: the time that the newest status updates took to be stored. */
  statusDelayMillis: number;
}

/** The instances of this service. Each writes its own row; one that has not done so for a while is left out. */
@Injectable()
export class Instances {
  private readonly lifeSeconds: number;

  constructor(
    private readonly store: InstanceRepository,
    private readonly instance: ThisInstance,
    private readonly host: ThisHost,
    private readonly delays: StatusDelays,
    private readonly leadership: Leadership,
    @Inject(PROCESS_ROLE) private readonly role: ProcessRole,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    this.lifeSeconds = Math.max(shortestLifeSeconds, periodsUntilStale * settings.saveStateEverySeconds);
  }

  /** Writes this instance down, and removes those that vanished. */
  async write(tx: Queryable): Promise<void> {
    const state = await this.host.describe(tx);
    if (!state) return;
    await this.store.save(tx, {
      id: this.instance.id,
      epoch: state.master ? (this.leadership.current() ?? null) : null,
      statusDelayMillis: state.master ? this.delays.average() : null,
      document: state,
      workerOf: this.role.kind === 'worker' ? this.role.leaderInstanceId : null,
      dataDir: this.settings.dataDir,
    });
    await this.store.removeOlderThan(tx, this.lifeSeconds);
  }

  /** An ordered stop: the others need not wait until this one is stale. */
  async removeThis(tx: Transaction): Promise<void> {
    await this.store.remove(tx, this.instance.id);
  }

  /** By address. This instance as it is now, the others as they said last, with what has aged since. */
  async list(tx: Queryable): Promise<KnownInstances> {
    const found = await this.store.others(tx, this.instance.id, this.lifeSeconds);
    // What this process is like says nothing of the one that it serves for, whose row is among the others.
    const here = this.role.kind === 'worker' ? undefined : await this.host.describe(tx);
    const others = found.map(aged).map((state) => (here?.master ? { ...state, master: false } : state));
    const known = [...(here ? [here] : []), ...others];
    // The one that leads now, whatever each of them wrote last.
    const clusterMaster = known.find(({ master }) => master)?.hostAddress;
    const hostStates = known
      .map((state) => ({ ...state, clusterMaster }))
      .toSorted((a, b) => (a.hostAddress < b.hostAddress ? -1 : 1));
    const told = found.find(({ leads }) => leads)?.statusDelayMillis ?? 0;
    return { hostStates, statusDelayMillis: here?.master ? this.delays.average() : told };
  }
}

function aged({ document, leads, ageMillis }: InstanceNote): HostState {
  const { uptime, millisSinceLastOffer, clusterConnected } = document;
  return {
    ...document,
    master: leads,
    uptime: uptime + ageMillis,
    clusterConnected: leads && clusterConnected,
    ...(millisSinceLastOffer !== undefined && { millisSinceLastOffer: millisSinceLastOffer + ageMillis }),
  };
}

/** Writes down how this instance is: regularly, at once when the leadership changes, and not at all when it has ended. */
@Injectable()
export class InstancePoller implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly log = new Logger(InstancePoller.name);
  private poller: Poller | undefined;

  constructor(
    private readonly db: Database,
    private readonly instances: Instances,
    private readonly leadership: Leadership,
    private readonly pollers: Pollers,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  onApplicationBootstrap(): void {
    const poller = this.pollers.register({
      name: 'instances',
      essential: true,
      everyMs: this.settings.saveStateEverySeconds * 1_000,
      onEveryInstance: true,
      pass: () => this.runOnce(),
    });
    this.leadership.onChange(() => poller.wake());
    this.poller = poller;
  }

  async runOnce(): Promise<void> {
    await this.db.transaction((tx) => this.instances.write(tx));
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.poller?.stop();
    await this.db
      .transaction((tx) => this.instances.removeThis(tx))
      .catch((cause: unknown) => this.log.debug(`This instance is left in the list: ${String(cause)}`));
  }
}
