import { Injectable } from '@nestjs/common';
import { hasPassed } from '../../core/elapsed.js';
import { explainWaiting, explanationText, type WaitingOutcome } from '../../core/placement/index.js';
import { Database } from '../../platform/database/database.js';
import { WaitingReasonRepository, type WaitingTaskReason } from './waiting-reason.repository.js';

/** Counts of machines change with every task that starts or ends; they are written again no sooner than this. */
const rewriteAfterMillis = 10_000;

interface WrittenReason {
  text: string;
  reason: string;
  at: number;
}

/** Keeps in waiting_reason why due tasks wait, so that SQL can ask for it. */
@Injectable()
export class WaitingReasons {
  /** Content of the table, by pending task id; undefined: not known. */
  private written: Map<string, WrittenReason> | undefined;

  constructor(
    private readonly db: Database,
    private readonly reasons: WaitingReasonRepository,
  ) {}

  /** Another leader may have written. */
  drop(): void {
    this.written = undefined;
  }

  /** All tasks that wait after a round over `slaves` machines. */
  async save(waiting: readonly WaitingOutcome[], slaves: number, now: number): Promise<void> {
    if (waiting.length === 0 && this.written?.size === 0) return;
    const former = this.written ?? new Map<string, WrittenReason>();
    const ids = new Set(waiting.map(({ pending }) => pending.pendingTaskId.id));
    const changed = waiting.flatMap((outcome) => changedReason(outcome, slaves, former, now));
    const gone = [...former.keys()].filter((id) => !ids.has(id));
    if (this.written && changed.length + gone.length === 0) return;
    this.drop();
    await this.db.leaderTransaction((tx) => this.reasons.replace(tx, changed, [...ids], now));
    for (const id of gone) former.delete(id);
    for (const { pendingTaskId, explanation, text } of changed) {
      former.set(pendingTaskId.id, { text, reason: explanation.reason, at: now });
    }
    this.written = former;
  }
}

function changedReason(
  outcome: WaitingOutcome,
  slaves: number,
  former: ReadonlyMap<string, WrittenReason>,
  now: number,
): WaitingTaskReason | [] {
  const { pendingTaskId } = outcome.pending;
  const known = former.get(pendingTaskId.id);
  if (known?.reason === outcome.why && !hasPassed(known.at, rewriteAfterMillis, now)) return [];
  const explanation = explainWaiting(outcome, slaves);
  const text = explanationText(explanation);
  return known?.text === text ? [] : { pendingTaskId, explanation, text };
}
