import { Injectable } from '@nestjs/common';
import { type Flow, type FlowChange, type RunEnd, runKey } from '../../core/flows/index.js';
import { groupBy } from '../../core/group-by.js';
import type { PendingTask, RunTrigger } from '../../core/model/task.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { rows } from '../../platform/database/sql.js';
import type { StoredRun } from './flow-run.repository.js';

/** A new run of a flow. */
export interface NewRun extends Pick<StoredRun, 'flowId' | 'requestId' | 'runId' | 'parentRuns' | 'asked'> {
  cause: string;
  trigger: RunTrigger;
}

/** What the ends of runs change of a flow. */
export interface ChangeOfFlow {
  flowId: string;
  change: FlowChange;
}

export interface StoredFlow {
  id: string;
  requestId: string;
  startedAt: number;
  runs: number;
  refused: number;
  reruns: number;
}

/**
 * Flows and their runs. The row of a flow is locked, after those of requests and tasks, by whoever changes anything of it. By hand: written
 * in the transaction that stores the ends of runs, for hundreds of them in a few statements.
 */
@Injectable()
export class FlowRepository {
  /** Flows that are not there yet begin with a run of this request. `load` then locks all of them. */
  async begin(tx: Transaction, flows: ReadonlyMap<string, string>, now: number): Promise<void> {
    const ids = [...flows.keys()].toSorted();
    await tx.query(
      `INSERT INTO flow (id, request_id, started_at, changed_at, runs)
       SELECT id, request_id, $3, $3, 0 FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS f (id, request_id, position)
       ORDER BY position ON CONFLICT (id) DO NOTHING`,
      [ids, ids.map((id) => flows.get(id)), new Date(now)],
    );
  }

  /** Locks the flows in the order of their ids; then reads what is known of these runs and of what these followers wait for. */
  async load(
    tx: Transaction,
    flowIds: readonly string[],
    runs: readonly { flowId: string; requestId: string; runId: string }[],
    followerIds: readonly string[],
  ): Promise<Map<string, Flow>> {
    // In one go and in this order: what comes after the lock sees what its former holder has written.
    const [found, known, met] = await Promise.all([
      rows<{ id: string; runs: number }>(
        tx,
        'SELECT id, runs FROM flow WHERE id = ANY ($1) ORDER BY id FOR NO KEY UPDATE',
        [flowIds],
      ),
      rows<{ flow_id: string; request_id: string; run_id: string; ended: boolean }>(
        tx,
        `SELECT flow_id, request_id, run_id, ended_at IS NOT NULL AS ended FROM flow_run
         JOIN unnest($1::text[], $2::text[], $3::text[]) AS k (f, r, n) ON flow_id = f AND request_id = r AND run_id = n`,
        [runs.map(({ flowId }) => flowId), runs.map(({ requestId }) => requestId), runs.map(({ runId }) => runId)],
      ),
      rows<{ flow_id: string; request_id: string; parent_id: string; task_id: string }>(
        tx,
        'SELECT flow_id, request_id, parent_id, task_id FROM flow_fan_in WHERE flow_id = ANY ($1) AND request_id = ANY ($2)',
        [flowIds, followerIds],
      ),
    ]);
    const [knownOf, metOf] = [groupBy(known, (row) => row.flow_id), groupBy(met, (row) => row.flow_id)];
    return new Map(
      found.map(({ id, runs: count }) => {
        const fanIn = new Map<string, Map<string, string>>();
        for (const row of metOf.get(id) ?? []) {
          const parents = fanIn.get(row.request_id) ?? new Map<string, string>();
          fanIn.set(row.request_id, parents.set(row.parent_id, row.task_id));
        }
        const keys = (knownOf.get(id) ?? []).map(
          (row) => [runKey({ requestId: row.request_id, runId: row.run_id }), row.ended] as const,
        );
        return [id, { id, runs: count, known: new Map(keys), fanIn }];
      }),
    );
  }

  /** Ends of runs, also of those that were not known before. `asked`: the options of each, by task id. */
  async end(
    tx: Transaction,
    changes: readonly ChangeOfFlow[],
    asked: ReadonlyMap<string, Partial<PendingTask>>,
    now: number,
  ): Promise<void> {
    const all = changes.flatMap(({ flowId, change: { ended, opened } }) => [
      ...ended.map((end) => ({ flowId, end, endedAt: new Date(end.endedAt) })),
      ...withoutEnded(opened, ended).map((end) => ({ flowId, end, endedAt: null })),
    ]);
    await tx.query(
      `INSERT INTO flow_run (flow_id, request_id, run_id, cause, parent_runs, asked, created_at, queued_at, ended_at, task_id, state)
       SELECT flow_id, request_id, run_id, task_id, '{}', asked, $8, $8, ended_at, task_id, state
       FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::timestamptz[], $7::jsonb[])
         AS e (flow_id, request_id, run_id, task_id, state, ended_at, asked)
       ON CONFLICT (flow_id, request_id, run_id) DO UPDATE SET ended_at = excluded.ended_at, task_id = excluded.task_id,
         state = excluded.state, queued_at = coalesce(flow_run.queued_at, excluded.queued_at)`,
      [
        all.map(({ flowId }) => flowId),
        all.map(({ end }) => end.requestId),
        all.map(({ end }) => end.runId),
        all.map(({ end }) => end.taskId),
        all.map(({ end }) => end.state),
        all.map(({ endedAt }) => endedAt),
        all.map(({ end }) => JSON.stringify(asked.get(end.taskId) ?? {})),
        new Date(now),
      ],
    );
  }

