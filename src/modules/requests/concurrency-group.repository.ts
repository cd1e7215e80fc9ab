import { Injectable } from '@nestjs/common';
import type { ReadFilter } from '../../core/authorization/index.js';
import { type GroupUse, useOfGroup } from '../../core/placement/index.js';
import { groupBy } from '../../core/group-by.js';
import type { Request } from '../../core/model/request.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { rows } from '../../platform/database/sql.js';
import { seenParameters, seenSql } from './request-access.repository.js';

/** SQL that an index answers (request_by_concurrency_group). */
const nameSql = `r.document->'concurrencyGroup'->>'name'`;
const ofGroupsSql = `r.document ? 'concurrencyGroup' AND ${nameSql} = ANY ($1)`;

/** Use of concurrency groups, which all requests share that name them. By hand: counts over two rooms' tables. */
@Injectable()
export class ConcurrencyGroupRepository {
  /**
   * As it is until `tx` ends: whoever makes another run of these groups active waits for that. After the locks of requests and of
   * tasks that there are.
   */
  async lockUse(tx: Transaction, names: readonly string[]): Promise<Map<string, GroupUse>> {
    for (const name of [...new Set(names)].sort())
      await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 7102))', [name]);
    return this.use(tx, names);
  }

  async use(tx: Queryable, names: readonly string[]): Promise<Map<string, GroupUse>> {
    if (names.length === 0) return new Map();
    const found = await rows<{ name: string; request: Pick<Request, 'concurrencyGroup'>; active: number }>(
      tx,
      `SELECT ${nameSql} AS name, jsonb_build_object('concurrencyGroup', r.document->'concurrencyGroup') AS request,
         (SELECT count(*)::int FROM task t WHERE t.request_id = r.id AND t.ended_at IS NULL) AS active
       FROM request r WHERE ${ofGroupsSql}`,
      [names],
    );
    const uses = [...groupBy(found, ({ name }) => name)].flatMap(([name, members]): [string, GroupUse][] => {
      const use = useOfGroup(members);
      return use ? [[name, use]] : [];
    });
    return new Map(uses);
  }

  /** Ids of active tasks of the group, the oldest first, as far as the caller may read their requests. */
  async holders(tx: Queryable, name: string, sight: ReadFilter, most: number): Promise<string[]> {
    const found = await rows<{ task_id: string }>(
      tx,
      `SELECT t.task_id FROM request r JOIN task t ON t.request_id = r.id AND t.ended_at IS NULL
       WHERE ${ofGroupsSql} AND ${seenSql(3, 'r.document')} ORDER BY t.started_at, t.task_id LIMIT $2`,
      [[name], most, ...seenParameters(sight)],
    );
    return found.map(({ task_id: id }) => id);
  }
}
