import { Inject, Injectable } from '@nestjs/common';
import { CLUSTER_DRIVER, type ClusterDriver, type MachineSnapshot } from '../../cluster/cluster-driver.js';
import { compareMachines } from '../../core/machines/comparison.js';
import type { MachineKind } from '../../core/model/machine.js';
import { isSilent } from '../../core/machines/silence.js';
import { Database } from '../../platform/database/database.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { MachineTaskRepository, type TaskOfSlave } from '../tasks/machine-task.repository.js';
import { MachineReports } from './machine-reports.service.js';
import { MachineStates } from './machine-states.service.js';
import { SlaveRepository, type StoredSlave } from './slave.repository.js';

/** Machines looked at in one transaction: the lock on the fleet holds placements back that long. */
const machinesPerTransaction = 100;

export interface ComparisonOptions {
  now: number;
  /** The first comparison of this leader: what it misses may have been gone before its time. */
  atStart: boolean;
  /**
   * The machines that count as missing: those that an agent which answers does not list, or those of agents that have
   * not answered at all although they have had their time. Tasks of the latter stay.
   */
  missing: 'UNLISTED' | 'SILENT';
}

/** Makes the records of machines agree with what the cluster lists. For the leader. */
@Injectable()
export class FleetComparison {
  constructor(
    private readonly db: Database,
    private readonly reports: MachineReports,
    private readonly slaves: SlaveRepository,
    private readonly tasks: MachineTaskRepository,
    private readonly states: MachineStates,
    @Inject(CLUSTER_DRIVER) private readonly driver: ClusterDriver,
  ) {}

  /**
   * True if machines that are not listed are gone; false: not yet; undefined: only those that agents that answer do not
   * list.
   */
  get isWhole(): boolean | undefined {
    return this.driver.listsEveryMachine;
  }

  /** Stores listed machines whose record was removed, is wrong, or says that they are gone. */
  async record(now: number): Promise<void> {
    const { toRecord } = await this.differences(this.speaksFor());
    await this.recordMachines(toRecord, now);
  }

  /**
   * Stores listed machines as `record`, and which machines are not there any more. Returns the tasks whose end no
   * machine will report.
   */
  async run({ now, atStart, missing }: ComparisonOptions): Promise<TaskOfSlave[]> {
    const answers = this.speaksFor();
    const found = await this.differences(missing === 'SILENT' ? (agentId) => !answers(agentId) : answers);
    await this.recordMachines(found.toRecord, now);
    await this.noteMissing('SLAVE', found.unlistedSlaves, atStart, now);
    await this.noteMissing('RACK', found.unlistedRacks, atStart, now);
    return this.strandedTasks();
  }

  private async differences(speaksFor: (agentId: string) => boolean) {
    const slaves = await this.slaves.list(this.db.leaderPool);
    const racks = await this.slaves.standings(this.db.leaderPool, 'RACK');
    const known = {
      slaves: slaves.map(toKnown),
      racks: racks.map(({ id, currentState }) => ({ id, state: currentState.state })),
    };
    const listed = this.listed().map((machine) => this.reports.toRecord(machine));
    return compareMachines(known, listed, speaksFor);
  }

  /**
   * True for agents that answer; where all machines are listed, also for agents that have none: nothing is left of
   * them.
   */
  private speaksFor(): (agentId: string) => boolean {
    const answering = new Set(this.listed().map((machine) => machine.agentId));
    if (!this.driver.listsEveryMachine) return (agentId) => answering.has(agentId);
    const there = new Set(this.driver.machines().map((machine) => machine.agentId));
    return (agentId) => answering.has(agentId) || !there.has(agentId);
  }

  /** Machines of agents that are not silent: what a silent one said last says nothing about now. */
  private listed(): MachineSnapshot[] {
    return this.driver.machines().filter(({ silentForMillis }) => !isSilent(silentForMillis));
  }

  private recordMachines(slaveIds: readonly string[], now: number): Promise<void> {
    return this.inBatches(slaveIds, async (tx, slaveId, listed) => {
      const machine = listed.get(slaveId);
      if (machine) await this.reports.seen(tx, machine, now);
    });
  }

  private noteMissing(kind: MachineKind, ids: readonly string[], atStart: boolean, now: number): Promise<void> {
    const message = atStart ? 'The cluster did not list it at the start' : 'The cluster does not list it any more';
    return this.inBatches(ids, async (tx, id, listed) => {
      const isBack = kind === 'SLAVE' ? listed.has(id) : [...listed.values()].some((machine) => machine.rackId === id);
      const machine = isBack ? undefined : await this.slaves.lock(tx, kind, id);
      if (!machine) return;
      await this.states.apply(tx, kind, machine, { kind: 'unlisted', machine: kind, atStart }, { now, message });
    });
  }

  /** The list is read again under the lock, so that a machine that came or went meanwhile is what it is now. */
  private async inBatches(
    ids: readonly string[],
    work: (tx: Transaction, id: string, listed: ReadonlyMap<string, MachineSnapshot>) => Promise<void>,
  ): Promise<void> {
    for (let begin = 0; begin < ids.length; begin += machinesPerTransaction) {
      await this.db.leaderTransaction(async (tx) => {
        await this.slaves.lockFleet(tx);
        const listed = new Map(this.listed().map((machine) => [machine.slaveId, machine]));
        for (const id of ids.slice(begin, begin + machinesPerTransaction)) await work(tx, id, listed);
      });
    }
  }

  /** Tasks on machines that their agent, which answers, does not list. Under the lock, so that none was placed a moment ago. */
  private strandedTasks(): Promise<TaskOfSlave[]> {
    return this.db.leaderTransaction(async (tx) => {
      await this.slaves.lockFleet(tx);
      const speaksFor = this.speaksFor();
      const listed = new Set(this.listed().map((machine) => machine.slaveId));
      const known = await this.slaves.agents(tx);
      const gone = known.filter(({ id, agentId }) => !listed.has(id) && speaksFor(agentId));
      if (gone.length === 0) return [];
      return this.tasks.activeOnSlaves(
        tx,
        gone.map(({ id }) => id),
      );
    });
  }
}

const toKnown = (slave: StoredSlave) => {
  const { id, host, rackId, agentId, incarnation, attributes, resources, currentState } = slave;
  return { id, host, rackId, agentId, incarnation, attributes, resources, state: currentState.state };
};
