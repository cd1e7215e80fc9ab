import { Injectable } from '@nestjs/common';
import { DatabasePool } from '../database/pool.js';
import { hasExpired, isExcepted } from '../../core/disasters/index.js';
import type { DisabledAction } from '../../core/model/state.js';
import type { ActionType } from '../../core/model/enums.js';
import { Clock } from '../clock.js';
import { SchedulerError } from '../errors.js';
import { Wake } from '../wake/wake.js';
import { DisabledActionRepository } from './disabled-action.repository.js';
import type { Queryable } from '../database/queryable.js';
import type { Transaction } from '../database/transaction.js';

/** Longest age of an answer where the message that something was switched got lost. */
const keptMillis = 1_000;

/** The members of a disabled action that a refusal needs. */
export type SwitchedOff = Pick<DisabledAction, 'message' | 'expiresAt'>;

interface Reading {
  at: number;
  actions: Promise<ReadonlyMap<ActionType, DisabledAction>>;
}

/**
 * The actions that operators, or the detection of disasters, switched off. Asked often, so an answer is kept for a
 * second, or until 'actions' is signalled, which every writer of the table does after its commit. Within a transaction
 * pass it as `tx`: waiting for another connection while holding one, and locks, might never end.
 */
@Injectable()
export class DisabledActions {
  private reading: Reading | undefined;

  constructor(
    private readonly pool: DatabasePool,
    private readonly clock: Clock,
    wake: Wake,
    private readonly store: DisabledActionRepository,
  ) {
    wake.on('actions', () => {
      this.reading = undefined;
    });
  }

  /** The record of the action if it is switched off; undefined: it is not. */
  async find(action: ActionType, tx?: Queryable): Promise<DisabledAction | undefined> {
    return this.findIn(await (tx ? this.store.all(tx) : this.read()), action);
  }

  async isDisabled(action: ActionType, tx?: Queryable): Promise<boolean> {
    return (await this.find(action, tx)) !== undefined;
  }

  /** Fails with 409 and the reason while the action is switched off. */
  async refuse(action: ActionType, tx?: Transaction): Promise<void> {
    this.refuseIn(await (tx ? this.store.all(tx) : this.read()), action);
  }

  /** Fails with 409 and the reason while the action is switched off for requests of this group. */
  async refuseFor(group: string | undefined, action: ActionType, tx: Transaction): Promise<void> {
    const disabled = await this.find(action, tx);
    if (disabled && !isExcepted(disabled, group)) throw new SchedulerError('ACTION_DISABLED', disabled.message);
  }

  /** Fails with 409 and the reason while the action is switched off for requests of all groups. */
  async refuseForAll(action: ActionType): Promise<void> {
    const disabled = await this.find(action);
    if (disabled && !disabled.exceptGroups) throw new SchedulerError('ACTION_DISABLED', disabled.message);
  }

  /** Refuses by actions that were read already. */
  refuseIn(switchedOff: ReadonlyMap<ActionType, SwitchedOff>, action: ActionType): void {
    const disabled = this.findIn(switchedOff, action);
    if (disabled) throw new SchedulerError('ACTION_DISABLED', disabled.message);
  }

  /** All that are switched off, in the order of their names. */
  async list(): Promise<DisabledAction[]> {
    const now = this.clock.now();
    return [...(await this.store.all(this.pool)).values()].filter((disabled) => !hasExpired(disabled, now));
  }

  private findIn<Found extends SwitchedOff>(
    switchedOff: ReadonlyMap<ActionType, Found>,
    action: ActionType,
  ): Found | undefined {
    const found = switchedOff.get(action);
    return found && !hasExpired(found, this.clock.now()) ? found : undefined;
  }

  private read(): Promise<ReadonlyMap<ActionType, DisabledAction>> {
    if (this.reading && performance.now() - this.reading.at < keptMillis) return this.reading.actions;
    const reading: Reading = { at: performance.now(), actions: this.store.all(this.pool) };
    this.reading = reading;
    reading.actions.catch(() => {
      // Nothing is known: the next one asks again.
      if (this.reading === reading) this.reading = undefined;
    });
    return reading.actions;
  }
}
