import { Inject, Injectable } from '@nestjs/common';
import { DisabledActions } from '../../../platform/actions/disabled-actions.js';
import type { Queryable } from '../../../platform/database/queryable.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';

/** The settings that health is judged by, with whether operators switched health checks off. */
@Injectable()
export class HealthSwitch {
  /** Put together once: there are hundreds of settings, and health is looked at all the time. */
  private readonly on: HealthSettings;
  private readonly off: HealthSettings;

  constructor(
    private readonly actions: DisabledActions,
    @Inject(SETTINGS) settings: Settings,
  ) {
    this.on = { ...settings, healthchecksDisabled: false };
    this.off = { ...settings, healthchecksDisabled: true };
  }

  /** For tasks without checks, to which it makes no difference. */
  get unlessSwitched(): HealthSettings {
    return this.on;
  }

  async inForce(tx: Queryable): Promise<HealthSettings> {
    return (await this.actions.isDisabled('RUN_HEALTH_CHECKS', tx)) ? this.off : this.on;
  }
}

type HealthSettings = Settings & { readonly healthchecksDisabled: boolean };
