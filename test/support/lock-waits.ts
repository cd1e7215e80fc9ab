import { waitFor } from './wait-for.js';

/**
 * Until a statement waits for a lock that another transaction of this database holds, or what was to wait is over. `pool`: no
 * transaction, because that sees the activity as it was at its first look.
 */
export const lockAwaited = (
  pool: { query(sql: string): Promise<unknown> },
  isOver: () => boolean = () => false,
): Promise<boolean> =>
  waitFor('a statement that waits for a lock', async () => {
    const sql = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
    return isOver() || ((await pool.query(sql)) as unknown[]).length > 0;
  });
