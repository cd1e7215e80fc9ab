import { Injectable } from '@nestjs/common';
import type { FailingState, ReplacementWaves, WaitingSickTask } from '../../../core/health/index.js';
import type { DeployKey } from '../../../core/model/deploy.js';
import type { SickTaskWait } from '../../../core/model/enums.js';
import type { TaskHealthcheckResult, TaskId } from '../../../core/model/task.js';
import { parseTaskId } from '../../../core/task-id.js';
import type { ClockLimit } from '../../../platform/clock-limit.js';
import type { Queryable } from '../../../platform/database/queryable.js';
import { rows, toMillis, toTime } from '../../../platform/database/sql.js';
import type { Transaction } from '../../../platform/database/transaction.js';
import { OutboxRepository } from '../../events/outbox.repository.js';

/** A change of the liveness of a task: the check that made it, and the state from now on. */
export interface LivenessChange {
  taskId: TaskId;
  result: TaskHealthcheckResult;
  /** Absent: it is well. */
  state?: FailingState;
  /** It was sick, or is from now on: those who listen are told. */
  isTold: boolean;
}

/** A task that failed its liveness checks as often as it may, and is there still. */
export interface SickTaskRow {
  taskId: TaskId;
  failures: number;
  failingSince: number;
  sickSince: number;
  statusCode?: number;
  errorMessage?: string;
  /** Absent: the leader has not decided about it yet. */
  waitsFor?: SickTaskWait;
  waitsUntil?: number;
}

interface LivenessRow {
  task_id: string;
  failures: number;
  failing_since: Date;
  sick_since: Date | null;
  status_code: number | null;
  error_message: string | null;
  waits_for: SickTaskWait | null;
  waits_until: Date | null;
}

/** Tasks that fail their liveness checks, and how often their requests had some replaced. The leader writes them. */
@Injectable()
export class TaskLivenessRepository {
  constructor(private readonly outbox: OutboxRepository) {}

  /** The failing ones among these. */
  async find(tx: Queryable, taskIds: readonly string[]): Promise<Map<string, FailingState>> {
    const found = await rows<LivenessRow>(
      tx,
      'SELECT task_id, failures, failing_since, sick_since FROM task_liveness WHERE task_id = ANY ($1)',
      [taskIds],
    );
    return new Map(
      found.map((row) => [
        row.task_id,
        {
          failures: row.failures,
          failingSince: row.failing_since.getTime(),
          ...(row.sick_since && { sickSince: row.sick_since.getTime() }),
        },
      ]),
    );
  }

  async taskIds(tx: Queryable): Promise<string[]> {
    const found = await rows<{ task_id: string }>(tx, 'SELECT task_id FROM task_liveness');
    return found.map((row) => row.task_id);
  }

  async remove(tx: Transaction, taskIds: readonly string[]): Promise<void> {
    await tx.query('DELETE FROM task_liveness WHERE task_id = ANY ($1)', [taskIds]);
  }

  /** Sick tasks of a request, those that are told to go left out; in the order of task ids. */
  async sickOf(tx: Queryable, requestId: string): Promise<SickTaskRow[]> {
    const found = await rows<LivenessRow>(
      tx,
      `SELECT l.* FROM task_liveness l JOIN task t USING (task_id)
       WHERE l.request_id = $1 AND l.sick_since IS NOT NULL AND t.ended_at IS NULL
         AND NOT EXISTS (SELECT 1 FROM task_cleanup c WHERE c.task_id = l.task_id)
         AND NOT EXISTS (SELECT 1 FROM killed_task k WHERE k.task_id = l.task_id)
       ORDER BY l.task_id`,
      [requestId],
    );
    return found.map((row) => ({
      taskId: parseTaskId(row.task_id)!, // made by this service, so it can be read
      failures: row.failures,
      failingSince: row.failing_since.getTime(),
      sickSince: row.sick_since!.getTime(),
      statusCode: row.status_code ?? undefined,
      errorMessage: row.error_message ?? undefined,
      waitsFor: row.waits_for ?? undefined,
      waitsUntil: toMillis(row.waits_until),
    }));
  }

  /** Counts the sick tasks, and those among them that the leader cannot judge. */
  async counts(tx: Queryable): Promise<{ sick: number; unjudged: number }> {
    const [found] = await rows<{ sick: number; unjudged: number }>(
      tx,
      `SELECT count(*)::int AS sick, count(*) FILTER (WHERE l.waits_for = 'CANNOT_JUDGE')::int AS unjudged
       FROM task_liveness l JOIN task t USING (task_id) WHERE l.sick_since IS NOT NULL AND t.ended_at IS NULL`,
    );
    return found!;
  }

