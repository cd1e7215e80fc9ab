import { Injectable } from '@nestjs/common';
import {
  canLapse,
  isDecommissioning,
  type MachineEvent,
  type MachineStep,
  nextMachineStep,
} from '../../core/machines/machine-life.js';
import type { MachineState } from '../../core/model/enums.js';
import type { MachineKind } from '../../core/model/machine.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { ExpiringActionRepository } from '../../platform/actions/expiring-action.repository.js';
import { MachineTasks } from './machine-tasks.service.js';
import { SlaveRepository, type MachineStanding } from './slave.repository.js';

/** Details of a change that are recorded with it. */
export interface MachineChangeNote {
  now: number;
  user?: string;
  message?: string;
}

/** The one gate through which the state of a known machine changes, with all that follows from the change. */
@Injectable()
export class MachineStates {
  constructor(
    private readonly slaves: SlaveRepository,
    private readonly expiring: ExpiringActionRepository,
    private readonly tasks: MachineTasks,
  ) {}

  /** Under lockFleet, with the row locked in `tx`. Wake 'webhooks' and 'scheduler' after the commit of an 'enter'. */
  async apply(
    tx: Transaction,
    kind: MachineKind,
    { id, currentState: { state: from } }: MachineStanding,
    event: MachineEvent,
    { now, user, message }: MachineChangeNote,
  ): Promise<MachineStep> {
    const step = nextMachineStep(from, event);
    if (step.kind !== 'enter') return step;
    await this.slaves.setState(tx, kind, { objectId: id, state: step.state, timestamp: now, user, message });
    await this.dropImpossibleRevert(tx, kind, id, step.state);
    if (isDecommissioning(from) && step.state === 'ACTIVE') await this.tasks.keep(tx, kind, id, { now, user });
    return step;
  }

  private async dropImpossibleRevert(
    tx: Transaction,
    kind: MachineKind,
    id: string,
    state: MachineState,
  ): Promise<void> {
    const [lapsing] = await this.expiring.ofMachines(tx, { kind, id });
    if (lapsing && !canLapse(state, lapsing.revert.revertToState)) await this.expiring.removeOfMachines(tx, kind, [id]);
  }
}
