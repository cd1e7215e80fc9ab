import { Injectable } from '@nestjs/common';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { rows } from '../../platform/database/sql.js';
import type { LeaderChangeEntity } from './leader-change.entity.js';

/** The notes that triggers leave for the leader. By hand: looked for in every round, tens of times a second. */
@Injectable()
export class LeaderChangeRepository {
  async any(tx: Queryable): Promise<boolean> {
    const [found] = await rows<{ any: boolean }>(tx, 'SELECT EXISTS (SELECT 1 FROM leader_change) AS any');
    return found!.any;
  }

  /** Takes the notes away. Only the leader may: what it takes, no other instance will read. */
  take(tx: Transaction): Promise<Pick<LeaderChangeEntity, 'kind' | 'key'>[]> {
    return rows(tx, 'DELETE FROM leader_change RETURNING kind, key');
  }

  /** Changes of `tx` leave no notes: the leader updates its memory itself. */
  async leaveNone(tx: Transaction): Promise<void> {
    await tx.query(`SELECT set_config('muster.keeps_memory', 'on', true)`);
  }
}
