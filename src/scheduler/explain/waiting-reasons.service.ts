import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { PendingTaskId } from '../../core/model/task.js';
import { explainWaiting, explanationText, type Explanation, type WaitingOutcome } from '../../core/placement/index.js';
import { Database } from '../../platform/database/database.js';

/** Counts of machines change with every task that starts or ends; they are written again no sooner than this. */
const rewriteAfterMillis = 10_000;

interface Written {
  text: string;
  reason: string;
  at: number;
}

interface Reason {
  pendingTaskId: PendingTaskId;
  explanation: Explanation;
  text: string;
}

/** Keeps in waiting_reason why due tasks wait, so that SQL can ask for it. */
@Injectable()
export class WaitingReasons {
  /** What stands in the table, by pending task id; undefined: not known. */
  private written: Map<string, Written> | undefined;

  constructor(private readonly db: Database) {}

  /** Another leader may have written. */
  drop(): void {
    this.written = undefined;
  }

  /** All tasks that wait after a round over `slaves` machines. */
  async save(waiting: readonly WaitingOutcome[], slaves: number, now: number): Promise<void> {
    if (waiting.length === 0 && this.written?.size === 0) return;
    const former = this.written ?? new Map<string, Written>();
    const ids = new Set(waiting.map(({ pending }) => pending.pendingTaskId.id));
    const changed = waiting.flatMap((outcome) => changedReason(outcome, slaves, former, now));
    const gone = [...former.keys()].filter((id) => !ids.has(id));
    if (this.written && changed.length + gone.length === 0) return;
    this.drop();
    await this.db.leaderTransaction((tx) => this.write(tx, changed, [...ids], now));
    for (const id of gone) former.delete(id);
    for (const { pendingTaskId, explanation, text } of changed) {
      former.set(pendingTaskId.id, { text, reason: explanation.reason, at: now });
    }
    this.written = former;
  }

  private async write(tx: EntityManager, reasons: readonly Reason[], waitingIds: readonly string[], now: number) {
    await tx.query('DELETE FROM waiting_reason WHERE pending_task_id <> ALL ($1)', [waitingIds]);
    if (reasons.length === 0) return;
    const column = <T>(pick: (reason: Reason) => T): T[] => reasons.map(pick);
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
  }
}

function changedReason(
  outcome: WaitingOutcome,
  slaves: number,
  former: ReadonlyMap<string, Written>,
  now: number,
): Reason | [] {
  const { pendingTaskId } = outcome.pending;
  const known = former.get(pendingTaskId.id);
  if (known?.reason === outcome.why && now - known.at < rewriteAfterMillis) return [];
  const explanation = explainWaiting(outcome, slaves);
  const text = explanationText(explanation);
  return known?.text === text ? [] : { pendingTaskId, explanation, text };
}
