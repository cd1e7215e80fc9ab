import { rows } from './sql.js';
import type { Queryable } from './queryable.js';

/**
 * SQL: names what a statement sees of the database. Where two of them see the same, no transaction was committed in between, so that
 * every read answers the same, of whatever tables: the server itself tells by these numbers what a statement sees. It costs the server
 * a few microseconds, however much there is.
 *
 * The numbers of a server that was restored, or has taken over from another one, may come again, and so may those of transactions that a
 * crash has undone: the server's start tells the former apart, and the time of its statistics, which a crash empties, the latter.
 * A server that only follows another one has no such numbers.
 */
const momentSql = `concat_ws(' ', pg_postmaster_start_time(), pg_stat_get_bgwriter_stat_reset_time(),
  CASE WHEN pg_is_in_recovery() THEN gen_random_uuid()::text ELSE pg_current_snapshot()::text END)`;

/** The snapshot that `tx` sees; within a snapshot, the one of all that is read in it. */
export async function momentOf(tx: Queryable): Promise<string> {
  const [found] = await rows<{ moment: string }>(tx, `SELECT ${momentSql} AS moment`, []);
  return found!.moment;
}
