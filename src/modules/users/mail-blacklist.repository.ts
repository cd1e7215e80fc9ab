import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { MailAllowlistEntity, MailBlacklistEntity } from './mail-blacklist.entity.js';

/** The rows of addresses that want no mail, and of those that want it, spelt as their owners did. An address is in one of them. */
@Injectable()
export class MailBlacklistRepository {
  /** In alphabetical order. */
  list(tx: EntityManager): Promise<string[]> {
    return addresses(tx, MailBlacklistEntity);
  }

  /** Those whose owners subscribed, in alphabetical order. */
  subscribed(tx: EntityManager): Promise<string[]> {
    return addresses(tx, MailAllowlistEntity);
  }

  /** Of these addresses those whose owners want no mail, in small letters. */
  unwanted(tx: EntityManager, among: readonly string[]): Promise<Set<string>> {
    return listed(tx, MailBlacklistEntity, among);
  }

  /** Of these addresses those whose owners subscribed, in small letters. */
  wanted(tx: EntityManager, among: readonly string[]): Promise<Set<string>> {
    return listed(tx, MailAllowlistEntity, among);
  }

  async add(tx: EntityManager, address: string): Promise<void> {
    await remove(tx, MailAllowlistEntity, address);
    await add(tx, 'mail_blacklist', address);
  }

  async subscribe(tx: EntityManager, address: string): Promise<void> {
    await remove(tx, MailBlacklistEntity, address);
    await add(tx, 'mail_allowlist', address);
  }
}

type AddressEntity = typeof MailAllowlistEntity | typeof MailBlacklistEntity;

async function addresses(tx: EntityManager, entity: AddressEntity): Promise<string[]> {
  const found = await tx.getRepository(entity).find({ order: { address: 'ASC' } });
  return found.map(({ address }) => address);
}

async function listed(tx: EntityManager, entity: AddressEntity, among: readonly string[]): Promise<Set<string>> {
  const small = among.map((address) => address.toLowerCase());
  const query = tx.createQueryBuilder(entity, 'known').where('lower(known.address) = ANY (:small)', { small });
  return new Set((await query.getMany()).map(({ address }) => address.toLowerCase()));
}

/** Once, however it is spelt. By hand: TypeORM has no INSERT whose values depend on a condition. */
async function add(tx: EntityManager, table: 'mail_allowlist' | 'mail_blacklist', address: string): Promise<void> {
  await tx.query(
    `INSERT INTO ${table} (address) SELECT $1
     WHERE NOT EXISTS (SELECT 1 FROM ${table} WHERE lower(address) = lower($1)) ON CONFLICT DO NOTHING`,
    [address],
  );
}

/** In whatever letters it was added: people forget the letters, and mail servers ignore them. */
async function remove(tx: EntityManager, entity: AddressEntity, address: string): Promise<void> {
  await tx.createQueryBuilder().delete().from(entity).where('lower(address) = lower(:address)', { address }).execute();
}
