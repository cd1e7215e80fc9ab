import { Injectable } from '@nestjs/common';
import type { SlavePlacement } from '../../core/model/enums.js';
import type { PlacementOverride } from '../../core/placement/index.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { rows } from '../../platform/database/sql.js';
import { PlacementOverrideEntity } from './placement-override.entity.js';

/** The one row of what operators set for the placement of all requests. Wake 'scheduler' after a change is committed. */
@Injectable()
export class PlacementOverrideRepository {
  /** By hand: every round of placement asks. */
  async find(tx: Queryable): Promise<PlacementOverride> {
    const [found] = await rows<{ strategy: SlavePlacement | null; ignored: boolean }>(
      tx,
      'SELECT slave_placement AS strategy, ignores_rack_sensitivity AS ignored FROM placement_override',
    );
    return { slavePlacement: found?.strategy ?? undefined, ignoresRackSensitivity: found?.ignored ?? false };
  }

  /** Columns that are not named stay as they are. */
  async save(
    tx: Transaction,
    change: Partial<Pick<PlacementOverrideEntity, 'slavePlacement' | 'ignoresRackSensitivity'>>,
  ): Promise<void> {
    await tx.getRepository(PlacementOverrideEntity).upsert({ onlyRow: true, ...change }, ['onlyRow']);
  }
}
