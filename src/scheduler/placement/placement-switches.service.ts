import { Injectable } from '@nestjs/common';
import type { PlacementRules } from '../../core/placement/index.js';
import { PlacementOverrideRepository } from '../../modules/configuration/placement-override.repository.js';
import { PriorityFreezeRepository } from '../../modules/priority/priority-freeze.repository.js';
import { DisabledActions } from '../../platform/actions/disabled-actions.js';
import { Database } from '../../platform/database/database.js';
import type { Transaction } from '../../platform/database/transaction.js';

/** Switches of operators: placing altogether, that of tasks of low priority, or the strategy of all requests. */
@Injectable()
export class PlacementSwitches {
  constructor(
    private readonly db: Database,
    private readonly actions: DisabledActions,
    private readonly freezes: PriorityFreezeRepository,
    private readonly overrides: PlacementOverrideRepository,
  ) {}

  async now(within?: Transaction): Promise<Pick<PlacementRules, 'disabled' | 'minimumPriorityLevel' | 'override'>> {
    const tx = within ?? this.db.pool;
    const [disabled, freeze, override] = await Promise.all([
      this.actions.isDisabled('PROCESS_OFFERS', within),
      this.freezes.active(tx),
      this.overrides.find(tx),
    ]);
    return { disabled, minimumPriorityLevel: freeze?.minimumPriorityLevel, override };
  }
}
