import { Inject, Injectable } from '@nestjs/common';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { ShuffleBlacklistEntity } from './shuffle-blacklist.entity.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';

/** Requests whose tasks stay where they are: those of the settings, and those that operators have added. */
@Injectable()
export class ShuffleBlacklistRepository {
  private readonly configured: ReadonlySet<string>;

  constructor(@Inject(SETTINGS) { doNotShuffleRequests }: Settings) {
    this.configured = new Set(doNotShuffleRequests);
  }

  /** In alphabetical order. */
  async list(tx: Queryable): Promise<string[]> {
    const added = await tx.getRepository(ShuffleBlacklistEntity).find();
    return [...new Set([...this.configured, ...added.map(({ requestId }) => requestId)])].toSorted();
  }

  async has(tx: Queryable, requestId: string): Promise<boolean> {
    return this.isConfigured(requestId) || (await tx.getRepository(ShuffleBlacklistEntity).existsBy({ requestId }));
  }

  /** The settings name it, so only they can remove it. */
  isConfigured(requestId: string): boolean {
    return this.configured.has(requestId);
  }

  async add(tx: Transaction, requestId: string): Promise<void> {
    const added = tx.getRepository(ShuffleBlacklistEntity).createQueryBuilder().insert().values({ requestId });
    await added.orIgnore().updateEntity(false).execute();
  }

  async remove(tx: Transaction, requestId: string): Promise<void> {
    await tx.getRepository(ShuffleBlacklistEntity).delete({ requestId });
  }
}
