import { Injectable } from '@nestjs/common';
import type { PlacementRules } from '../../core/placement/index.js';
import { PlacementOverrideRepository } from '../../modules/configuration/placement-override.repository.js';
import { PriorityFreezeRepository } from '../../modules/priority/priority-freeze.repository.js';
import { DisabledActions } from '../../platform/actions/disabled-actions.js';
import { Database } from '../../platform/database/database.js';

/** Switches of operators: placing altogether, that of tasks of low priority, or the strategy of all requests. */
@Injectable()
export class PlacementSwitches {
  constructor(
    private readonly db: Database,
    private readonly actions: DisabledActions,
    private readonly freezes: PriorityFreezeRepository,
    private readonly overrides: PlacementOverrideRepository,
  ) {}

  async now(): Promise<Pick<PlacementRules, 'disabled' | 'minimumPriorityLevel' | 'override'>> {
    const [disabled, freeze, override] = await Promise.all([
      this.actions.isDisabled('PROCESS_OFFERS'),
      this.freezes.active(this.db.pool),
      this.overrides.find(this.db.pool),
    ]);
    return { disabled, minimumPriorityLevel: freeze?.minimumPriorityLevel, override };
  }
}
