import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { rows } from '../../../platform/database/sql.js';
import type { ExpiringRequestAction, ExpiringRequestKind } from './expiring-action.js';

interface ExpiringRow {
  kind: ExpiringRequestKind;
  target_id: string;
  user_name: string | null;
  started_at: Date;
  duration_millis: string;
  action_id: string;
  document: object;
  revert: object;
}

const requestKinds: readonly ExpiringRequestKind[] = ['BOUNCE', 'PAUSE', 'SCALE', 'PRIORITY', 'SKIP_HEALTHCHECKS'];

/**
 * Changes of requests that lapse: at most one per request and kind. Written under the lock on the request's row; wake
 * 'expiring' after the commit.
 */
@Injectable()
export class ExpiringActions {
  /** Overwrites the one of this kind that the request has. */
  async save(tx: EntityManager, action: ExpiringRequestAction): Promise<void> {
    await tx.query(
      `INSERT INTO expiring_action (kind, target_id, user_name, started_at, duration_millis, action_id, document, revert)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
       ON CONFLICT (kind, target_id) DO UPDATE SET user_name = excluded.user_name, started_at = excluded.started_at,
         duration_millis = excluded.duration_millis, action_id = excluded.action_id, document = excluded.document,
         revert = excluded.revert`,
      [
        action.kind,
        action.targetId,
        action.user ?? null,
        new Date(action.startMillis),
        action.durationMillis,
        action.actionId,
        JSON.stringify(action.document),
        JSON.stringify(action.revert),
      ],
    );
  }

  async ofRequests(tx: EntityManager, requestIds: readonly string[]): Promise<ExpiringRequestAction[]> {
    const found = await rows<ExpiringRow>(
      tx,
      'SELECT * FROM expiring_action WHERE target_id = ANY ($1) AND kind = ANY ($2) ORDER BY target_id, kind',
      [requestIds, requestKinds],
    );
    return found.map(fromRow);
  }

  /** All there are, in the order in which they are ended: bounce, pause, scale, priority, skip healthchecks. */
  async all(tx: EntityManager): Promise<ExpiringRequestAction[]> {
    const found = await rows<ExpiringRow>(
      tx,
      'SELECT * FROM expiring_action WHERE kind = ANY ($1) ORDER BY array_position($1, kind), started_at, target_id',
      [requestKinds],
    );
    return found.map(fromRow);
  }

  /** false: there was none. With `deployId` only a bounce of that deploy is removed. */
  async remove(tx: EntityManager, kind: ExpiringRequestKind, requestId: string, deployId?: string): Promise<boolean> {
    const removed = await rows(
      tx,
      `DELETE FROM expiring_action WHERE kind = $1 AND target_id = $2 AND ($3::text IS NULL OR revert->>'deployId' = $3)
       RETURNING kind`,
      [kind, requestId, deployId ?? null],
    );
    return removed.length > 0;
  }

  /** Removes this very action, not one that took its place. */
  async removeExactly(
    tx: EntityManager,
    { kind, targetId, actionId, startMillis }: ExpiringRequestAction,
  ): Promise<void> {
    await tx.query(
      'DELETE FROM expiring_action WHERE kind = $1 AND target_id = $2 AND action_id = $3 AND started_at = $4',
      [kind, targetId, actionId, new Date(startMillis)],
    );
  }

  async removeAll(tx: EntityManager, requestId: string): Promise<void> {
    await tx.query('DELETE FROM expiring_action WHERE target_id = $1 AND kind = ANY ($2)', [requestId, requestKinds]);
  }
}

const fromRow = (row: ExpiringRow): ExpiringRequestAction =>
  ({
    kind: row.kind,
    targetId: row.target_id,
    user: row.user_name ?? undefined,
    startMillis: row.started_at.getTime(),
    durationMillis: Number(row.duration_millis),
    actionId: row.action_id,
    document: row.document,
    revert: row.revert,
  }) as ExpiringRequestAction;
