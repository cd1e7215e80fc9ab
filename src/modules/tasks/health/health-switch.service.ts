import { Inject, Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { DisabledActions } from '../../../platform/actions/disabled-actions.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';

/** The settings that health is judged by, with whether operators switched health checks off. */
@Injectable()
export class HealthSwitch {
  constructor(
    private readonly actions: DisabledActions,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  async inForce(tx: EntityManager): Promise<Settings & { healthchecksDisabled: boolean }> {
    return { ...this.settings, healthchecksDisabled: await this.actions.isDisabled('RUN_HEALTH_CHECKS', tx) };
  }
}