  /** A parent that has ended so stays so: another end of it in the flow changes nothing. */
  async meet(tx: Transaction, changes: readonly ChangeOfFlow[]): Promise<void> {
    const met = changes.flatMap(({ flowId, change }) => change.met.map((one) => ({ flowId, ...one })));
    if (met.length === 0) return;
    await tx.query(
      `INSERT INTO flow_fan_in (flow_id, request_id, parent_id, task_id)
       SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) ON CONFLICT DO NOTHING`,
      [
        met.map(({ flowId }) => flowId),
        met.map(({ requestId }) => requestId),
        met.map(({ parentId }) => parentId),
        met.map(({ taskId }) => taskId),
      ],
    );
  }

  /** New runs, which wait. One end makes at most one run of a request. */
  async add(tx: Transaction, made: readonly NewRun[], now: number): Promise<void> {
    if (made.length === 0) return;
    await tx.query(
      `INSERT INTO flow_run (flow_id, request_id, run_id, cause, trigger, parent_runs, asked, created_at)
       SELECT flow_id, request_id, run_id, cause, trigger, ARRAY(SELECT jsonb_array_elements_text(parent_runs)), asked, $8
       FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::jsonb[], $7::jsonb[])
         AS m (flow_id, request_id, run_id, cause, trigger, parent_runs, asked)
       ON CONFLICT DO NOTHING`,
      [
        made.map(({ flowId }) => flowId),
        made.map(({ requestId }) => requestId),
        made.map(({ runId }) => runId),
        made.map(({ cause }) => cause),
        made.map(({ trigger }) => trigger),
        made.map(({ parentRuns }) => JSON.stringify(parentRuns)),
        made.map(({ asked }) => JSON.stringify(asked)),
        new Date(now),
      ],
    );
  }

  /** The number of runs of each flow, counted, and those that were not made. */
  async count(tx: Transaction, flows: readonly { flowId: string; refused: number }[], now: number): Promise<void> {
    await tx.query(
      `UPDATE flow SET runs = (SELECT count(*) FROM flow_run r WHERE r.flow_id = flow.id),
         refused = flow.refused + c.refused, changed_at = $3
       FROM unnest($1::text[], $2::integer[]) AS c (id, refused) WHERE flow.id = c.id`,
      [flows.map(({ flowId }) => flowId), flows.map(({ refused }) => refused), new Date(now)],
    );
  }

  async find(tx: Queryable, id: string): Promise<StoredFlow | undefined> {
    return (await this.select(tx, 'WHERE id = $1', [id]))[0];
  }

  /** Waits for the row and holds it until `tx` ends. */
  async lock(tx: Transaction, id: string): Promise<StoredFlow | undefined> {
    return (await this.select(tx, 'WHERE id = $1 FOR NO KEY UPDATE', [id]))[0];
  }

  private async select(tx: Queryable, which: string, parameters: unknown[]): Promise<StoredFlow[]> {
    const sql = `SELECT id, request_id, started_at, runs, refused, reruns FROM flow ${which}`;
    const found = await rows<Omit<StoredFlow, 'requestId' | 'startedAt'> & { request_id: string; started_at: Date }>(
      tx,
      sql,
      parameters,
    );
    return found.map(({ request_id: requestId, started_at: startedAt, ...row }) => ({
      ...row,
      requestId,
      startedAt: startedAt.getTime(),
    }));
  }

  /** What these requests have done in the flow counts no more for those that wait for several parents. */
  async rerun(tx: Transaction, flowId: string, requestIds: readonly string[]): Promise<number> {
    await tx.query('DELETE FROM flow_fan_in WHERE flow_id = $1 AND parent_id = ANY ($2)', [flowId, requestIds]);
    const [changed] = await rows<{ reruns: number }>(
      tx,
      'UPDATE flow SET reruns = reruns + 1 WHERE id = $1 RETURNING reruns',
      [flowId],
    );
    return changed!.reruns;
  }

  /** Forgets flows that have not changed since then and have no run that goes on. Answers how many. */
  async forget(tx: Transaction, before: Date, most: number): Promise<number> {
    const gone = await rows<{ id: string }>(
      tx,
      `DELETE FROM flow WHERE id IN (SELECT id FROM flow f WHERE changed_at < $1
         AND NOT EXISTS (SELECT 1 FROM flow_run r WHERE r.flow_id = f.id AND r.ended_at IS NULL)
         ORDER BY changed_at LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING id`,
      [before, most],
    );
    const ids = gone.map((row) => row.id);
    await tx.query('DELETE FROM flow_run WHERE flow_id = ANY ($1)', [ids]);
    await tx.query('DELETE FROM flow_fan_in WHERE flow_id = ANY ($1)', [ids]);
    return ids.length;
  }
}

/** A run that is told to be away and to have ended at once has ended. */
function withoutEnded(opened: readonly RunEnd[], ended: readonly RunEnd[]): RunEnd[] {
  const keys = new Set(ended.map(runKey));
  return opened.filter((run) => !keys.has(runKey(run)));
}
