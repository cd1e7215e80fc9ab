import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { rows } from '../../platform/database/sql.js';

/** Requests that belong together, as stored. */
export interface RequestGroup {
  id: string;
  requestIds: string[];
  metadata: Record<string, string>;
}

const columns = 'id, request_ids AS "requestIds", metadata';

/** The rows of groups. */
@Injectable()
export class RequestGroupStore {
  /** In the order of ids. */
  list(tx: EntityManager): Promise<RequestGroup[]> {
    return rows<RequestGroup>(tx, `SELECT ${columns} FROM request_group ORDER BY id`);
  }

  async find(tx: EntityManager, id: string): Promise<RequestGroup | undefined> {
    return (await rows<RequestGroup>(tx, `SELECT ${columns} FROM request_group WHERE id = $1`, [id]))[0];
  }

  /** Inserts, or replaces as a whole. */
  async save(tx: EntityManager, group: RequestGroup): Promise<void> {
    await tx.query(
      `INSERT INTO request_group (id, request_ids, metadata) VALUES ($1, $2, $3)
       ON CONFLICT (id) DO UPDATE SET request_ids = excluded.request_ids, metadata = excluded.metadata`,
      [group.id, group.requestIds, JSON.stringify(group.metadata)],
    );
  }

  async remove(tx: EntityManager, id: string): Promise<void> {
    await tx.query('DELETE FROM request_group WHERE id = $1', [id]);
  }
}
