import { Injectable } from '@nestjs/common';
import { In } from 'typeorm';
import type { AutoscaleState } from '../../../core/model/autoscale.js';
import { replaceRows } from '../../../platform/database/entity-values.js';
import type { Queryable } from '../../../platform/database/queryable.js';
import type { Transaction } from '../../../platform/database/transaction.js';
import { AutoscaleEntity } from './autoscale.entity.js';

/** The newest decision of autoscaling about each request. Written under the lock on the request's row. */
@Injectable()
export class AutoscaleRepository {
  /** By request id; requests that were not looked at yet are left out. */
  async find(tx: Queryable, requestIds: readonly string[]): Promise<Map<string, AutoscaleState>> {
    const found = await tx.getRepository(AutoscaleEntity).findBy({ requestId: In([...requestIds]) });
    return new Map(found.map(({ requestId, ...state }) => [requestId, state]));
  }

  save(tx: Transaction, requestId: string, state: AutoscaleState): Promise<void> {
    return replaceRows(tx.getRepository(AutoscaleEntity), [{ requestId, ...state }]);
  }

  async remove(tx: Transaction, requestId: string): Promise<void> {
    await tx.getRepository(AutoscaleEntity).delete({ requestId });
  }
}
