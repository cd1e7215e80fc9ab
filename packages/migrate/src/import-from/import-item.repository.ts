import { Injectable } from '@nestjs/common';
import { replaceRows } from '../../../../src/platform/database/entity-values.js';
import type { Queryable } from '../../../../src/platform/database/queryable.js';
import type { Transaction } from '../../../../src/platform/database/transaction.js';
import { ImportItemEntity, type ImportKind } from './import-item.entity.js';
import type { KnownItem } from './take.js';

export interface ImportNote extends Pick<ImportItemEntity, 'kind' | 'key' | 'outcome' | 'fingerprint'> {
  reason?: string;
  version?: number;
  held?: boolean;
}

/**
 * Things that were taken from another installation. That of a request is written under the lock on the request's row.
 */
@Injectable()
export class ImportItemRepository {
  async find(tx: Queryable, kind: ImportKind, key: string): Promise<KnownItem | undefined> {
    const found = await tx.getRepository(ImportItemEntity).findOneBy({ kind, key });
    if (!found) return undefined;
    return {
      outcome: found.outcome,
      fingerprint: found.fingerprint,
      version: found.version === null ? undefined : Number(found.version),
      held: found.held,
      handedOver: found.handedOverAt !== null,
    };
  }

  /** Inserts, or replaces as a whole. */
  note(tx: Transaction, { reason, version, held = false, ...item }: ImportNote, now: number): Promise<void> {
    const row = { ...item, reason: reason ?? null, version: version === undefined ? null : String(version), held };
    return replaceRows(tx.getRepository(ImportItemEntity), [{ ...row, handedOverAt: null, notedAt: new Date(now) }]);
  }

  async noteHandedOver(tx: Transaction, requestId: string, now: number): Promise<void> {
    await tx
      .getRepository(ImportItemEntity)
      .update({ kind: 'REQUEST', key: requestId }, { held: false, handedOverAt: new Date(now) });
  }

  /** Ids of requests that wait to be handed over, in their order. */
  async heldIds(tx: Queryable): Promise<string[]> {
    const found = await tx
      .getRepository(ImportItemEntity)
      .find({ select: { key: true }, where: { kind: 'REQUEST', held: true }, order: { key: 'ASC' } });
    return found.map(({ key }) => key);
  }
}
