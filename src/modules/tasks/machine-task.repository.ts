import { Injectable } from '@nestjs/common';
import type { ExtendedResources } from '../../core/model/deploy.js';
import type { TaskState } from '../../core/model/enums.js';
import type { MachineKind } from '../../core/model/machine.js';
import type { BelievedTask } from '../../core/reconciliation/reconciliation.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { rows } from '../../platform/database/sql.js';

/** A task and the slave that runs it. */
export interface TaskOfSlave {
  taskId: string;
  slaveId: string;
}

/** A slave, and the incarnation that it has now. */
export interface SlaveLife {
  slaveId: string;
  incarnation: string;
}

/** Resources of a slave that its active tasks use. */
export interface SlaveUse {
  cpus: number;
  memoryMb: number;
  diskMb: number;
  /** Null: none. */
  extended: ExtendedResources | null;
  ports: number[];
  /** Number of the tasks. */
  tasks: number;
}

interface TaskOfSlaveRow {
  task_id: string;
  slave_id: string;
}

interface BelievedRow extends TaskOfSlaveRow {
  incarnation: string;
  state: TaskState;
  ended: boolean;
  may_run: boolean;
  acknowledged: boolean;
}

/**
 * SQL: task `t` was given up, may still run, and counts as live: a deploy that ends old tasks first made it, or is in use by its
 * request.
 */
export const countsWhileAway = `(t.may_run AND EXISTS (SELECT 1 FROM deploy_history d LEFT JOIN request r ON r.id = d.request_id
  WHERE d.request_id = t.request_id AND d.deploy_id IN (t.deploy_id, r.active_deploy_id, r.pending_deploy_id)
    AND d.data #>> '{deploy,deployStrategy}' = 'OLD_FIRST'))`;

const placeColumn = (kind: MachineKind): string => (kind === 'SLAVE' ? 'slave_id' : 'rack_id');

/**
 * Tasks by the machine that they run on: what is asked when machines come, go, are emptied or are compared with the rows.
 * By hand: the leader asks this in every pass, of all live tasks.
 */
@Injectable()
export class MachineTaskRepository {
  /** Ids of the active tasks of a machine, in their order. */
  async activeOn(tx: Transaction, kind: MachineKind, id: string): Promise<string[]> {
    const found = await rows<{ task_id: string }>(
      tx,
      `SELECT task_id FROM task WHERE ended_at IS NULL AND ${placeColumn(kind)} = $1 ORDER BY task_id`,
      [id],
    );
    return found.map((row) => row.task_id);
  }

  /** Ids of the tasks on a machine that have no order to go yet. */
  async stayingOn(tx: Transaction, kind: MachineKind, id: string): Promise<string[]> {
    const found = await rows<{ task_id: string }>(
      tx,
      `SELECT task_id FROM task WHERE ended_at IS NULL AND ${placeColumn(kind)} = $1
         AND NOT EXISTS (SELECT 1 FROM task_cleanup c WHERE c.task_id = task.task_id)
         AND NOT EXISTS (SELECT 1 FROM killed_task k WHERE k.task_id = task.task_id)
       ORDER BY task_id`,
      [id],
    );
    return found.map((row) => row.task_id);
  }

  /** Active tasks of these slaves, in the order of task ids. */
  async activeOnSlaves(tx: Queryable, slaveIds: readonly string[]): Promise<TaskOfSlave[]> {
    const found = await rows<TaskOfSlaveRow>(
      tx,
      'SELECT task_id, slave_id FROM task WHERE slave_id = ANY ($1) AND ended_at IS NULL ORDER BY task_id',
      [slaveIds],
    );
    return found.map(taskOfSlave);
  }

  /** Active tasks of slaves that were launched in another incarnation than the one that their slave has now. */
  async activeOfOtherIncarnations(tx: Queryable, slaves: readonly SlaveLife[]): Promise<TaskOfSlave[]> {
    const found = await rows<TaskOfSlaveRow>(
      tx,
      `SELECT task_id, slave_id FROM task JOIN unnest($1::text[], $2::text[]) AS now (slave_id, incarnation) USING (slave_id)
       WHERE task.incarnation <> now.incarnation AND ended_at IS NULL ORDER BY task_id`,
      columnsOf(slaves),
    );
    return found.map(taskOfSlave);
  }

  /** Live tasks of these incarnations of slaves that have ended as far as their rows say. */
  async endedIn(tx: Queryable, slaves: readonly SlaveLife[]): Promise<string[]> {
    const found = await rows<{ task_id: string }>(
      tx,
      `SELECT task_id FROM task JOIN unnest($1::text[], $2::text[]) AS now (slave_id, incarnation) USING (slave_id, incarnation)
       WHERE ended_at IS NOT NULL`,
      columnsOf(slaves),
    );
    return found.map((row) => row.task_id);
  }

  /** Live tasks whose end was concluded while their machine was away, and that may come back with it. */
  async givenUp(tx: Queryable, slaveIds?: readonly string[]): Promise<TaskOfSlave[]> {
    const found = await rows<TaskOfSlaveRow>(
      tx,
      `SELECT t.task_id, t.slave_id FROM task t WHERE t.ended_at IS NOT NULL AND ($1::text[] IS NULL OR t.slave_id = ANY ($1))
         AND (t.state = 'TASK_UNREACHABLE' OR t.state = 'TASK_LOST' AND EXISTS (SELECT 1 FROM task_update u
           WHERE u.task_id = t.task_id AND u.state = t.state AND u.reason = 'REASON_AGENT_REMOVED'))`,
      [slaveIds ?? null],
    );
    return found.map(taskOfSlave);
  }

