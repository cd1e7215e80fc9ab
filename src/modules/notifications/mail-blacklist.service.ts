import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { rows } from '../../platform/database/sql.js';

/** The rows of addresses that want no mail, spelt as their owners did. */
@Injectable()
export class MailBlacklist {
  /** In alphabetical order. */
  async list(tx: EntityManager): Promise<string[]> {
    const found = await rows<{ address: string }>(tx, 'SELECT address FROM mail_blacklist ORDER BY address');
    return found.map((row) => row.address);
  }

  /** Once, however it is spelt. */
  async add(tx: EntityManager, address: string): Promise<void> {
    await tx.query(
      `INSERT INTO mail_blacklist (address) SELECT $1
       WHERE NOT EXISTS (SELECT 1 FROM mail_blacklist WHERE lower(address) = lower($1)) ON CONFLICT DO NOTHING`,
      [address],
    );
  }

  /** In whatever letters it was added: people do not remember, and mail servers do not mind. */
  async remove(tx: EntityManager, address: string): Promise<void> {
    await tx.query('DELETE FROM mail_blacklist WHERE lower(address) = lower($1)', [address]);
  }
}
