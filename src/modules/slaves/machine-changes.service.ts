import { Inject, Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import type { EntityManager } from 'typeorm';
import { checkLapsingChange } from '../../core/machines/machine-change.js';
import { isDecommissioning, judgeStateChange } from '../../core/machines/machine-state.js';
import type { ExpiringMachineState, MachineChangeRequest } from '../../core/model/machine.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import { rows } from '../../platform/database/sql.js';
import { SchedulerError } from '../../platform/errors.js';
import type { Caller } from '../../platform/http/caller.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Wake } from '../../platform/wake/wake.js';
import { ExpiringMachines, toExpiringState } from './expiring-machines.service.js';
import { lockFleet } from './fleet-lock.js';
import { kindText, MachineStore, type MachineKind, type MachineStanding } from './machine-store.service.js';
import { MachineTasks } from './machine-tasks.service.js';

export type OperatorState = 'ACTIVE' | 'FROZEN' | 'STARTING_DECOMMISSION';

/** What operators decide about machines. */
@Injectable()
export class MachineChanges {
  constructor(
    private readonly db: Database,
    private readonly store: MachineStore,
    private readonly expiring: ExpiringMachines,
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
    const problem = checkLapsingChange(target, asked);
    if (problem) throw SchedulerError.invalid('INVALID_REQUEST', [problem]);
    await this.db.transaction(async (tx) => {
      await lockFleet(tx);
      await this.checkRoom(tx, kind, id, target, asked);
      await this.enter(tx, kind, id, target, asked, caller);
    });
    this.wake.signal('machines', 'scheduler', 'expiring');
  }

  /** Erases record and history; a decommission is cancelled. A machine that still answers is taken for a new one. */
  async remove(kind: MachineKind, id: string): Promise<void> {
    await this.db.transaction(async (tx) => {
      await lockFleet(tx);
      const { currentState } = await this.lock(tx, kind, id);
      if (isDecommissioning(currentState.state)) await this.tasks.keep(tx, kind, id, this.clock.now());
      await this.forget(tx, kind, [id]);
    });
    this.wake.signal('machines', 'scheduler');
  }

  async removeDead(kind: MachineKind): Promise<void> {
    await this.db.transaction(async (tx) => {
      await lockFleet(tx);
      const dead = await this.store.find(tx, kind, 'DEAD');
      await this.forget(
        tx,
        kind,
        dead.map((machine) => machine.id),
      );
    });
  }

  /** Makes a change that would lapse permanent. */
  async makePermanent(kind: MachineKind, id: string): Promise<void> {
    await this.db.transaction((tx) => this.expiring.remove(tx, kind, [id]));
  }

  async lapsing(kind: MachineKind): Promise<ExpiringMachineState[]> {
    return (await this.expiring.find(this.db.manager, { kind })).map(toExpiringState);
  }

  private async checkRoom(
    tx: EntityManager,
    kind: MachineKind,
    id: string,
    target: OperatorState,
    { durationMillis }: MachineChangeRequest,
  ): Promise<void> {
    if (durationMillis !== undefined && (await this.expiring.find(tx, { kind, id })).length > 0) {
      const message = `The ${kindText(kind)} '${id}' already has a change that lapses; remove it first`;
      throw new SchedulerError('MACHINE_STATE', message);
    }
    if (target !== 'STARTING_DECOMMISSION') return;
    const [found] = await rows<{ count: number }>(
      tx,
      `SELECT count(*)::int AS count FROM slave WHERE state IN ('STARTING_DECOMMISSION', 'DECOMMISSIONING')`,
    );
    const { maxDecommissioningSlaves } = this.settings;
    if (found!.count < maxDecommissioningSlaves) return;
    const message = `${found!.count} slaves are being decommissioned already, at most ${maxDecommissioningSlaves} may be at once`;
    throw new SchedulerError('INVALID_REQUEST', message);
  }

  private async enter(
    tx: EntityManager,
    kind: MachineKind,
    id: string,
    state: OperatorState,
    asked: MachineChangeRequest,
    { email: user }: Caller,
  ): Promise<void> {
    const { currentState } = await this.lock(tx, kind, id);
    const from = currentState.state;
    const judged = judgeStateChange(from, state);
    if (judged !== 'CHANGED') {
      const what = judged === 'ALREADY_AT_STATE' ? `is ${state} already` : `cannot become ${state}: it is ${from}`;
      throw new SchedulerError('MACHINE_STATE', `The ${kindText(kind)} '${id}' ${what}`);
    }
    const now = this.clock.now();
    await this.store.setState(tx, kind, { objectId: id, state, timestamp: now, user, message: asked.message });
    if (isDecommissioning(from) && state === 'ACTIVE') await this.tasks.keep(tx, kind, id, now);
    await this.dropImpossibleRevert(tx, kind, id, state);
    if (asked.durationMillis === undefined) return;
    await this.expiring.insert(tx, {
      kind,
      machineId: id,
      user,
      startMillis: now,
      durationMillis: asked.durationMillis,
      actionId: asked.actionId ?? randomUUID(),
      asked,
      revertToState: asked.revertToState!,
      killTasksOnDecommissionTimeout: asked.killTasksOnDecommissionTimeout ?? false,
    });
  }

  private async dropImpossibleRevert(
    tx: EntityManager,
    kind: MachineKind,
    id: string,
    state: OperatorState,
  ): Promise<void> {
    const [former] = await this.expiring.find(tx, { kind, id });
    if (former && judgeStateChange(state, former.revertToState) !== 'CHANGED') {
      await this.expiring.remove(tx, kind, [id]);
    }
  }

  private async lock(tx: EntityManager, kind: MachineKind, id: string): Promise<MachineStanding> {
    const machine = await this.store.lock(tx, kind, id);
    if (!machine) throw new SchedulerError('MACHINE_NOT_FOUND', `No ${kindText(kind)} with id '${id}'`);
    return machine;
  }

  private async forget(tx: EntityManager, kind: MachineKind, ids: readonly string[]): Promise<void> {
    await this.store.remove(tx, kind, ids);
    await this.expiring.remove(tx, kind, ids);
  }
}
