import { Injectable } from '@nestjs/common';
import type { ReadFilter } from '../../core/authorization/index.js';
import type { PendingTaskId } from '../../core/model/task.js';
import type { Explanation, RejectionReason, WaitingReason } from '../../core/placement/index.js';
import { parsePendingTaskId } from '../../core/task-id.js';
import { OutboxRepository } from '../../modules/events/outbox.repository.js';
import { seenOfSql, seenParameters } from '../../modules/requests/request-access.repository.js';
import { keysetOf, type KeysetPage } from '../../platform/database/keyset.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { rows } from '../../platform/database/sql.js';

/** Reason why a pending task waits. */
export interface WaitingTaskReason {
  pendingTaskId: PendingTaskId;
  explanation: Explanation;
  text: string;
}

/** Explanation of the leader, with its message. */
export interface NotedExplanation extends Explanation {
  message: string;
}

/** Reason that the leader noted, and when. */
export interface NotedReason extends Omit<NotedExplanation, 'fitting'> {
  pendingTaskId: PendingTaskId;
  at: number;
}

/** Reasons why due tasks wait. SQL by hand: written after rounds of the leader, thousands of rows at a time. */
@Injectable()
export class WaitingReasonRepository {
  constructor(private readonly outbox: OutboxRepository) {}

  /**
   * The leader's explanations, by pending task id, of the tasks of a request that wait for one of these reasons, or one
   * of these rejections.
   */
  async noted(
    tx: Queryable,
    requestId: string,
    reasons: readonly WaitingReason[],
    rejections: readonly RejectionReason[],
  ): Promise<Map<string, NotedExplanation>> {
    const found = await rows<Omit<NotedExplanation, 'fitting'> & { pending_task_id: string }>(
      tx,
      `SELECT pending_task_id, reason, message, slaves, rejections FROM waiting_reason
       WHERE request_id = $1 AND (reason = ANY ($2)
         OR EXISTS (SELECT 1 FROM jsonb_array_elements(rejections) r WHERE r->>'reason' = ANY ($3)))`,
      [requestId, reasons, rejections],
    );
    return new Map(found.map(({ pending_task_id: id, ...noted }) => [id, { ...noted, fitting: 0 }]));
  }

  /** Reasons of all tasks that wait, as they were noted last, in the order of ids; a page: of what the caller may read. */
  async list(tx: Queryable, part?: { page: KeysetPage; sight: ReadFilter }): Promise<NotedReason[]> {
    const found = await rows<Omit<NotedReason, 'at' | 'pendingTaskId'> & { pending_task_id: string; at: Date }>(
      tx,
      `SELECT w.pending_task_id, w.reason, w.message, w.slaves, w.rejections, w.at
       FROM waiting_reason w JOIN pending_task p ON p.id = w.pending_task_id
       WHERE NOT p.delete_requested ${part ? `AND ${seenOfSql('w.request_id', 1)} AND w.pending_task_id > $5` : ''}
       ORDER BY w.pending_task_id ${part ? 'LIMIT $6' : ''}`,
      part ? [...seenParameters(part.sight), ...keysetOf(part.page)] : [],
    );
    return found.map(({ pending_task_id: id, at, ...noted }) => {
      return { pendingTaskId: parsePendingTaskId(id)!, ...noted, at: at.getTime() };
    });
  }

  /** Stores these reasons, and removes those of all tasks that are not waiting any more. */
  async replace(
    tx: Transaction,
    reasons: readonly WaitingTaskReason[],
    waitingIds: readonly string[],
    now: number,
  ): Promise<void> {
    await tx.query('DELETE FROM waiting_reason WHERE pending_task_id <> ALL ($1)', [waitingIds]);
    if (reasons.length === 0) return;
    const column = <T>(pick: (reason: WaitingTaskReason) => T): T[] => reasons.map(pick);
    await tx.query(
      `INSERT INTO waiting_reason (pending_task_id, request_id, reason, message, slaves, rejections, at)
       SELECT id, request_id, reason, message, slaves, rejections, $7
       FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::integer[], $6::jsonb[])
         AS w (id, request_id, reason, message, slaves, rejections)
       ON CONFLICT (pending_task_id) DO UPDATE SET reason = excluded.reason, message = excluded.message,
         slaves = excluded.slaves, rejections = excluded.rejections, at = excluded.at`,
      [
        column(({ pendingTaskId }) => pendingTaskId.id),
        column(({ pendingTaskId }) => pendingTaskId.requestId),
        column(({ explanation }) => explanation.reason),
        column(({ text }) => text),
        column(({ explanation }) => explanation.slaves),
        column(({ explanation }) => JSON.stringify(explanation.rejections)),
        new Date(now),
      ],
    );
    await this.outbox.pendingTasks(
      tx,
      'WAITING',
      reasons.map(({ pendingTaskId: { requestId, deployId }, explanation: { reason }, text: message }) => {
        return { requestId, deployId, reason, message };
      }),
    );
  }
}
