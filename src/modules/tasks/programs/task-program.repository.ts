import { Injectable } from '@nestjs/common';
import type { ProgramReport } from '../../../cluster/cluster-driver.js';
import { programRoles, type ProgramRole, type ProgramState } from '../../../core/model/enums.js';
import type { TaskProgram } from '../../../core/model/deploy.js';
import type { TaskId } from '../../../core/model/task.js';
import { parseTaskId } from '../../../core/task-id.js';
import type { Queryable } from '../../../platform/database/queryable.js';
import { rows } from '../../../platform/database/sql.js';
import type { Transaction } from '../../../platform/database/transaction.js';

/** New state of a program of a task. */
export interface ProgramChange extends ProgramReport {
  taskId: string;
  /** Epoch milliseconds. */
  at: number;
}

/** A row as PostgreSQL gives it, or writes it as JSON. */
export interface TaskProgramRow {
  name: string;
  role: ProgramRole;
  state: ProgramState;
  starts: number;
  begun_at: Date | string;
  at: Date | string;
  exit_code: number | null;
  message: string | null;
}

/** Programs around the main ones of live tasks. The leader writes them. */
@Injectable()
export class TaskProgramRepository {
  /** In the order given. What was told before, or is older than what was, changes nothing; neither does what is told of no live task. */
  async record(tx: Transaction, changes: readonly ProgramChange[]): Promise<void> {
    // A statement writes a row once: of several changes of a program, the first ones go before the others.
    const next = new Map<string, ProgramChange>();
    const later: ProgramChange[] = [];
    for (const change of changes) {
      const key = `${change.taskId} ${change.name}`;
      if (next.has(key)) later.push(change);
      else next.set(key, change);
    }
    if (next.size === 0) return;
    const now = [...next.values()];
    await tx.query(
      `INSERT INTO task_program AS known (task_id, name, role, state, starts, begun_at, at, exit_code, message)
       SELECT task_id, n.name, n.role, n.state, n.starts, n.at, n.at, n.exit_code, n.message
       FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::integer[], $6::timestamptz[], $7::integer[], $8::text[])
         AS n (task_id, name, role, state, starts, at, exit_code, message)
       JOIN task t USING (task_id) WHERE t.ended_at IS NULL
       ON CONFLICT (task_id, name) DO UPDATE SET state = excluded.state, starts = excluded.starts, at = excluded.at,
         exit_code = coalesce(excluded.exit_code, known.exit_code), message = excluded.message
       WHERE (excluded.starts, excluded.state <> 'RUNNING') > (known.starts, known.state <> 'RUNNING')`,
      [
        now.map(({ taskId }) => taskId),
        now.map(({ name }) => name),
        now.map(({ role }) => role),
        now.map(({ state }) => state),
        now.map(({ starts }) => starts),
        now.map(({ at }) => new Date(at)),
        now.map(({ exitCode }) => exitCode ?? null),
        now.map(({ message }) => message ?? null),
      ],
    );
    await this.record(tx, later);
  }

  /** Programs of tasks of a request that keep it from running, or show that it ends: all but those that are as they are meant to be. */
  async notable(tx: Queryable, requestId: string): Promise<{ taskId: TaskId; program: TaskProgram }[]> {
    const found = await rows<TaskProgramRow & { task_id: string }>(
      tx,
      `SELECT p.* FROM task_program p JOIN task t USING (task_id)
       WHERE t.request_id = $1 AND t.ended_at IS NULL
         AND (p.state = 'FAILED' OR p.state = 'RUNNING' AND p.role <> 'SIDECAR')
       ORDER BY p.task_id, p.begun_at, p.name`,
      [requestId],
    );
    return found.map((row) => ({ taskId: parseTaskId(row.task_id)!, program: programOf(row) }));
  }
}

export const programOf = (row: TaskProgramRow): TaskProgram => ({
  name: row.name,
  role: row.role,
  state: row.state,
  starts: row.starts,
  timestamp: new Date(row.at).getTime(),
  exitCode: row.exit_code ?? undefined,
  message: row.message ?? undefined,
});

/** In the order in which they run. */
export const programsOf = (found: readonly TaskProgramRow[]): TaskProgram[] =>
  found.toSorted((a, b) => byBeginning(a, b)).map(programOf);

const byBeginning = (a: TaskProgramRow, b: TaskProgramRow): number =>
  programRoles.indexOf(a.role) - programRoles.indexOf(b.role) ||
  new Date(a.begun_at).getTime() - new Date(b.begun_at).getTime() ||
  (a.name < b.name ? -1 : 1);
