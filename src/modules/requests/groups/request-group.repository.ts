import { Injectable } from '@nestjs/common';
import { ArrayContains, IsNull, Not } from 'typeorm';
import { replaceRows } from '../../../platform/database/entity-values.js';
import type { Queryable } from '../../../platform/database/queryable.js';
import type { Transaction } from '../../../platform/database/transaction.js';
import { RequestGroupEntity } from './request-group.entity.js';

/** The rows of groups. */
@Injectable()
export class RequestGroupRepository {
  /** In the order of ids. */
  list(tx: Queryable): Promise<RequestGroupEntity[]> {
    return tx.getRepository(RequestGroupEntity).find({ order: { id: 'ASC' } });
  }

  find(tx: Queryable, id: string): Promise<RequestGroupEntity | null> {
    return tx.getRepository(RequestGroupEntity).findOneBy({ id });
  }

  /** Groups of a request that have windows for deploys, in the order of ids. */
  withWindows(tx: Queryable, requestId: string): Promise<RequestGroupEntity[]> {
    return tx.getRepository(RequestGroupEntity).find({
      where: { requestIds: ArrayContains([requestId]), deployWindows: Not(IsNull()) },
      order: { id: 'ASC' },
    });
  }

  /** Until `tx` ends no other call replaces the group, nor makes it. Before the locks of its requests. */
  async lockId(tx: Transaction, id: string): Promise<void> {
    await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 7100))', [id]);
  }

  /** Inserts, or replaces as a whole. */
  save(tx: Transaction, group: RequestGroupEntity): Promise<void> {
    return replaceRows(tx.getRepository(RequestGroupEntity), [group]);
  }

  async remove(tx: Transaction, id: string): Promise<void> {
    await tx.getRepository(RequestGroupEntity).delete({ id });
  }
}
