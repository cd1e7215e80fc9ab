import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { canLapse, nextMachineStep, type MachineEvent, type MachineStep } from '../../core/machines/machine-life.js';
import { isDecommissioning } from '../../core/machines/machine-state.js';
import type { MachineState } from '../../core/model/enums.js';
import type { MachineKind } from '../../core/model/machine.js';
import { ExpiringMachines } from './expiring-machines.service.js';
import { MachineStore, type MachineStanding } from './machine-store.service.js';
import { MachineTasks } from './machine-tasks.service.js';

/** What is written down about a change. */
export interface ChangeNote {
  now: number;
  user?: string;
  message?: string;
}

/** The one gate through which the state of a known machine changes, with all that follows from the change. */
@Injectable()
export class MachineStates {
  constructor(
    private readonly store: MachineStore,
    private readonly expiring: ExpiringMachines,
    private readonly tasks: MachineTasks,
  ) {}

  /** Under lockFleet, with the row locked in `tx`. Wake 'webhooks' and 'scheduler' after the commit of an 'enter'. */
  async apply(
    tx: EntityManager,
    kind: MachineKind,
    { id, currentState: { state: from } }: MachineStanding,
    event: MachineEvent,
    { now, user, message }: ChangeNote,
  ): Promise<MachineStep> {
    const step = nextMachineStep(from, event);
    if (step.kind !== 'enter') return step;
    await this.store.setState(tx, kind, { objectId: id, state: step.state, timestamp: now, user, message });
    await this.dropImpossibleRevert(tx, kind, id, step.state);
    if (isDecommissioning(from) && step.state === 'ACTIVE') await this.tasks.keep(tx, kind, id, { now, user });
    return step;
  }

  private async dropImpossibleRevert(
    tx: EntityManager,
    kind: MachineKind,
    id: string,
    state: MachineState,
  ): Promise<void> {
    const [lapsing] = await this.expiring.find(tx, { kind, id });
    if (lapsing && !canLapse(state, lapsing.revertToState)) await this.expiring.remove(tx, kind, [id]);
  }
}
