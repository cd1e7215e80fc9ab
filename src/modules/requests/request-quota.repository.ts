import { Injectable } from '@nestjs/common';
import { promisedTypes } from '../../core/model/enums.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { rows } from '../../platform/database/sql.js';
import { liveSql } from '../tasks/task.repository.js';

/** SQL that an index answers for stored requests (request_by_group); `$1` is the group or NULL. */
const ofGroup = (request: string): string =>
  `(${request}->>'group' = $1 OR ($1::text IS NULL AND ${request}->>'group' IS NULL))`;

/** What a group has of something; bytes where they are limited. */
export interface QuotaUse {
  count: number;
  bytes: number;
}

/** What groups have of requests, deploys and runs. By hand: sums over three rooms' tables. */
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

  /**
   * Bytes of the requests of a group, of their deploys in use, and of the requests that deploys in progress bring; `id` is taken for one of
   * the group.
   */
  async records(tx: Queryable, group: string | undefined, id: string): Promise<QuotaUse> {
    const [found] = await rows<QuotaUse>(
      tx,
      `WITH grouped AS (
         SELECT r.id, r.bytes, r.active_deploy_id, r.pending_deploy_id FROM request r WHERE ${ofGroup('r.document')} OR r.id = $2
         UNION SELECT r.id, r.bytes, r.active_deploy_id, r.pending_deploy_id FROM pending_deploy p JOIN request r ON r.id = p.request_id
           WHERE p.updated_request IS NOT NULL AND ${ofGroup('p.updated_request')}),
       used AS (
         SELECT id AS request_id, active_deploy_id AS deploy_id FROM grouped UNION SELECT id, pending_deploy_id FROM grouped
         UNION SELECT p.request_id, p.deploy_id FROM pending_task p JOIN grouped g ON g.id = p.request_id
         UNION SELECT t.request_id, t.deploy_id FROM task t JOIN grouped g ON g.id = t.request_id WHERE ${liveSql('t')})
       SELECT 0 AS count, (coalesce((SELECT sum(bytes) FROM grouped), 0)
         + coalesce((SELECT sum(p.bytes) FROM pending_deploy p JOIN grouped g ON g.id = p.request_id), 0)
         + coalesce((SELECT sum(deploy_bytes) FROM used JOIN deploy_history USING (request_id, deploy_id)), 0))::double precision AS bytes`,
      [group ?? null, id],
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
