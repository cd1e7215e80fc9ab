import { Inject, Injectable, Logger } from '@nestjs/common';
import type { MachineKind } from '../../core/model/machine.js';
import { hasLapsed } from '../../core/requests/changes.js';
import { concernsAll } from '../../platform/database/database-errors.js';
import { Database } from '../../platform/database/database.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { Pollers } from '../../platform/poller/pollers.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Wake } from '../../platform/wake/wake.js';
import type { ExpiringMachineAction } from '../../platform/actions/expiring-action.entity.js';
import { Rows } from '../../rows.js';
import { MachineStates } from './machine-states.service.js';
import { MachineTasks } from './machine-tasks.service.js';
import { tellFailure } from '../../platform/tell-failure.js';

const kinds: readonly MachineKind[] = ['SLAVE', 'RACK'];

/** Carries decommissions through, and ends changes of machines that lapse. One transaction per machine. */
@Injectable()
export class MachinesPoller {
  private readonly log = new Logger(MachinesPoller.name);

  constructor(
    private readonly db: Database,
    private readonly rows: Rows,
    private readonly states: MachineStates,
    private readonly tasks: MachineTasks,
    private readonly wake: Wake,
    pollers: Pollers,
    @Inject(SETTINGS) settings: Settings,
  ) {
    pollers.register({
      name: 'decommission',
      essential: true,
      everyMs: settings.checkSchedulerEverySeconds * 1000,
      wakeOn: ['machines'],
      pass: (now) => this.decommission(now),
    });
    pollers.register({
      name: 'expiring-machines',
      runsWhile: 'RUN_EXPIRING_ACTION_POLLER',
      everyMs: settings.checkExpiringUserActionEveryMillis,
      wakeOn: ['expiring'],
      pass: (now) => this.expire(now),
    });
  }

  /** Sends tasks away from machines whose decommission has begun; machines that are empty by now are done. */
  async decommission(now: number): Promise<void> {
    for (const kind of kinds) {
      for (const state of ['STARTING_DECOMMISSION', 'DECOMMISSIONING'] as const) {
        for (const { id } of await this.rows.slaves.standings(this.db.leaderPool, kind, state)) {
          await this.each(`decommission of '${id}'`, (tx) => this.drain(tx, kind, id, now));
        }
      }
    }
  }

  /** Ends changes and marks of hosts whose time is up. Answers when the next one is. */
  async expire(now: number): Promise<number | undefined> {
    const all = await this.rows.expiringActions.ofMachines(this.db.leaderPool);
    const isDue = (change: ExpiringMachineAction): boolean => hasLapsed(change.startMillis, change.durationMillis, now);
    for (const lapsing of all.filter(isDue)) {
      await this.each(`change of '${lapsing.targetId}'`, (tx) => this.revert(tx, lapsing, now));
    }
    const ends = all
      .filter((change) => !isDue(change))
      .map(({ startMillis, durationMillis }) => startMillis + durationMillis + 1);
    await this.each('expiry of inactive hosts', (tx) => this.rows.inactiveHosts.removeExpired(tx, now));
    const nextHost = await this.rows.inactiveHosts.nextExpiry(this.db.leaderPool);
    if (nextHost !== undefined) ends.push(nextHost);
    return ends.length > 0 ? ends.reduce((a, b) => Math.min(a, b)) : undefined;
  }

  /** `work` answers whether it changed anything. */
  private async each(what: string, work: (tx: Transaction) => Promise<boolean>): Promise<void> {
    try {
      const changed = await this.db.leaderTransaction(async (tx) => {
        await this.rows.slaves.lockFleet(tx);
        return work(tx);
      });
      if (changed) this.wake.signal('scheduler', 'cleanup', 'webhooks');
    } catch (cause) {
      if (concernsAll(cause)) throw cause;
      tellFailure(this.log, `The ${what} is stuck; it is tried again`, cause); // the others still move
    }
  }

  private async drain(tx: Transaction, kind: MachineKind, id: string, now: number): Promise<boolean> {
    const machine = await this.rows.slaves.lock(tx, kind, id);
    // An operator may have taken it back since it was found.
    const state = machine?.currentState.state;
    if (!machine || (state !== 'STARTING_DECOMMISSION' && state !== 'DECOMMISSIONING')) return false;
    const toldToGo = await this.tasks.drain(tx, kind, machine.currentState, now);
    const event = { kind: 'drained', tasksLeft: await this.tasks.activeCount(tx, kind, id) } as const;
    const { user, message } = machine.currentState;
    const step = await this.states.apply(tx, kind, machine, event, { now, user, message });
    return toldToGo > 0 || step.kind === 'enter';
  }

  private async revert(tx: Transaction, lapsing: ExpiringMachineAction, now: number): Promise<boolean> {
    const { kind, targetId: machineId, revert, startMillis } = lapsing;
    const [stillThere] = await this.rows.expiringActions.ofMachines(tx, { kind, id: machineId });
    if (stillThere?.startMillis !== startMillis) return false;
    await this.rows.expiringActions.removeOfMachines(tx, kind, [machineId]);
    const machine = await this.rows.slaves.lock(tx, kind, machineId);
    if (!machine) return false;
    const message = 'Updated due to expiring action';
    const event = { kind: 'lapsed', revertToState: revert.revertToState } as const;
    const step = await this.states.apply(tx, kind, machine, event, { now, message });
    if (step.kind !== 'enter') return false;
    if (revert.killTasksOnDecommissionTimeout && step.state === 'DECOMMISSIONED') {
      await this.tasks.kill(tx, kind, machineId, lapsing.user, now);
    }
    return true;
  }
}
