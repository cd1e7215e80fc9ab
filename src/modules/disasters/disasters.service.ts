import { Inject, Injectable } from '@nestjs/common';
import {
  actionsToDisable,
  canBeDisabled,
  disabledMessage,
  disableRules,
  mayExceptGroups,
} from '../../core/disasters/index.js';
import type { DisabledAction, DisasterDataPoint, DisastersData, ShownDataPoint } from '../../core/model/state.js';
import { disasterTypes, type ActionType, type DisasterType } from '../../core/model/enums.js';
import { DisabledActionRepository } from '../../platform/actions/disabled-action.repository.js';
import { DisabledActions } from '../../platform/actions/disabled-actions.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { SchedulerError } from '../../platform/errors.js';
import type { Caller } from '../../platform/http/caller.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Wake } from '../../platform/wake/wake.js';
import { DisasterRepository } from './disaster.repository.js';

/** Orders of operators about disasters and disabled actions. */
@Injectable()
export class DisastersService {
  constructor(
    private readonly db: Database,
    private readonly store: DisasterRepository,
    private readonly disabled: DisabledActions,
    private readonly actions: DisabledActionRepository,
    private readonly clock: Clock,
    private readonly wake: Wake,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  active(): Promise<DisasterType[]> {
    return this.store.active(this.db.pool);
  }

  /** Declares a disaster, whether or not the figures show one. */
  activate(type: DisasterType): Promise<void> {
    return this.change(async (tx) => {
      const now = this.clock.now();
      const types = [...new Set([...(await this.store.active(tx)), type])];
      await this.store.replaceActive(tx, types, now);
      await this.actions.disableBecauseOfDisaster(tx, actionsToDisable(types, disableRules(this.settings), now));
    });
  }

  /** Ends a disaster. Actions that wait for the end of all disasters come back with the last one. */
  deactivate(type: DisasterType): Promise<void> {
    return this.change(async (tx) => {
      const left = (await this.store.active(tx)).filter((other) => other !== type);
      await this.store.replaceActive(tx, left, this.clock.now());
      if (left.length === 0) await this.actions.enableClearable(tx);
    });
  }

  disabledActions(): Promise<DisabledAction[]> {
    return this.disabled.list();
  }

  disable(
    type: ActionType,
    { reason, exceptGroups }: { reason?: string; exceptGroups?: string[] },
    { id: user }: Caller,
  ): Promise<void> {
    if (!canBeDisabled(type)) {
      const message = `action ${type} cannot be disabled`;
      throw SchedulerError.invalid('INVALID_PARAMETER', [{ field: 'action', rule: 'canBeDisabled', message }]);
    }
    if (exceptGroups && !mayExceptGroups(type)) {
      const text = `exceptGroups is for action DEPLOY only, not for ${type}`;
      throw SchedulerError.invalid('INVALID_PARAMETER', [{ field: 'exceptGroups', rule: 'action', message: text }]);
    }
    const message = disabledMessage(type, reason);
    const disabled = { type, message, user, automaticallyClearable: false, exceptGroups };
    return this.change((tx) => this.actions.disable(tx, disabled));
  }

  enable(action: ActionType): Promise<void> {
    return this.change((tx) => this.actions.enable(tx, action));
  }

  /** Allows or forbids the detection to switch actions off. */
  async setAutomated(enabled: boolean): Promise<void> {
    await this.db.transaction((tx) => this.store.setAutomated(tx, enabled));
  }

  stats(): Promise<DisastersData> {
    return this.db.snapshot(async (tx) => {
      const active = await this.store.active(tx);
      return {
        stats: (await this.store.dataPoints(tx)).map(shown),
        disasters: disasterTypes.map((type) => ({ type, active: active.includes(type) })),
        automatedActionsDisabled: !(await this.store.isAutomated(tx)),
      };
    });
  }

  /** Makes changes to what is switched off one after the other. */
  private async change(work: (tx: Transaction) => Promise<void>): Promise<void> {
    await this.db.transaction(async (tx) => {
      await this.store.lock(tx);
      await work(tx);
    });
    this.wake.signal('actions');
  }
}

const shown = (point: DisasterDataPoint): ShownDataPoint => ({
  ...point,
  numActiveAgents: point.numActiveSlaves,
  numLostAgents: point.numLostSlaves,
});