  /** Tasks that were given up and may still run in another incarnation of these slaves than the one that the slave has now. */
  async mayRunInOthers(tx: Queryable, slaves: readonly SlaveLife[]): Promise<string[]> {
    const found = await rows<{ task_id: string }>(
      tx,
      `SELECT task_id FROM task JOIN unnest($1::text[], $2::text[]) AS now (slave_id, incarnation) USING (slave_id)
       WHERE may_run AND task.incarnation <> now.incarnation`,
      columnsOf(slaves),
    );
    return found.map((row) => row.task_id);
  }

  /** Tasks that were given up: it is certain now that they do not run. */
  async confirmGone(tx: Transaction, taskIds: readonly string[]): Promise<void> {
    await tx.query('UPDATE task SET may_run = false WHERE may_run AND task_id = ANY ($1)', [taskIds]);
  }

  /** Of slaves that a user removes. */
  async confirmGoneOf(tx: Transaction, slaveIds: readonly string[]): Promise<void> {
    await tx.query('UPDATE task SET may_run = false WHERE may_run AND slave_id = ANY ($1)', [slaveIds]);
  }

  /** These live tasks, or all of them, as their rows describe them. */
  async believed(tx: Queryable, taskIds?: readonly string[]): Promise<BelievedTask[]> {
    const found = await rows<BelievedRow>(
      tx,
      `SELECT task_id, slave_id, incarnation, state, ended_at IS NOT NULL AS ended, may_run, answered_at IS NOT NULL AS acknowledged
       FROM task WHERE $1::text[] IS NULL OR task_id = ANY ($1)`,
      [taskIds ?? null],
    );
    return found.map(({ task_id: taskId, slave_id: slaveId, may_run: mayRun, ...row }) => ({
      taskId,
      slaveId,
      mayRun,
      ...row,
    }));
  }

  /** Ids of the given tasks that are live. */
  async live(tx: Queryable, taskIds: readonly string[]): Promise<Set<string>> {
    const found = await rows<{ task_id: string }>(tx, 'SELECT task_id FROM task WHERE task_id = ANY ($1)', [taskIds]);
    return new Set(found.map((row) => row.task_id));
  }

  /** Slaves of the active tasks whose machines have answered their launch, by task id. */
  async answered(tx: Queryable): Promise<Map<string, string>> {
    const found = await rows<TaskOfSlaveRow>(
      tx,
      'SELECT task_id, slave_id FROM task WHERE ended_at IS NULL AND answered_at IS NOT NULL',
    );
    return new Map(found.map((row) => [row.task_id, row.slave_id]));
  }

  /** Active tasks that were launched before then, and of which nothing has been heard since. */
  async silentSince(tx: Queryable, launchedBefore: number): Promise<string[]> {
    const found = await rows<{ task_id: string }>(
      tx,
      `SELECT task_id FROM task WHERE state = 'TASK_LAUNCHED' AND ended_at IS NULL AND coalesce(counts_since, started_at) < $1`,
      [new Date(launchedBefore)],
    );
    return found.map((row) => row.task_id);
  }

  /** Resources that active tasks use, by slave id. */
  async usedOfSlaves(tx: Queryable): Promise<Map<string, SlaveUse>> {
    const found = await rows<SlaveUse & { slaveId: string }>(
      tx,
      `SELECT slave_id AS "slaveId", sum(cpus) AS cpus, sum(memory_mb) AS "memoryMb", sum(disk_mb) AS "diskMb",
         count(*)::int AS tasks,
         (SELECT coalesce(array_agg(port), '{}') FROM task p, unnest(p.ports) AS port
          WHERE p.slave_id = task.slave_id AND p.ended_at IS NULL) AS ports,
         (SELECT jsonb_object_agg(name, used) FROM (
            SELECT e.name, sum(e.number::numeric) AS used FROM task p, jsonb_each_text(p.extended) AS e (name, number)
            WHERE p.slave_id = task.slave_id AND p.ended_at IS NULL GROUP BY e.name) u) AS extended
       FROM task WHERE ended_at IS NULL GROUP BY slave_id`,
    );
    return new Map(found.map(({ slaveId, ...use }) => [slaveId, use]));
  }

  /** Active tasks that were told to leave their slave because it is overloaded, with their requests. */
  shuffling(tx: Transaction): Promise<{ requestId: string; slaveId: string }[]> {
    return rows(
      tx,
      `SELECT t.request_id AS "requestId", t.slave_id AS "slaveId" FROM task_cleanup c JOIN task t USING (task_id)
       WHERE t.ended_at IS NULL AND c.cleanup_type IN ('REBALANCE_CPU_USAGE', 'REBALANCE_MEMORY_USAGE')`,
    );
  }
}

const taskOfSlave = (row: TaskOfSlaveRow): TaskOfSlave => ({ taskId: row.task_id, slaveId: row.slave_id });
const columnsOf = (slaves: readonly SlaveLife[]): string[][] => [
  slaves.map(({ slaveId }) => slaveId),
  slaves.map(({ incarnation }) => incarnation),
];
