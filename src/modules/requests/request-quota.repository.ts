import { Injectable } from '@nestjs/common';
import { promisedTypes } from '../../core/model/enums.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { rows } from '../../platform/database/sql.js';

/** SQL that an index answers for stored requests (request_by_group); `$1` is the group or NULL. */
const ofGroup = (request: string): string =>
  `(${request}->>'group' = $1 OR ($1::text IS NULL AND ${request}->>'group' IS NULL))`;

/** What a group has of something; bytes where they are limited. */
export interface QuotaUse {
  count: number;
  bytes: number;
}

/** Counts of requests and runs by group. By hand: counts over two rooms' tables. */
@Injectable()
export class RequestQuotaRepository {
  /** Requests besides the given one that are in the group, or come to it when their deploy in progress succeeds. */
  async requests(tx: Queryable, group: string | undefined, besides: string): Promise<QuotaUse> {
    // One statement: a deploy that ends moves its request from the second part to the first.
    const [found] = await rows<QuotaUse>(
      tx,
      `SELECT ((SELECT count(*) FROM request r WHERE ${ofGroup('r.document')} AND r.id <> $2)
         + (SELECT count(*) FROM pending_deploy p JOIN request r ON r.id = p.request_id
            WHERE p.updated_request IS NOT NULL AND ${ofGroup('p.updated_request')} AND r.document->>'group' IS DISTINCT FROM $1
              AND r.id <> $2))::int AS count, 0 AS bytes`,
      [group ?? null, besides],
    );
    return found!;
  }

  /** Runs that were asked for and wait. */
  async runs(tx: Transaction, group: string | undefined): Promise<QuotaUse> {
    const [found] = await rows<QuotaUse>(
      tx,
      `SELECT count(*)::int AS count, coalesce(sum(p.bytes), 0)::double precision AS bytes FROM (
         SELECT request_id, bytes FROM pending_task WHERE pending_type = ANY ($2) AND NOT delete_requested
         UNION ALL SELECT request_id, bytes FROM pending_request WHERE pending_type = ANY ($2)) p
       JOIN request r ON r.id = p.request_id WHERE ${ofGroup('r.document')}`,
      [group ?? null, promisedTypes],
    );
    return found!;
  }

  /** Until `tx` ends no other call counts what this group has near its limit. After the locks of requests. */
  async lockGroup(tx: Queryable, group: string | undefined): Promise<void> {
    await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 7101))', [group ?? '']);
  }
}
