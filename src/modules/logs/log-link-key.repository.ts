import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { Transaction } from '../../platform/database/transaction.js';
import { LogLinkKeyEntity } from './log-link-key.entity.js';

const keyBytes = 32;

/** The key of links to kept logs, which is equal for all instances. */
@Injectable()
export class LogLinkKeyRepository {
  /** The first instance that needs it makes it. */
  async key(tx: Transaction): Promise<Buffer> {
    const keys = tx.getRepository(LogLinkKeyEntity);
    const kept = await keys.findOneBy({ onlyRow: true });
    if (kept) return kept.key;
    const made = { onlyRow: true, key: randomBytes(keyBytes) };
    await keys.createQueryBuilder().insert().values(made).orIgnore().updateEntity(false).execute();
    return (await keys.findOneByOrFail({ onlyRow: true })).key;
  }
}
