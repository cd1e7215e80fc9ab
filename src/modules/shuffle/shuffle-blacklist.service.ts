import { Inject, Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { rows } from '../../platform/database/sql.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';

/** Requests whose tasks stay where they are: those of the settings, and those that somebody has added. */
@Injectable()
export class ShuffleBlacklist {
  private readonly configured: ReadonlySet<string>;

  constructor(@Inject(SETTINGS) { doNotShuffleRequests }: Settings) {
    this.configured = new Set(doNotShuffleRequests);
  }

  /** In their order. */
  async list(tx: EntityManager): Promise<string[]> {
    const added = await rows<{ request_id: string }>(tx, 'SELECT request_id FROM shuffle_blacklist');
    return [...new Set([...this.configured, ...added.map((row) => row.request_id)])].toSorted();
  }

  async has(tx: EntityManager, requestId: string): Promise<boolean> {
    if (this.isConfigured(requestId)) return true;
    return (await rows(tx, 'SELECT 1 FROM shuffle_blacklist WHERE request_id = $1', [requestId])).length > 0;
  }

  /** One of the settings, which only they can remove. */
  isConfigured(requestId: string): boolean {
    return this.configured.has(requestId);
  }

  async add(tx: EntityManager, requestId: string): Promise<void> {
    await tx.query('INSERT INTO shuffle_blacklist (request_id) VALUES ($1) ON CONFLICT DO NOTHING', [requestId]);
  }

  async remove(tx: EntityManager, requestId: string): Promise<void> {
    await tx.query('DELETE FROM shuffle_blacklist WHERE request_id = $1', [requestId]);
  }
}
