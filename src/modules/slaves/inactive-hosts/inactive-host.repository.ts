import { Inject, Injectable } from '@nestjs/common';
import { Any, LessThanOrEqual, MoreThan, type EntityManager, type Repository } from 'typeorm';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import { InactiveHostEntity } from './inactive-host.entity.js';

const hourMillis = 3_600_000;

/** The rows of inactive hosts. One that is older than `cleanInactiveHostListEveryHours` says nothing any more. */
@Injectable()
export class InactiveHostRepository {
  constructor(@Inject(SETTINGS) private readonly settings: Settings) {}

  /** In alphabetical order. */
  async list(tx: EntityManager, now: number): Promise<string[]> {
    const found = await hosts(tx).find({ where: { markedAt: MoreThan(this.oldest(now)) }, order: { host: 'ASC' } });
    return found.map(({ host }) => host);
  }

  /** Is a slave that goes by these names on an inactive host? */
  includesAny(tx: EntityManager, names: readonly string[], now: number): Promise<boolean> {
    return hosts(tx).existsBy({ host: Any(names), markedAt: MoreThan(this.oldest(now)) });
  }

  /** One that is marked already is marked anew. */
  async mark(tx: EntityManager, host: string, now: number): Promise<void> {
    await hosts(tx).upsert({ host, markedAt: new Date(now) }, ['host']);
  }

  async unmark(tx: EntityManager, names: readonly string[]): Promise<void> {
    await hosts(tx).delete({ host: Any(names) });
  }

  async unmarkAll(tx: EntityManager): Promise<void> {
    await hosts(tx).deleteAll();
  }

  async removeExpired(tx: EntityManager, now: number): Promise<void> {
    await hosts(tx).delete({ markedAt: LessThanOrEqual(this.oldest(now)) });
  }

  private oldest(now: number): Date {
    return new Date(now - this.settings.cleanInactiveHostListEveryHours * hourMillis);
  }
}

const hosts = (tx: EntityManager): Repository<InactiveHostEntity> => tx.getRepository(InactiveHostEntity);
