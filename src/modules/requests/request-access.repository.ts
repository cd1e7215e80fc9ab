import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { RequestGroups } from '../../core/authorization/index.js';
import { rows } from '../../platform/database/sql.js';

interface GroupsRow {
  id: string;
  group: string | null;
  readWriteGroups: string[] | null;
  readOnlyGroups: string[] | null;
}

const columns = (document: string): string =>
  ['group', 'readWriteGroups', 'readOnlyGroups']
    .map((name) => (name === 'group' ? `${document}->>'group' AS "group"` : `${document}->'${name}' AS "${name}"`))
    .join(', ');

/** The groups of requests, without the rest of them. By hand: nearly every call asks this. */
@Injectable()
export class RequestAccessRepository {
  /** By id; unknown ones are left out. */
  async find(tx: EntityManager, ids: readonly string[]): Promise<Map<string, RequestGroups>> {
    return byId(await rows<GroupsRow>(tx, `SELECT id, ${columns('document')} FROM request WHERE id = ANY ($1)`, [ids]));
  }

  /** Of requests that are gone: as in the newest entry of their history. */
  async findFormer(tx: EntityManager, ids: readonly string[]): Promise<Map<string, RequestGroups>> {
    const found = await rows<GroupsRow>(
      tx,
      `SELECT id, ${columns('h.request')} FROM unnest($1::text[]) AS id CROSS JOIN LATERAL
         (SELECT request FROM request_history WHERE request_id = id AND request IS NOT NULL
          ORDER BY created_at DESC LIMIT 1) h`,
      [ids],
    );
    return byId(found);
  }
}

const byId = (found: readonly GroupsRow[]): Map<string, RequestGroups> =>
  new Map(
    found.map(({ id, group, readWriteGroups, readOnlyGroups }) => [
      id,
      {
        group: group ?? undefined,
        readWriteGroups: readWriteGroups ?? undefined,
        readOnlyGroups: readOnlyGroups ?? undefined,
      },
    ]),
  );
