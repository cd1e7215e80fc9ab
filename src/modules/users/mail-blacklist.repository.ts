import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { MailBlacklistEntity } from './mail-blacklist.entity.js';

/** The rows of addresses that want no mail, spelt as their owners did. */
@Injectable()
export class MailBlacklistRepository {
  /** In alphabetical order. */
  async list(tx: EntityManager): Promise<string[]> {
    const found = await tx.getRepository(MailBlacklistEntity).find({ order: { address: 'ASC' } });
    return found.map(({ address }) => address);
  }

  /** Once, however it is spelt. By hand: TypeORM has no INSERT whose values depend on a condition. */
  async add(tx: EntityManager, address: string): Promise<void> {
    await tx.query(
      `INSERT INTO mail_blacklist (address) SELECT $1
       WHERE NOT EXISTS (SELECT 1 FROM mail_blacklist WHERE lower(address) = lower($1)) ON CONFLICT DO NOTHING`,
      [address],
    );
  }

  /** In whatever letters it was added: people forget the letters, and mail servers ignore them. */
  async remove(tx: EntityManager, address: string): Promise<void> {
    await tx
      .createQueryBuilder()
      .delete()
      .from(MailBlacklistEntity)
      .where('lower(address) = lower(:address)', { address })
      .execute();
  }
}
