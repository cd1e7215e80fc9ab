import { Injectable } from '@nestjs/common';
import { Database } from '../../platform/database/database.js';
import { SchedulerError } from '../../platform/errors.js';
import { ShuffleBlacklistRepository } from './shuffle-blacklist.repository.js';

/** The blacklist as operators see and change it. */
@Injectable()
export class ShuffleService {
  constructor(
    private readonly db: Database,
    private readonly blacklist: ShuffleBlacklistRepository,
  ) {}

  list(): Promise<string[]> {
    return this.blacklist.list(this.db.pool);
  }

  has(requestId: string): Promise<boolean> {
    return this.blacklist.has(this.db.pool, requestId);
  }

  add(requestId: string): Promise<void> {
    return this.db.transaction((tx) => this.blacklist.add(tx, requestId));
  }

  async remove(requestId: string): Promise<void> {
    // Answering as if it had gone would be a lie: the settings go on excluding it.
    if (this.blacklist.isConfigured(requestId)) {
      const message = `Request '${requestId}' is excluded by the setting doNotShuffleRequests`;
      throw new SchedulerError('SET_BY_SETTINGS', message);
    }
    await this.db.transaction((tx) => this.blacklist.remove(tx, requestId));
  }
}
