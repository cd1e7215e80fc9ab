import { Inject, Injectable, Logger } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { isInactive, judgeStateChange } from '../../core/machines/machine-state.js';
import { Database } from '../../platform/database/database.js';
import { Pollers } from '../../platform/poller/pollers.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Wake } from '../../platform/wake/wake.js';
import { ExpiringMachines, type ExpiringMachine } from './expiring-machines.service.js';
import { lockFleet } from './fleet-lock.js';
import { MachineStore, type MachineKind } from './machine-store.service.js';
import { MachineTasks } from './machine-tasks.service.js';

const kinds: readonly MachineKind[] = ['SLAVE', 'RACK'];

const endOf = ({ startMillis, durationMillis }: ExpiringMachine): number => startMillis + durationMillis;

/** Carries decommissions through, and ends changes of machines that lapse. One transaction per machine. */
@Injectable()
export class MachinesPoller {
  private readonly log = new Logger(MachinesPoller.name);

  constructor(
    private readonly db: Database,
    private readonly store: MachineStore,
    private readonly expiring: ExpiringMachines,
    private readonly tasks: MachineTasks,
    private readonly wake: Wake,
    pollers: Pollers,
    @Inject(SETTINGS) settings: Settings,
  ) {
    pollers.register({
      name: 'decommission',
      everyMs: settings.checkSchedulerEverySeconds * 1000,
      wakeOn: ['machines'],
      pass: (now) => this.decommission(now),
    });
    pollers.register({
      name: 'expiring-machines',
      everyMs: settings.checkExpiringUserActionEveryMillis,
      wakeOn: ['expiring'],
      pass: (now) => this.expire(now),
    });
  }

  /** Sends tasks away from machines whose decommission begins; machines that are empty by now are done. */
  async decommission(now: number): Promise<void> {
    for (const kind of kinds) {
      for (const { id } of await this.store.find(this.db.leaderSource.manager, kind, 'STARTING_DECOMMISSION')) {
        await this.each(`decommission of '${id}'`, (tx) => this.begin(tx, kind, id, now));
      }
      for (const { id } of await this.store.find(this.db.leaderSource.manager, kind, 'DECOMMISSIONING')) {
        await this.each(`decommission of '${id}'`, (tx) => this.finish(tx, kind, id, now));
      }
    }
  }

  /** Ends changes whose time is up. Answers when the next one is. */
  async expire(now: number): Promise<number | undefined> {
    const all = await this.expiring.find(this.db.leaderSource.manager);
    for (const lapsing of all.filter((each) => endOf(each) <= now)) {
      await this.each(`change of '${lapsing.machineId}'`, (tx) => this.revert(tx, lapsing, now));
    }
    const next = Math.min(...all.map(endOf).filter((end) => end > now));
    return next === Infinity ? undefined : next;
  }

  /** `work` answers whether it changed anything. */
  private async each(what: string, work: (tx: EntityManager) => Promise<boolean>): Promise<void> {
    try {
      const changed = await this.db.leaderTransaction(async (tx) => {
        await lockFleet(tx);
        return work(tx);
      });
      if (changed) this.wake.signal('scheduler', 'cleanup');
    } catch (cause) {
      this.log.error(`The ${what} is stuck; it is tried again: ${String(cause)}`, cause); // the others still move
    }
  }

  private async begin(tx: EntityManager, kind: MachineKind, id: string, now: number): Promise<boolean> {
    const machine = await this.store.lock(tx, kind, id);
    if (machine?.currentState.state !== 'STARTING_DECOMMISSION') return false;
    const count = await this.tasks.drain(tx, kind, machine.currentState, now);
    const state = count > 0 ? 'DECOMMISSIONING' : 'DECOMMISSIONED';
    await this.store.setState(tx, kind, { ...machine.currentState, state, timestamp: now });
    return true;
  }

  private async finish(tx: EntityManager, kind: MachineKind, id: string, now: number): Promise<boolean> {
    const machine = await this.store.lock(tx, kind, id);
    if (machine?.currentState.state !== 'DECOMMISSIONING') return false;
    if ((await this.tasks.active(tx, kind, id)).length > 0) return false;
    await this.store.setState(tx, kind, { ...machine.currentState, state: 'DECOMMISSIONED', timestamp: now });
    return true;
  }

  private async revert(tx: EntityManager, lapsing: ExpiringMachine, now: number): Promise<boolean> {
    const { kind, machineId, revertToState, startMillis } = lapsing;
    const [stillThere] = await this.expiring.find(tx, { kind, id: machineId });
    if (stillThere?.startMillis !== startMillis) return false;
    await this.expiring.remove(tx, kind, [machineId]);
    const machine = await this.store.lock(tx, kind, machineId);
    const from = machine?.currentState.state;
    if (from === undefined || isInactive(from) || judgeStateChange(from, revertToState) !== 'CHANGED') return false;
    const message = 'Updated due to expiring action';
    await this.store.setState(tx, kind, { objectId: machineId, state: revertToState, timestamp: now, message });
    if (revertToState === 'ACTIVE') await this.tasks.keep(tx, kind, machineId, now);
    if (lapsing.killTasksOnDecommissionTimeout && revertToState === 'DECOMMISSIONED') {
      await this.tasks.kill(tx, kind, machineId, lapsing.user, now);
    }
    return true;
  }
}
