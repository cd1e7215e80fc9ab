import { rows } from './sql.js';
import type { Queryable } from './queryable.js';
import type { Transaction } from './transaction.js';

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

/** What `tx` sees; within a snapshot, for all that is read in it. */
export async function momentOf(tx: Transaction): Promise<string> {
  const [found] = await rows<{ moment: string }>(tx, `SELECT ${momentSql} AS moment`, []);
  return found!.moment;
}

/** SQL: the moment as a table of one row, looked up once. */
const seenSql = `(SELECT ${momentSql} AS moment OFFSET 0) AS seen`;

/** A JSON document, and the moment that it is of. null: it is what it was at the moment that the question named. */
export interface DocumentAt {
  moment: string;
  json: string | null;
}

/** The document that the query `document` makes, unless the moment is still `since`. $1 is taken; `parameters` are $2 and so on. */
export async function documentSince(
  tx: Queryable,
  since: string | undefined,
  document: string,
  parameters: readonly unknown[] = [],
): Promise<DocumentAt> {
  const [found] = await rows<DocumentAt>(
    tx,
    `SELECT moment, CASE WHEN moment = $1 THEN NULL ELSE (${document}) END AS json
     FROM ${seenSql}`,
    [since ?? '', ...parameters],
  );
  return found!;
}

/** A document, and the moment of what is known of it. */
export interface AskedSince {
  id: string;
  since?: string;
}

/** Several documents of one kind: the query `document` names the former `asked.id`. */
export function documentsSince(
  tx: Queryable,
  asked: readonly AskedSince[],
  document: string,
): Promise<(DocumentAt & { id: string })[]> {
  return rows(
    tx,
    `SELECT asked.id, moment, CASE WHEN moment = asked.since THEN NULL ELSE (${document}) END AS json
     FROM unnest($1::text[], $2::text[]) AS asked (id, since), ${seenSql}`,
    [asked.map(({ id }) => id), asked.map(({ since }) => since ?? '')],
  );
}
