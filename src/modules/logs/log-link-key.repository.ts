import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { onlyRow } from '../../platform/database/only-row.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { LogLinkKeyEntity } from './log-link-key.entity.js';

const keyBytes = 32;

/** The key of links to kept logs, which is equal for all instances. */
@Injectable()
export class LogLinkKeyRepository {
  async key(tx: Transaction): Promise<Buffer> {
    return (await onlyRow(tx.getRepository(LogLinkKeyEntity), () => ({ key: randomBytes(keyBytes) }))).key;
  }
}
