import { Inject, Injectable } from '@nestjs/common';
import { Any, LessThanOrEqual, MoreThan, type Repository } from 'typeorm';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import { InactiveHostEntity } from './inactive-host.entity.js';
import type { Queryable } from '../../../platform/database/queryable.js';
import type { Transaction } from '../../../platform/database/transaction.js';

const hourMillis = 3_600_000;

/** The rows of inactive hosts. One that is older than `cleanInactiveHostListEveryHours` says nothing any more. */
@Injectable()
export class InactiveHostRepository {
  constructor(@Inject(SETTINGS) private readonly settings: Settings) {}

  /** In alphabetical order. */
  async list(tx: Queryable, now: number): Promise<string[]> {
    const found = await hosts(tx).find({ where: { markedAt: MoreThan(this.oldest(now)) }, order: { host: 'ASC' } });
    return found.map(({ host }) => host);
  }

  /** True if a slave that goes by these names is on an inactive host. */
  includesAny(tx: Transaction, names: readonly string[], now: number): Promise<boolean> {
    return hosts(tx).existsBy({ host: Any(names), markedAt: MoreThan(this.oldest(now)) });
  }

  /** One that is marked already is marked anew. */
  async mark(tx: Queryable, host: string, now: number): Promise<void> {
    await hosts(tx).upsert({ host, markedAt: new Date(now) }, ['host']);
  }

  async unmark(tx: Transaction, names: readonly string[]): Promise<void> {
    await hosts(tx).delete({ host: Any(names) });
  }

  async unmarkAll(tx: Transaction): Promise<void> {
    await hosts(tx).deleteAll();
  }

  /** Answers whether there were any. */
  async removeExpired(tx: Transaction, now: number): Promise<boolean> {
    const { affected } = await hosts(tx).delete({ markedAt: LessThanOrEqual(this.oldest(now)) });
    return affected !== 0;
  }

  /** Time at which the first mark expires. */
  async nextExpiry(tx: Queryable): Promise<number | undefined> {
    const [first] = await hosts(tx).find({ order: { markedAt: 'ASC' }, take: 1 });
    return first && first.markedAt.getTime() + this.lifeMillis;
  }

  private oldest(now: number): Date {
    return new Date(now - this.lifeMillis);
  }

  private get lifeMillis(): number {
    return this.settings.cleanInactiveHostListEveryHours * hourMillis;
  }
}

const hosts = (tx: Queryable): Repository<InactiveHostEntity> => tx.getRepository(InactiveHostEntity);
