import { Inject, Injectable } from '@nestjs/common';
import type { MachineSnapshot } from '../../cluster/cluster-driver.js';
import { shortHost, type SlaveRecord } from '../../core/machines/comparison.js';
import { isInactive, type MachineEvent, nextMachineStep } from '../../core/machines/machine-life.js';
import type { ClusterResourcesObject } from '../../core/model/machine.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { InactiveHostRepository } from './inactive-hosts/inactive-host.repository.js';
import { MachineStates } from './machine-states.service.js';
import { SlaveRepository } from './slave.repository.js';

/**
 * Reports of the cluster about machines, applied to their records. For the leader; operators' changes are
 * MachineChanges.
 */
@Injectable()
export class MachineReports {
  constructor(
    private readonly slaves: SlaveRepository,
    private readonly states: MachineStates,
    private readonly inactiveHosts: InactiveHostRepository,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** Machines appeared or changed: of one list in one order, whoever else writes some of them. */
  async allSeen(tx: Transaction, machines: readonly MachineSnapshot[], now: number): Promise<void> {
    for (const machine of machines) await this.seen(tx, machine, now);
  }

  /**
   * A machine appeared or changed. Unknown ones are stored ACTIVE, those thought gone are ACTIVE again (or decommissioned,
   * where nothing is to run on their host); what an operator decided stays.
   */
  async seen(tx: Transaction, machine: MachineSnapshot, now: number): Promise<void> {
    const seenAt = now - Math.round(machine.silentForMillis);
    await this.slaves.lockFleet(tx);
    await this.rackSeen(tx, machine.rackId, now);
    const known = await this.slaves.lock(tx, 'SLAVE', machine.slaveId);
    const isBack = known === undefined || isInactive(known.currentState.state);
    const hostIsInactive = isBack && (await this.isOnInactiveHost(tx, machine, now));
    const message = hostIsInactive
      ? `Nothing is to run on its host: '${machine.hostname}' is marked inactive`
      : undefined;
    if (known) {
      await this.slaves.refresh(tx, this.toRecord(machine), seenAt);
      await this.states.apply(tx, 'SLAVE', known, { kind: 'seen', hostIsInactive }, { now, message });
      return;
    }
    const step = nextMachineStep(undefined, { kind: 'seen', hostIsInactive });
    if (step.kind !== 'enter') return;
    const change = { objectId: machine.slaveId, state: step.state, timestamp: now, message };
    await this.slaves.insert(tx, this.toRecord(machine), seenAt, change);
  }

  /** Confirmed gone: DEAD, and its rack too when no other slave of it is ACTIVE. Unknown slaves are ignored. */
  async down(tx: Transaction, slaveId: string, reason: string, now: number): Promise<void> {
    await this.leave(tx, slaveId, { kind: 'lost' }, reason, now);
  }

  /** Does not answer: the same for one that is ACTIVE; what an operator decided about one that takes no tasks anyway stays. */
  async silent(tx: Transaction, slaveId: string, reason: string, now: number): Promise<void> {
    await this.leave(tx, slaveId, { kind: 'unlisted', machine: 'SLAVE', atStart: false }, reason, now);
  }

  private async leave(
    tx: Transaction,
    slaveId: string,
    event: MachineEvent,
    reason: string,
    now: number,
  ): Promise<void> {
    await this.slaves.lockFleet(tx);
    const slave = await this.slaves.lock(tx, 'SLAVE', slaveId);
    if (!slave) return;
    const step = await this.states.apply(tx, 'SLAVE', slave, event, { now, message: reason });
    if (step.kind !== 'enter') return;
    const rackId = await this.slaves.rackWithoutActive(tx, slaveId);
    const rack = rackId === undefined ? undefined : await this.slaves.lock(tx, 'RACK', rackId);
    if (!rack) return;
    const message = `Its last active slave '${slaveId}' is gone`;
    await this.states.apply(tx, 'RACK', rack, { kind: 'lost' }, { now, message });
  }

  /** A machine as its record says it. */
  toRecord(machine: MachineSnapshot): SlaveRecord {
    const { slaveId: id, rackId, agentId, incarnation, attributes } = machine;
    const host = shortHost(machine.hostname, this.settings.commonHostnameSuffixToOmit);
    return { id, host, rackId, agentId, incarnation, attributes, resources: resourcesOf(machine) };
  }

  private async rackSeen(tx: Transaction, objectId: string, now: number): Promise<void> {
    const event = { kind: 'seen', hostIsInactive: false } as const;
    const known = await this.slaves.lock(tx, 'RACK', objectId);
    if (known) {
      await this.states.apply(tx, 'RACK', known, event, { now });
      return;
    }
    const step = nextMachineStep(undefined, event);
    if (step.kind === 'enter') await this.slaves.insertRack(tx, { objectId, state: step.state, timestamp: now });
  }

  private isOnInactiveHost(tx: Transaction, { hostname }: MachineSnapshot, now: number): Promise<boolean> {
    const short = shortHost(hostname, this.settings.commonHostnameSuffixToOmit);
    return this.inactiveHosts.includesAny(tx, [hostname, short], now);
  }
}

const resourcesOf = (machine: MachineSnapshot): ClusterResourcesObject => ({
  cpus: machine.cpus,
  mem: machine.memoryMb,
  disk: machine.diskMb,
  ports: `[${machine.portRanges.map(({ begin, end }) => `${begin}-${end}`).join(', ')}]`,
  ...(machine.extended && { extended: machine.extended }),
  ...(machine.maxTasks !== undefined && { maxTasks: machine.maxTasks }),
});
