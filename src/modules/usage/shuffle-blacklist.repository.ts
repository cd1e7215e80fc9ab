import { Inject, Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { ShuffleBlacklistEntity } from './shuffle-blacklist.entity.js';

/** Requests whose tasks stay where they are: those of the settings, and those that operators have added. */
@Injectable()
export class ShuffleBlacklistRepository {
  private readonly configured: ReadonlySet<string>;

  constructor(@Inject(SETTINGS) { doNotShuffleRequests }: Settings) {
    this.configured = new Set(doNotShuffleRequests);
  }

  /** In alphabetical order. */
  async list(tx: EntityManager): Promise<string[]> {
    const added = await tx.getRepository(ShuffleBlacklistEntity).find();
    return [...new Set([...this.configured, ...added.map(({ requestId }) => requestId)])].toSorted();
  }

  async has(tx: EntityManager, requestId: string): Promise<boolean> {
    return this.isConfigured(requestId) || (await tx.getRepository(ShuffleBlacklistEntity).existsBy({ requestId }));
  }

  /** The settings name it, so only they can remove it. */
  isConfigured(requestId: string): boolean {
    return this.configured.has(requestId);
  }

  async add(tx: EntityManager, requestId: string): Promise<void> {
    const added = tx.getRepository(ShuffleBlacklistEntity).createQueryBuilder().insert().values({ requestId });
    await added.orIgnore().updateEntity(false).execute();
  }

  async remove(tx: EntityManager, requestId: string): Promise<void> {
    await tx.getRepository(ShuffleBlacklistEntity).delete({ requestId });
  }
}
