import { Injectable } from '@nestjs/common';
import { Database } from '../../platform/database/database.js';
import { rows } from '../../platform/database/sql.js';
import { commitLazily } from '../commit-lazily.js';

/** Keys of what changed since it was asked last. */
export interface Changes {
  requests: Set<string>;
  slaves: Set<string>;
  /** Some rack changed its state: all its slaves are affected. */
  racks: boolean;
}

/** The notes that triggers leave for the leader. */
@Injectable()
export class LeaderChanges {
  constructor(private readonly db: Database) {}

  /** Takes the notes away. Only the leader may: what it takes, nobody else will read. */
  async take(): Promise<Changes> {
    const changes: Changes = { requests: new Set(), slaves: new Set(), racks: false };
    if (!(await this.anything())) return changes;
    const found = await this.db.leaderTransaction(async (tx) => {
      // Should the database lose this commit, the notes come back and are read once more.
      await commitLazily(tx);
      return rows<{ kind: string; key: string }>(tx, 'DELETE FROM leader_change RETURNING kind, key');
    });
    for (const { kind, key } of found) {
      if (kind === 'request') changes.requests.add(key);
      else if (kind === 'slave') changes.slaves.add(key);
      else changes.racks = true;
    }
    return changes;
  }

  private async anything(): Promise<boolean> {
    const [found] = await rows<{ any: boolean }>(this.db.manager, 'SELECT EXISTS (SELECT 1 FROM leader_change) AS any');
    return found!.any;
  }
}
