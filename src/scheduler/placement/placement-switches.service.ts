import { Injectable } from '@nestjs/common';
import type { PlacementRules } from '../../core/placement/index.js';
import { PriorityFreezeRepository } from '../../modules/priority/priority-freeze.repository.js';
import { DisabledActions } from '../../platform/actions/disabled-actions.js';
import { Database } from '../../platform/database/database.js';

/** What operators have switched: placing altogether, or that of tasks of low priority. */
@Injectable()
export class PlacementSwitches {
  constructor(
    private readonly db: Database,
    private readonly actions: DisabledActions,
    private readonly freezes: PriorityFreezeRepository,
  ) {}

  async now(): Promise<Pick<PlacementRules, 'disabled' | 'minimumPriorityLevel'>> {
    const [disabled, freeze] = await Promise.all([
      this.actions.isDisabled('PROCESS_OFFERS'),
      this.freezes.active(this.db.manager),
    ]);
    return { disabled, minimumPriorityLevel: freeze?.minimumPriorityLevel };
  }
}