  /** Answers the ids of the tasks whose change was stored: one that has ended has none any more. */
  async store(tx: Transaction, changes: readonly LivenessChange[]): Promise<string[]> {
    const column = <T>(pick: (change: LivenessChange) => T): T[] => changes.map(pick);
    const stored = await rows<{ task_id: string }>(
      tx,
      `WITH asked AS (
         SELECT c.*, t.request_id FROM unnest($1::text[], $2::integer[], $3::timestamptz[], $4::timestamptz[], $5::integer[], $6::text[])
           AS c (task_id, failures, failing_since, sick_since, status_code, error_message)
         JOIN task t USING (task_id) WHERE t.ended_at IS NULL ORDER BY t.task_id FOR KEY SHARE OF t
       ), well AS (
         DELETE FROM task_liveness l USING asked a WHERE l.task_id = a.task_id AND a.failures IS NULL
       ), failing AS (
         INSERT INTO task_liveness (task_id, request_id, failures, failing_since, sick_since, status_code, error_message)
         SELECT task_id, request_id, failures, failing_since, sick_since, status_code, error_message FROM asked
         WHERE failures IS NOT NULL
         ON CONFLICT (task_id) DO UPDATE SET failures = excluded.failures, failing_since = excluded.failing_since,
           sick_since = excluded.sick_since, status_code = excluded.status_code, error_message = excluded.error_message
       )
       SELECT task_id FROM asked`,
      [
        column(({ taskId }) => taskId.id),
        column(({ state }) => state?.failures ?? null),
        column(({ state }) => toTime(state?.failingSince)),
        column(({ state }) => toTime(state?.sickSince)),
        column(({ result }) => result.statusCode ?? null),
        column(({ result }) => result.errorMessage ?? null),
      ],
    );
    const ids = new Set(stored.map((row) => row.task_id));
    await this.outbox.liveness(
      tx,
      changes
        .filter(({ taskId, isTold }) => isTold && ids.has(taskId.id))
        .map(({ taskId, state, result }) => ({
          taskId: taskId.id,
          isSick: state !== undefined,
          message: saysOf(result),
        })),
    );
    return [...ids];
  }

  /** Reasons why sick tasks are not replaced; written where they are new. */
  async noteWaits(tx: Transaction, waits: readonly WaitingSickTask[]): Promise<void> {
    if (waits.length === 0) return;
    await tx.query(
      `UPDATE task_liveness l SET waits_for = w.waits_for, waits_until = w.waits_until
       FROM unnest($1::text[], $2::text[], $3::timestamptz[]) AS w (task_id, waits_for, waits_until)
       WHERE l.task_id = w.task_id AND (l.waits_for, l.waits_until) IS DISTINCT FROM (w.waits_for, w.waits_until)`,
      [waits.map(({ id }) => id), waits.map(({ because }) => because), waits.map(({ until }) => toTime(until))],
    );
  }

  async waves(tx: Queryable, { requestId, deployId }: DeployKey): Promise<ReplacementWaves | undefined> {
    const [found] = await rows<{ count: number; last_at: Date }>(
      tx,
      'SELECT count, last_at FROM replacement_wave WHERE request_id = $1 AND deploy_id = $2',
      [requestId, deployId],
    );
    return found && { count: found.count, lastAt: found.last_at.getTime() };
  }

  async saveWaves(tx: Transaction, { requestId, deployId }: DeployKey, waves: ReplacementWaves): Promise<void> {
    await tx.query(
      `INSERT INTO replacement_wave (request_id, deploy_id, count, last_at) VALUES ($1, $2, $3, $4)
       ON CONFLICT (request_id) DO UPDATE SET deploy_id = excluded.deploy_id, count = excluded.count, last_at = excluded.last_at`,
      [requestId, deployId, waves.count, new Date(waves.lastAt)],
    );
  }

  /** The request is gone. */
  async removeWaves(tx: Transaction, requestId: string): Promise<void> {
    await tx.query('DELETE FROM replacement_wave WHERE request_id = $1', [requestId]);
  }

  /** Tasks that fail since a time that is still to come fail since now. Answers how many. */
  async takeTimesAhead(tx: Transaction, { now, latest }: ClockLimit): Promise<number> {
    const taken = await rows(
      tx,
      `UPDATE task_liveness SET failing_since = least(failing_since, $1), sick_since = least(sick_since, $1)
       WHERE failing_since > $2 OR sick_since > $2 RETURNING 1`,
      [now, latest],
    );
    return taken.length;
  }
}

/** Result of a check, for people. */
export const saysOf = ({ statusCode, errorMessage }: Pick<TaskHealthcheckResult, 'statusCode' | 'errorMessage'>) =>
  errorMessage ?? `status ${statusCode}`;
