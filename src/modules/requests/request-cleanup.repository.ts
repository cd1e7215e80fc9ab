import { Injectable } from '@nestjs/common';
import { Any } from 'typeorm';
import type { RequestCleanupType } from '../../core/model/enums.js';
import type { DeleteRequestRequest, RequestCleanup } from '../../core/model/request.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { RequestCleanupEntity } from './request-cleanup.entity.js';

type DeletionManner = Pick<DeleteRequestRequest, 'force' | 'waitForTasks'>;

const bounces: readonly RequestCleanupType[] = ['BOUNCE', 'INCREMENTAL_BOUNCE'];

/** Orders for a whole request (pause, delete, bounce) that the cleanup poller carries out; wake 'cleanup' after the commit. */
@Injectable()
export class RequestCleanupRepository {
  /** First one wins: does nothing and answers false when an order of this type waits already. */
  async create(tx: Queryable, cleanup: RequestCleanup): Promise<boolean> {
    const { raw: written } = await tx
      .getRepository(RequestCleanupEntity)
      .createQueryBuilder()
      .insert()
      .values(cleanup)
      .orIgnore()
      .returning(['requestId'])
      .updateEntity(false)
      .execute();
    return written.length > 0;
  }

  /** A later call may hasten a deletion that waits or gives a grace, and slows none down. */
  async hastenDeletion(tx: Transaction, requestId: string, { force, waitForTasks }: DeletionManner): Promise<void> {
    const of = { requestId, cleanupType: 'DELETING' as const };
    const orders = tx.getRepository(RequestCleanupEntity);
    if (!waitForTasks) await orders.update(of, { waitForTasks: () => 'NULL', ...(force && { force }) });
  }

  /** Oldest first: of one request, or all. */
  find(tx: Queryable, requestId?: string): Promise<RequestCleanup[]> {
    return tx.getRepository(RequestCleanupEntity).find({
      where: requestId === undefined ? {} : { requestId },
      order: { timestamp: 'ASC', requestId: 'ASC', cleanupType: 'ASC' },
    });
  }

  async remove(tx: Transaction, requestId: string, types: readonly RequestCleanupType[]): Promise<void> {
    await tx.getRepository(RequestCleanupEntity).delete({ requestId, cleanupType: Any(types) });
  }

  /**
   * The orders for a bounce that was asked for under this id. Ids of actions are chosen by callers: another order under
   * the same one, such as a deletion, is not meant.
   */
  async removeBounce(tx: Transaction, requestId: string, actionId: string): Promise<void> {
    await tx.getRepository(RequestCleanupEntity).delete({ requestId, actionId, cleanupType: Any(bounces) });
  }

  /** The request is gone: later orders, such as a bounce, have lost their object. */
  async removeAll(tx: Transaction, requestId: string): Promise<void> {
    await tx.getRepository(RequestCleanupEntity).delete({ requestId });
  }
}
