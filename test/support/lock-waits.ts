import type { Queryable } from '../../src/platform/database/queryable.js';
import { waitFor } from './wait-for.js';

/**
 * Until a statement waits for a lock that another transaction of this database holds. `tx`: of the pool, because a transaction sees
 * the activity as it was at its first look.
 */
export const lockAwaited = (tx: Queryable): Promise<boolean> =>
  waitFor('a statement that waits for a lock', async () => {
    const sql = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
    return (await tx.query<unknown[]>(sql)).length > 0;
  });
