import { Injectable } from '@nestjs/common';
import { Any } from 'typeorm';
import type { CrashLoopInfo } from '../../../core/model/crash-loop.js';
import { replaceRows } from '../../../platform/database/entity-values.js';
import type { Queryable } from '../../../platform/database/queryable.js';
import type { Transaction } from '../../../platform/database/transaction.js';
import { rows } from '../../../platform/database/sql.js';
import { CrashLoopEntity } from './crash-loop.entity.js';

/** The rows of crash loops. Changed by the leader, under the lock on the request's row. */
@Injectable()
export class CrashLoopRepository {
  /** Crash loops of these requests, or of all; by request, newest first. */
  find(tx: Queryable, requestIds?: readonly string[]): Promise<CrashLoopInfo[]> {
    return tx.getRepository(CrashLoopEntity).find({
      where: requestIds ? { requestId: Any(requestIds) } : {},
      order: { requestId: 'ASC', start: 'DESC', type: 'ASC' },
    });
  }

  /**
   * Ids of the requests for which anything could have to be written: they have failures, or loops. By hand: asks three
   * tables.
   */
  async requestsToReview(tx: Queryable): Promise<string[]> {
    const found = await rows<{ id: string }>(
      tx,
      `SELECT r.id FROM request r
       WHERE EXISTS (SELECT 1 FROM crash_loop l WHERE l.request_id = r.id)
         OR r.state IN ('ACTIVE', 'DEPLOYING_TO_UNPAUSE') AND EXISTS (SELECT 1 FROM deploy_statistics s
           WHERE s.request_id = r.id AND s.deploy_id = r.active_deploy_id AND s.failure_events <> '[]')
       ORDER BY r.id`,
    );
    return found.map(({ id }) => id);
  }

  /** A loop that is stored already gets this end, or none. */
  save(tx: Transaction, loops: readonly CrashLoopInfo[]): Promise<void> {
    return replaceRows(tx.getRepository(CrashLoopEntity), loops);
  }

  async remove(tx: Transaction, loops: readonly CrashLoopInfo[]): Promise<void> {
    if (loops.length === 0) return;
    const keys = loops.map(({ requestId, deployId, type, start }) => ({ requestId, deployId, type, start }));
    await tx.getRepository(CrashLoopEntity).delete(keys);
  }

  /** The request is gone. */
  async removeAll(tx: Transaction, requestId: string): Promise<void> {
    await tx.getRepository(CrashLoopEntity).delete({ requestId });
  }
}
