import { Injectable } from '@nestjs/common';
import type { ActionType, RequestCleanupType } from '../../core/model/enums.js';
import type { RequestHistory } from '../../core/model/request.js';
import type { SwitchedOff } from '../../platform/actions/disabled-actions.js';
import { rows, toMillis } from '../../platform/database/sql.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { OutboxRepository } from '../events/outbox.repository.js';
import { newScheduleSince } from './request-timing.repository.js';
import { requestParameters, type StoredRequest } from './request.repository.js';

/** Context of a call that saves a request. */
export interface Surroundings {
  /** Oldest first. */
  cleanups: readonly RequestCleanupType[];
  switchedOff: ReadonlyMap<ActionType, SwitchedOff>;
  /** A webhook receives updates of requests. */
  isHeard: boolean;
  /** Time of the newest event of a request of this id, in epoch milliseconds. */
  lastEventAt: number | undefined;
}

interface SurroundingsRow {
  cleanups: RequestCleanupType[] | null;
  off: { action: ActionType; message: string; expires: number | null }[] | null;
  is_heard: boolean;
  last_event_at: Date | null;
}

/**
 * Creates requests. By hand: scripts create them by the thousand, and each round trip of a create is waited for by its caller. So
 * one statement looks, and one writes the request, its history and the event of it.
 */
@Injectable()
export class RequestCreationRepository {
  constructor(private readonly outbox: OutboxRepository) {}

  /**
   * After the lock of the row. Where there is none, the id is locked as by `lockIds`: nothing of this id is created until `tx` ends
   * but by `tx`.
   */
  async look(tx: Transaction, id: string): Promise<Surroundings> {
    const [found] = await rows<SurroundingsRow>(
      tx,
      `SELECT CASE WHEN NOT EXISTS (SELECT 1 FROM request WHERE id = $1)
           THEN pg_advisory_xact_lock(hashtextextended($1, 7099)) END,
         (SELECT json_agg(cleanup_type ORDER BY created_at, cleanup_type) FROM request_cleanup WHERE request_id = $1) AS cleanups,
         (SELECT json_agg(json_build_object('action', action, 'message', message,
           'expires', extract(epoch FROM expires_at) * 1000)) FROM disabled_action) AS off,
         EXISTS (SELECT 1 FROM webhook WHERE webhook_type = 'REQUEST') AS is_heard,
         (SELECT max(created_at) FROM request_history WHERE request_id = $1) AS last_event_at`,
      [id],
    );
    const { cleanups, off, is_heard: isHeard, last_event_at } = found!;
    return {
      cleanups: cleanups ?? [],
      switchedOff: new Map(
        (off ?? []).map(({ action, message, expires }) => [action, { message, expiresAt: expires ?? undefined }]),
      ),
      isHeard,
      lastEventAt: toMillis(last_event_at),
    };
  }

  /** With the history, and all that others are told. Nothing, and false, where the request or a later event is there by now. */
  async create(tx: Transaction, stored: StoredRequest, event: RequestHistory, isHeard: boolean): Promise<boolean> {
    const parameters = requestParameters(stored);
    const at = parameters.push(new Date(event.createdAt));
    const type = parameters.push(event.eventType);
    const user = parameters.push(event.user ?? null);
    const told = this.outbox.requestAddedTo(tx, event, 'written', parameters);
    const written = await rows(
      tx,
      `WITH written AS (
         INSERT INTO request (id, request_type, state, version, changed_at, active_deploy_id, pending_deploy_id, bouncing, document, bytes, schedule_since)
         SELECT $1::text, $2::text, $3::text, $4::bigint, $5::timestamptz, $6::text, $7::text, $8::boolean, $9::jsonb,
           octet_length($9::jsonb::text), ${newScheduleSince}
         WHERE NOT EXISTS (SELECT 1 FROM request_history WHERE request_id = $1::text AND created_at >= $${at}::timestamptz)
         ON CONFLICT (id) DO NOTHING RETURNING id, document),
       noted AS (
         INSERT INTO request_history (request_id, created_at, event_type, user_name, request)
         SELECT id, $${at}::timestamptz, $${type}::text, $${user}::text, document FROM written),
       told AS (${told})
       SELECT 1 FROM written`,
      parameters,
    );
    if (written.length === 0) return false;
    if (isHeard) await this.outbox.requestToWebhooks(tx, event);
    return true;
  }
}
