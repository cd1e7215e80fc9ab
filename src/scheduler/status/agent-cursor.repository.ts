import { Injectable } from '@nestjs/common';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { rows } from '../../platform/database/sql.js';
import type { AgentCursorEntity } from './agent-cursor.entity.js';

/**
 * Numbers of the last applied updates of agents. SQL by hand: read and written with every batch of status updates, many
 * agents in one statement.
 */
@Injectable()
export class AgentCursorRepository {
  async find(tx: Queryable, agentId: string): Promise<AgentCursorEntity | undefined> {
    return (await this.findMany(tx, [agentId])).get(agentId);
  }

  /** By agent id; agents of which nothing was applied have none. */
  async findMany(tx: Queryable, agentIds: readonly string[]): Promise<Map<string, AgentCursorEntity>> {
    const found = await rows<AgentCursorEntity>(
      tx,
      `SELECT agent_id AS "agentId", incarnation, applied_update AS number FROM agent_cursor WHERE agent_id = ANY ($1)`,
      [agentIds],
    );
    return new Map(found.map((cursor) => [cursor.agentId, cursor]));
  }

  async save(tx: Transaction, cursors: readonly AgentCursorEntity[]): Promise<void> {
    if (cursors.length === 0) return;
    // In the order of ids, so that two batches never wait for each other in a circle.
    const ordered = cursors.toSorted((a, b) => (a.agentId < b.agentId ? -1 : 1));
    await tx.query(
      `INSERT INTO agent_cursor (agent_id, incarnation, applied_update)
       SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[])
       ON CONFLICT (agent_id) DO UPDATE SET incarnation = excluded.incarnation, applied_update = excluded.applied_update`,
      [
        ordered.map(({ agentId }) => agentId),
        ordered.map(({ incarnation }) => incarnation),
        ordered.map(({ number }) => number),
      ],
    );
  }
}
