import { Injectable } from '@nestjs/common';
import { promisedTypes, runnableStates } from '../../core/model/enums.js';
import { timingMembers } from '../../core/schedules/index.js';
import type { Queryable } from '../../platform/database/queryable.js';
import { rows, toMillis } from '../../platform/database/sql.js';
import type { Transaction } from '../../platform/database/transaction.js';

const runnable = runnableStates.map((state) => `'${state}'`).join(', ');

const members = (document: string, names: readonly string[]): string =>
  `(${names.map((name) => `${document}->'${name}'`).join(', ')})`;
const rule = (document: string): string =>
  members(document, ['scheduleType', 'schedule', 'scheduleTimeZone', 'schedules']);
const timing = (document: string): string => members(document, timingMembers);

const anyRule = (list: string): string => `$9::jsonb->'${list}' @> '[{"scheduleType":"RFC5545"}]'`;
const hasRule = `($9::jsonb->>'scheduleType' = 'RFC5545' OR ${anyRule('schedules')} OR ${anyRule('exclusions')}
  OR ${anyRule('deployWindows')})`;
const sinceSql = (kept: string): string => `CASE WHEN ${hasRule} THEN coalesce(${kept}, $5::timestamptz) END`;
/** SQL: when the schedule of a new row was saved, from `requestParameters`. */
export const newScheduleSince = sinceSql('$10::timestamptz');
/** SQL: keeps the start of a rule that stays as it was when its row is written again, whoever sends it once more. */
export const keptScheduleSince = sinceSql(
  `CASE WHEN ${rule('document')} IS NOT DISTINCT FROM ${rule('$9::jsonb')} THEN coalesce($10::timestamptz, schedule_since) END`,
);

/** SQL: the planned runs that wait are taken back when the request may not run, so its times are open from the first of them on. */
const firstWaiting = `(SELECT min(to_timestamp(((p.document->>'scheduledAt')::bigint - 1) / 1000.0)) FROM pending_task p
  WHERE p.request_id = $1 AND p.document->>'trigger' = 'SCHEDULE'
    AND p.pending_type NOT IN (${promisedTypes.map((type) => `'${type}'`).join(', ')}))`;
/**
 * SQL: how far the times of a row that is written again are planned, and when to look at them again. Other times are planned anew: they
 * count from this change on, however late the next look comes; those of a request without a deploy from that look on.
 */
export const keptPlanning = `planned_until = CASE WHEN ${timing('document')} IS DISTINCT FROM ${timing('$9::jsonb')}
      THEN CASE WHEN $6::text IS NOT NULL THEN $5::timestamptz END
    WHEN planned_until IS NULL OR $3 IN (${runnable}) THEN planned_until
    ELSE LEAST(planned_until, $5::timestamptz, ${firstWaiting}) END,
  plan_at = CASE WHEN $3 IN (${runnable}) AND ${timing('document')} IS NOT DISTINCT FROM ${timing('$9::jsonb')} THEN plan_at END`;

/** Outcome of a look at the times of a request, in epoch milliseconds. */
export interface RequestPlanning {
  requestId: string;
  plannedUntil?: number;
  lookAt?: number;
}

/**
 * How far the times of requests are planned. Written by the leader alone, in the transaction that plans; it changes nothing of what the
 * request is, so its version stays. By hand: many rows in one statement.
 */
@Injectable()
export class RequestTimingRepository {
  /** Requests whose times are to be looked at. */
  async due(tx: Queryable, now: number): Promise<string[]> {
    const found = await rows<{ id: string }>(tx, 'SELECT id FROM request WHERE plan_at <= $1 ORDER BY plan_at, id', [
      new Date(now),
    ]);
    return found.map(({ id }) => id);
  }

  /** Epoch milliseconds of the first look after `now`: one that failed is not repeated at once. */
  async nextLook(tx: Queryable, now: number): Promise<number | undefined> {
    const [found] = await rows<{ next: Date | null }>(
      tx,
      'SELECT min(plan_at) AS next FROM request WHERE plan_at > $1',
      [new Date(now)],
    );
    return toMillis(found!.next);
  }

  async save(tx: Transaction, plannings: readonly RequestPlanning[]): Promise<void> {
    if (plannings.length === 0) return;
    const date = (millis: number | undefined): Date | null => (millis === undefined ? null : new Date(millis));
    await tx.query(
      `UPDATE request r SET planned_until = n.planned_until, plan_at = n.plan_at
       FROM unnest($1::text[], $2::timestamptz[], $3::timestamptz[]) AS n (id, planned_until, plan_at) WHERE r.id = n.id`,
      [
        plannings.map(({ requestId }) => requestId),
        plannings.map(({ plannedUntil }) => date(plannedUntil)),
        plannings.map(({ lookAt }) => date(lookAt)),
      ],
    );
  }

  /** Counts runs that the schedules of these requests have begun; one id for each run. */
  async countStarts(tx: Transaction, requestIds: readonly string[]): Promise<void> {
    if (requestIds.length === 0) return;
    await tx.query(
      `UPDATE request r SET started_runs = coalesce(r.started_runs, 0) + n.runs
       FROM (SELECT id, count(*)::int AS runs FROM unnest($1::text[]) AS s (id) GROUP BY id) n WHERE r.id = n.id`,
      [requestIds],
    );
  }

  /** One that was counted did not begin after all. */
  async takeStartBack(tx: Transaction, requestId: string): Promise<void> {
    await tx.query('UPDATE request SET started_runs = started_runs - 1 WHERE id = $1 AND started_runs > 0', [
      requestId,
    ]);
  }
}
