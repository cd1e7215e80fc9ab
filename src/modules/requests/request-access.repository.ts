import { Injectable } from '@nestjs/common';
import type { ReadFilter, RequestGroups } from '../../core/authorization/index.js';
import type { UserAction } from '../../core/model/enums.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { rows } from '../../platform/database/sql.js';

interface GroupsRow {
  id: string;
  group: string | null;
  readWriteGroups: string[] | null;
  readOnlyGroups: string[] | null;
  actionPermissions: Record<string, UserAction[]> | null;
}

/** One of the requests that had an id one after the other. */
export interface EndedRequest {
  id: string;
  endedAt: number;
  /** Absent: they cannot be read. */
  groups?: RequestGroups;
}

const columns = (document: string): string =>
  ['group', 'readWriteGroups', 'readOnlyGroups', 'actionPermissions']
    .map((name) => (name === 'group' ? `${document}->>'group' AS "group"` : `${document}->'${name}' AS "${name}"`))
    .join(', ');

/** SQL: whether a request is within a ReadFilter; four parameters from `$first` on. */
export const seenSql = (first: number, document = 'document'): string => {
  const [all, groups, withoutWriters, byDefault] = [0, 1, 2, 3].map((index) => `$${first + index}`);
  return `(${all}::boolean OR ${document}->>'group' = ANY (${groups}::text[])
    OR ${document}->'readWriteGroups' ?| ${groups}::text[] OR ${document}->'readOnlyGroups' ?| ${groups}::text[]
    OR (${byDefault}::boolean AND NOT ${document} ? 'readOnlyGroups')
    OR (${withoutWriters}::boolean AND NOT ${document} ? 'group'
      AND coalesce(jsonb_array_length(${document}->'readWriteGroups'), 0) = 0))`;
};

export const seenParameters = (sight: ReadFilter): unknown[] =>
  sight.kind === 'some'
    ? [false, sight.groups, sight.withoutWriters, sight.byDefault]
    : [sight.kind === 'all', [], false, false];

/** SQL: the same of the request with this id, for lists of what belongs to requests. */
export const seenOfSql = (requestId: string, first: number): string =>
  `($${first}::boolean OR EXISTS (
    SELECT 1 FROM request owner WHERE owner.id = ${requestId} AND ${seenSql(first, 'owner.document')}))`;

/**
 * Waits until no other transaction creates requests of these ids, or acts on it that there are none, and keeps them from
 * it until `tx` ends: rows that do not exist cannot be locked. After the locks of rows that do.
 */
export async function lockIds(tx: Transaction, ids: readonly string[]): Promise<void> {
  for (const id of ids.toSorted()) await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 7099))', [id]);
}

/** The groups of requests, without the rest of them. By hand: nearly every call asks this. */
@Injectable()
export class RequestAccessRepository {
  /** By id; unknown ones are left out. */
  async find(tx: Queryable, ids: readonly string[]): Promise<Map<string, RequestGroups>> {
    return byId(await rows<GroupsRow>(tx, `SELECT id, ${columns('document')} FROM request WHERE id = ANY ($1)`, [ids]));
  }

  /**
   * Groups of the requests that exist, whose rows are locked as for a change. For the others it stays true until the
   * commit that they do not exist.
   */
  async lock(tx: Transaction, ids: readonly string[]): Promise<Map<string, RequestGroups>> {
    const present = await this.lockRows(tx, ids);
    const absent = ids.filter((id) => !present.has(id));
    if (absent.length === 0) return present;
    await lockIds(tx, absent);
    return new Map([...present, ...(await this.lockRows(tx, absent))]);
  }

  private async lockRows(tx: Transaction, ids: readonly string[]): Promise<Map<string, RequestGroups>> {
    return byId(
      await rows<GroupsRow>(
        tx,
        `SELECT id, ${columns('document')} FROM request WHERE id = ANY ($1) ORDER BY id FOR NO KEY UPDATE`,
        [ids],
      ),
    );
  }

  /** Groups of requests that are gone: as in the newest entry of their history. */
  async findFormer(tx: Queryable, ids: readonly string[]): Promise<Map<string, RequestGroups>> {
    const found = await rows<GroupsRow>(
      tx,
      `SELECT id, ${columns('h.request')} FROM unnest($1::text[]) AS id CROSS JOIN LATERAL
         (SELECT request FROM request_history WHERE request_id = id AND request IS NOT NULL
          ORDER BY created_at DESC LIMIT 1) h`,
      [ids],
    );
    return byId(found);
  }

  /** Requests of these ids that ended, in the order of their ends, with the groups they had last. */
  async findEnded(tx: Queryable, ids: readonly string[]): Promise<EndedRequest[]> {
    const found = await rows<GroupsRow & { ended_at: Date; is_known: boolean }>(
      tx,
      `SELECT request_id AS id, created_at AS ended_at, request IS NOT NULL AS is_known, ${columns('request')}
       FROM request_history
       WHERE request_id = ANY ($1) AND event_type = 'DELETED' ORDER BY request_id, created_at`,
      [ids],
    );
    return found.map((row) => ({
      id: row.id,
      endedAt: row.ended_at.getTime(),
      groups: row.is_known ? groupsOf(row) : undefined,
    }));
  }
}

const groupsOf = ({ group, readWriteGroups, readOnlyGroups, actionPermissions }: GroupsRow): RequestGroups => ({
  group: group ?? undefined,
  readWriteGroups: readWriteGroups ?? undefined,
  readOnlyGroups: readOnlyGroups ?? undefined,
  actionPermissions: actionPermissions ?? undefined,
});

const byId = (found: readonly GroupsRow[]): Map<string, RequestGroups> =>
  new Map(found.map((row) => [row.id, groupsOf(row)]));
