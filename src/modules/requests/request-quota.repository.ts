import { Injectable } from '@nestjs/common';
import { promisedTypes } from '../../core/model/enums.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { rows } from '../../platform/database/sql.js';

/** SQL that an index answers (request_by_group); `$1` is the group or NULL. */
const ofGroup = (alias: string): string =>
  `(${alias}.document->>'group' = $1 OR ($1::text IS NULL AND ${alias}.document->>'group' IS NULL))`;

/** What a group has of something; bytes where they are limited. */
export interface GroupUse {
  count: number;
  bytes: number;
}

/** Counts of requests and runs by group. By hand: counts over two rooms' tables. */
@Injectable()
export class RequestQuotaRepository {
  async requests(tx: Queryable, group: string | undefined): Promise<GroupUse> {
    const sql = `SELECT count(*)::int AS count, 0 AS bytes FROM request r WHERE ${ofGroup('r')}`;
    return (await rows<GroupUse>(tx, sql, [group ?? null]))[0]!;
  }

  /** Runs that were asked for and wait. */
  async runs(tx: Transaction, group: string | undefined): Promise<GroupUse> {
    const [found] = await rows<GroupUse>(
      tx,
      `SELECT count(*)::int AS count, coalesce(sum(p.bytes), 0)::double precision AS bytes FROM (
         SELECT request_id, bytes FROM pending_task WHERE pending_type = ANY ($2) AND NOT delete_requested
         UNION ALL SELECT request_id, bytes FROM pending_request WHERE pending_type = ANY ($2)) p
       JOIN request r ON r.id = p.request_id WHERE ${ofGroup('r')}`,
      [group ?? null, promisedTypes],
    );
    return found!;
  }

  /** Until `tx` ends no other call counts what this group has near its limit. After the locks of requests. */
  async lockGroup(tx: Queryable, group: string | undefined): Promise<void> {
    await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 7101))', [group ?? '']);
  }
}
