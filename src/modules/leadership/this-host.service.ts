import { Inject, Injectable } from '@nestjs/common';
import { hostname } from 'node:os';
import type { EntityManager } from 'typeorm';
import { CLUSTER_DRIVER, type ClusterDriver, type MachineSnapshot } from '../../cluster/cluster-driver.js';
import { connectionState } from '../../core/leadership/index.js';
import type { HostState } from '../../core/model/state.js';
import { rows } from '../../platform/database/sql.js';
import { Leadership } from '../../platform/leadership/leadership.js';
import { ThisInstance } from '../../platform/leadership/this-instance.js';

const roundTo3 = (value: number): number => Math.round(value * 1_000) / 1_000;

/** What this instance says of itself at this moment. */
@Injectable()
export class ThisHost {
  constructor(
    private readonly instance: ThisInstance,
    private readonly leadership: Leadership,
    @Inject(CLUSTER_DRIVER) private readonly driver: ClusterDriver,
  ) {}

  /** undefined: nobody can reach it yet. */
  async describe(tx: EntityManager, now: number): Promise<HostState | undefined> {
    const address = this.instance.address();
    if (address === undefined) return undefined;
    const leads = this.leadership.ready();
    // What was seen in an earlier time of leading is no longer known to be true.
    const machines = leads ? this.driver.machines() : [];
    const millisSinceHeard =
      machines.length > 0 ? Math.max(0, now - Math.max(...machines.map(({ seenAt }) => seenAt))) : undefined;
    const driverStatus = connectionState({ ...this.leadership.standing(), leads, millisSinceHeard });
    const free = await freeOn(tx, machines);
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
}

/** What active tasks leave of the machines, in cores and MB. */
async function freeOn(
  tx: EntityManager,
  machines: readonly MachineSnapshot[],
): Promise<{ cpus: number; memoryMb: number }> {
  if (machines.length === 0) return { cpus: 0, memoryMb: 0 };
  const found = await rows<{ slave_id: string; cpus: number; memory_mb: number }>(
    tx,
    `SELECT slave_id, sum(cpus) AS cpus, sum(memory_mb) AS memory_mb FROM task
     WHERE ended_at IS NULL AND slave_id = ANY ($1) GROUP BY slave_id`,
    [machines.map(({ slaveId }) => slaveId)],
  );
  const used = new Map(found.map((row) => [row.slave_id, row]));
  const sum = (left: (machine: MachineSnapshot) => number): number =>
    machines.reduce((total, machine) => total + Math.max(0, left(machine)), 0);
  return {
    cpus: sum(({ slaveId, cpus }) => cpus - (used.get(slaveId)?.cpus ?? 0)),
    memoryMb: sum(({ slaveId, memoryMb }) => memoryMb - (used.get(slaveId)?.memory_mb ?? 0)),
  };
}
