import { Inject, Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import {
  checkLapsingChange,
  isDecommissioning,
  type MachineStep,
  nextMachineStep,
} from '../../core/machines/machine-life.js';
import type {
  ExpiringMachineState,
  MachineChangeRequest,
  MachineKind,
  OperatorState,
} from '../../core/model/machine.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { SchedulerError } from '../../platform/errors.js';
import type { Caller } from '../../platform/http/caller.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Wake } from '../../platform/wake/wake.js';
import type { ExpiringMachineAction } from '../../platform/actions/expiring-action.entity.js';
import { ExpiringActionRepository } from '../../platform/actions/expiring-action.repository.js';
import { MachineRemoval } from './machine-removal.service.js';
import { MachineStates, type MachineChangeNote } from './machine-states.service.js';
import { MachineTasks } from './machine-tasks.service.js';
import { kindText, SlaveRepository, type MachineStanding } from './slave.repository.js';

/** Changes of machines by operators. */
@Injectable()
export class MachineChanges {
  constructor(
    private readonly db: Database,
    private readonly slaves: SlaveRepository,
    private readonly states: MachineStates,
    private readonly removal: MachineRemoval,
    private readonly expiring: ExpiringActionRepository,
    private readonly tasks: MachineTasks,
    private readonly clock: Clock,
    private readonly wake: Wake,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** Puts a machine into a state, for good or until the change lapses. */
  async change(
    kind: MachineKind,
    id: string,
    target: OperatorState,
    asked: MachineChangeRequest,
    caller: Caller,
  ): Promise<void> {
    checkLapse(target, asked);
    await this.db.transaction(async (tx) => {
      await this.slaves.lockFleet(tx);
      await this.checkRoom(tx, kind, id, target, asked);
      await this.enter(tx, kind, id, target, asked, caller);
    });
    this.wake.signal('machines', 'scheduler', 'expiring', 'webhooks');
  }

  /** Refuses what `change` would refuse. Locks nothing, so it is for plans. */
  async check(
    tx: Transaction,
    kind: MachineKind,
    id: string,
    target: OperatorState,
    asked: MachineChangeRequest,
  ): Promise<void> {
    checkLapse(target, asked);
    await this.checkRoom(tx, kind, id, target, asked);
    const machine = await this.slaves.standing(tx, kind, id);
    if (!machine) throw SchedulerError.machineNotFound(kindText(kind), id);
    refuseStep(kind, machine, target, nextMachineStep(machine.currentState.state, { kind: 'asked', state: target }));
  }

  /** The decommission goes on; only when and how it lapses is new. */
  async updateDecommission(id: string, asked: MachineChangeRequest, caller: Caller): Promise<void> {
    checkLapse('STARTING_DECOMMISSION', asked);
    await this.db.transaction(async (tx) => {
      await this.slaves.lockFleet(tx);
      const { state } = (await this.lock(tx, 'SLAVE', id)).currentState;
      if (!isDecommissioning(state)) {
        throw new SchedulerError('MACHINE_STATE', `The slave '${id}' is not being decommissioned: it is ${state}`);
      }
      await this.expiring.removeOfMachines(tx, 'SLAVE', [id]);
      await this.letLapse(tx, 'SLAVE', id, asked, { now: this.clock.now(), user: caller.email });
    });
    this.wake.signal('expiring');
  }

  /** Erases record and history; a decommission is cancelled. A machine that the cluster still lists is stored as a new one. */
  async remove(kind: MachineKind, id: string, { email: user }: Caller): Promise<void> {
    await this.db.transaction(async (tx) => {
      await this.slaves.lockFleet(tx);
      const { currentState } = await this.lock(tx, kind, id);
      if (isDecommissioning(currentState.state)) await this.tasks.keep(tx, kind, id, { now: this.clock.now(), user });
      await this.removal.remove(tx, kind, [id]);
    });
    this.wake.signal('fleet', 'scheduler', 'webhooks');
  }

  async removeDead(kind: MachineKind): Promise<void> {
    await this.db.transaction(async (tx) => {
      await this.slaves.lockFleet(tx);
      const dead = await this.slaves.standings(tx, kind, 'DEAD');
      await this.removal.remove(
        tx,
        kind,
        dead.map((machine) => machine.id),
      );
    });
    this.wake.signal('scheduler');
  }

  /** Makes a change that would lapse permanent. */
  async makePermanent(kind: MachineKind, id: string): Promise<void> {
    await this.db.transaction((tx) => this.expiring.removeOfMachines(tx, kind, [id]));
  }

  async lapsing(kind: MachineKind): Promise<ExpiringMachineState[]> {
    return (await this.expiring.ofMachines(this.db.pool, { kind })).map(toExpiringState);
  }

  private async checkRoom(
    tx: Transaction,
    kind: MachineKind,
    id: string,
    target: OperatorState,
    { durationMillis }: MachineChangeRequest,
  ): Promise<void> {
    if (durationMillis !== undefined && (await this.expiring.ofMachines(tx, { kind, id })).length > 0) {
      const message = `The ${kindText(kind)} '${id}' already has a change that lapses; remove it first`;
      throw new SchedulerError('MACHINE_STATE', message);
    }
    if (target !== 'STARTING_DECOMMISSION') return;
    const count = await this.slaves.decommissioningCount(tx);
    const { maxDecommissioningSlaves } = this.settings;
    if (count < maxDecommissioningSlaves) return;
    const message = `${count} slaves are being decommissioned already, at most ${maxDecommissioningSlaves} may be at once`;
    throw new SchedulerError('INVALID_REQUEST', message);
  }

  private async enter(
    tx: Transaction,
    kind: MachineKind,
    id: string,
    state: OperatorState,
    asked: MachineChangeRequest,
    { email: user }: Caller,
  ): Promise<void> {
    const machine = await this.lock(tx, kind, id);
    const now = this.clock.now();
    const note = { now, user, message: asked.message };
    refuseStep(kind, machine, state, await this.states.apply(tx, kind, machine, { kind: 'asked', state }, note));
    await this.letLapse(tx, kind, id, asked, note);
  }

  private async letLapse(
    tx: Transaction,
    kind: MachineKind,
    id: string,
    asked: MachineChangeRequest,
    { now, user }: MachineChangeNote,
  ): Promise<void> {
    if (asked.durationMillis === undefined) return;
    await this.expiring.insertOfMachine(tx, {
      kind,
      targetId: id,
      user,
      startMillis: now,
      durationMillis: asked.durationMillis,
      actionId: asked.actionId ?? randomUUID(),
      document: asked,
      revert: {
        revertToState: asked.revertToState!,
        killTasksOnDecommissionTimeout: asked.killTasksOnDecommissionTimeout ?? false,
      },
    });
  }

  private async lock(tx: Transaction, kind: MachineKind, id: string): Promise<MachineStanding> {
    const machine = await this.slaves.lock(tx, kind, id);
    if (!machine) throw SchedulerError.machineNotFound(kindText(kind), id);
    return machine;
  }
}

function checkLapse(target: OperatorState, asked: MachineChangeRequest): void {
  const problem = checkLapsingChange(target, asked);
  if (problem) throw SchedulerError.invalid('INVALID_REQUEST', [problem]);
}

function refuseStep(kind: MachineKind, machine: MachineStanding, state: OperatorState, step: MachineStep): void {
  if (step.kind !== 'refuse') return;
  const isSame = step.because === 'ALREADY_AT_STATE';
  const what = isSame ? `is ${state} already` : `cannot become ${state}: it is ${machine.currentState.state}`;
  throw new SchedulerError('MACHINE_STATE', `The ${kindText(kind)} '${machine.id}' ${what}`);
}

const toExpiringState = (expiring: ExpiringMachineAction): ExpiringMachineState => ({
  user: expiring.user,
  startMillis: expiring.startMillis,
  actionId: expiring.actionId,
  expiringAPIRequestObject: { killTasksOnDecommissionTimeout: false, ...expiring.document },
  machineId: expiring.targetId,
  ...expiring.revert,
});
