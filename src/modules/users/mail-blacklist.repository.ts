import { Injectable } from '@nestjs/common';
import { MailAllowlistEntity, MailBlacklistEntity } from './mail-blacklist.entity.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';

/** The rows of addresses that want no mail, and of those that want it, spelt as their owners did. An address is in one of them. */
@Injectable()
export class MailBlacklistRepository {
  /** In alphabetical order. */
  list(tx: Queryable): Promise<string[]> {
    return addresses(tx, MailBlacklistEntity);
  }

  /** Addresses whose owners subscribed, in alphabetical order. */
  subscribed(tx: Queryable): Promise<string[]> {
    return addresses(tx, MailAllowlistEntity);
  }

  /** Addresses among these whose owners want no mail, in small letters. */
  unwanted(tx: Queryable, among: readonly string[]): Promise<Set<string>> {
    return listed(tx, MailBlacklistEntity, among);
  }

  /** Addresses among these whose owners subscribed, in small letters. */
  wanted(tx: Queryable, among: readonly string[]): Promise<Set<string>> {
    return listed(tx, MailAllowlistEntity, among);
  }

  async add(tx: Transaction, address: string): Promise<void> {
    await remove(tx, MailAllowlistEntity, address);
    await add(tx, 'mail_blacklist', address);
  }

  async subscribe(tx: Transaction, address: string): Promise<void> {
    await remove(tx, MailBlacklistEntity, address);
    await add(tx, 'mail_allowlist', address);
  }
}

type AddressEntity = typeof MailAllowlistEntity | typeof MailBlacklistEntity;

async function addresses(tx: Queryable, entity: AddressEntity): Promise<string[]> {
  const found = await tx.getRepository(entity).find({ order: { address: 'ASC' } });
  return found.map(({ address }) => address);
}

async function listed(tx: Queryable, entity: AddressEntity, among: readonly string[]): Promise<Set<string>> {
  const small = among.map((address) => address.toLowerCase());
  const query = tx
    .getRepository(entity)
    .createQueryBuilder('known')
    .where('lower(known.address) = ANY (:small)', { small });
  return new Set((await query.getMany()).map(({ address }) => address.toLowerCase()));
}

/** Once, however it is spelt. By hand: TypeORM has no INSERT whose values depend on a condition. */
async function add(tx: Transaction, table: 'mail_allowlist' | 'mail_blacklist', address: string): Promise<void> {
  await tx.query(
    `INSERT INTO ${table} (address) SELECT $1
     WHERE NOT EXISTS (SELECT 1 FROM ${table} WHERE lower(address) = lower($1)) ON CONFLICT DO NOTHING`,
    [address],
  );
}

/** In whatever letters it was added: people forget the letters, and mail servers ignore them. */
async function remove(tx: Transaction, entity: AddressEntity, address: string): Promise<void> {
  await tx
    .getRepository(entity)
    .createQueryBuilder()
    .delete()
    .where('lower(address) = lower(:address)', { address })
    .execute();
}
