import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { launchedText } from '../../core/launch/index.js';
import type { PendingTaskId } from '../../core/model/task.js';
import { shareFleet } from '../../modules/slaves/fleet-lock.js';
import { WebhookOutbox } from '../../modules/webhooks/webhook-outbox.service.js';
import { rows } from '../../platform/database/sql.js';
import { recordOf, type PlannedTask } from './task-planner.js';

/** A slave that takes tasks, as its row says. */
interface UsableMachine {
  incarnation: string;
  rack_id: string;
  attributes: Record<string, string>;
}

/** A pending task that nobody wants, by the request as it was in that version; undefined: gone. */
export interface ObsoleteTask {
  pendingTaskId: PendingTaskId;
  requestVersion: number | undefined;
}

/**
 * Writes what was placed, as far as it still holds. The order of the statements is the order of locks: requests, fleet,
 * pending tasks, tasks.
 */
@Injectable()
export class PlacementWriter {
  constructor(private readonly outbox: WebhookOutbox) {}

  /** Answers the tasks that exist now; the others are decided again. */
  async write(tx: EntityManager, planned: readonly PlannedTask[], now: number): Promise<readonly PlannedTask[]> {
    // The leader tells its memory itself what was placed.
    await tx.query(`SELECT set_config('muster.keeps_memory', 'on', true)`);
    const versions = await this.lockRequests(tx, planned);
    const current = planned.filter(({ taskId, requestVersion }) => versions.get(taskId.requestId) === requestVersion);
    if (current.length === 0) return [];
    await shareFleet(tx);
    const machines = await this.usableMachines(tx, current);
    const placeable = current.filter(({ place }) => isStillThere(place, machines.get(place.slaveId)));
    const taken = await this.takePending(tx, placeable);
    const launched = placeable.filter((plan) => taken.has(pendingIdOf(plan)));
    if (launched.length === 0) return [];
    await this.insertTasks(tx, launched, now);
    await this.insertLaunches(tx, launched, now);
    await this.tellWebhooks(tx, launched, now);
    return launched;
  }

  /** Requests that the API holds right now are left out and wait for the next pass. */
  private async lockRequests(tx: EntityManager, planned: readonly PlannedTask[]): Promise<Map<string, number>> {
    const found = await rows<{ id: string; version: number }>(
      tx,
      'SELECT id, version FROM request WHERE id = ANY ($1) ORDER BY id FOR NO KEY UPDATE SKIP LOCKED',
      [[...new Set(planned.map(({ taskId }) => taskId.requestId))]],
    );
    return new Map(found.map((row) => [row.id, row.version]));
  }

  private async usableMachines(
    tx: EntityManager,
    planned: readonly PlannedTask[],
  ): Promise<Map<string, UsableMachine>> {
    const found = await rows<UsableMachine & { id: string }>(
      tx,
      `SELECT s.id, s.incarnation, s.rack_id, s.attributes FROM slave s LEFT JOIN rack r ON r.id = s.rack_id
       WHERE s.id = ANY ($1) AND s.state = 'ACTIVE' AND coalesce(r.state, 'ACTIVE') = 'ACTIVE'`,
      [[...new Set(planned.map(({ launch }) => launch.slaveId))]],
    );
    return new Map(found.map((row) => [row.id, row]));
  }

  /** The pending tasks that are still there and wanted, by id. Others touch them one by one, or hold their request. */
  private async takePending(tx: EntityManager, planned: readonly PlannedTask[]): Promise<Set<string>> {
    const found = await rows<{ id: string }>(
      tx,
      'DELETE FROM pending_task WHERE id = ANY ($1) AND NOT delete_requested RETURNING id',
      [planned.map(pendingIdOf)],
    );
    return new Set(found.map((row) => row.id));
  }

  private async insertTasks(tx: EntityManager, planned: readonly PlannedTask[], now: number): Promise<void> {
    const column = <T>(pick: (task: PlannedTask) => T): T[] => planned.map(pick);
    await tx.query(
      `INSERT INTO task (task_id, request_id, deploy_id, slave_id, instance_no, host, rack_id, started_at, pending_type, run_id,
         action_id, skip_healthchecks, cpus, memory_mb, disk_mb, ports, incarnation, state, state_at)
       SELECT task_id, request_id, deploy_id, slave_id, instance_no, host, rack_id, started_at, pending_type, run_id,
         action_id, skip_healthchecks, cpus, memory_mb, disk_mb, ports::integer[], incarnation, 'TASK_LAUNCHED', $18
       FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::integer[], $6::text[], $7::text[],
         $8::timestamptz[], $9::text[], $10::text[], $11::text[], $12::boolean[], $13::float8[], $14::float8[], $15::float8[],
         $16::text[], $17::text[])
       AS p (task_id, request_id, deploy_id, slave_id, instance_no, host, rack_id, started_at, pending_type, run_id,
         action_id, skip_healthchecks, cpus, memory_mb, disk_mb, ports, incarnation)`,
      [
        column(({ taskId }) => taskId.id),
        column(({ taskId }) => taskId.requestId),
        column(({ taskId }) => taskId.deployId),
        column(({ place }) => place.slaveId),
        column(({ taskId }) => taskId.instanceNo),
        column(({ place }) => place.hostname),
        column(({ place }) => place.rackId),
        column(({ taskId }) => new Date(taskId.startedAt)),
        column(({ pending }) => pending.pendingTaskId.pendingType),
        column(({ pending }) => pending.runId ?? null),
        column(({ pending }) => pending.actionId ?? null),
        column(({ pending }) => pending.skipHealthchecks ?? false),
        column(({ launch }) => launch.cpus),
        column(({ launch }) => launch.memoryMb),
        column(({ launch }) => launch.diskMb),
        column(({ launch }) => `{${launch.ports.join(',')}}`),
        column(({ launch }) => launch.incarnation),
        new Date(now),
      ],
    );
  }

  /** Documents travel as one JSON array: as elements of a PostgreSQL array each of their quotes would be escaped. */
  private async insertLaunches(tx: EntityManager, planned: readonly PlannedTask[], now: number): Promise<void> {
    const ids = planned.map(({ taskId }) => taskId.id);
    await tx.query(
      `INSERT INTO task_launch (task_id, document)
       SELECT task_id, document FROM ROWS FROM (unnest($1::text[]), json_array_elements($2::json)) AS l (task_id, document)`,
      [ids, `[${planned.map(({ document }) => document).join(',')}]`],
    );
    await tx.query(
      `INSERT INTO task_update (task_id, state, at, message)
       SELECT task_id, 'TASK_LAUNCHED', $3, message FROM unnest($1::text[], $2::text[]) AS u (task_id, message)`,
      [ids, planned.map(({ pending }) => launchedText(pending)), new Date(now)],
    );
  }

  private tellWebhooks(tx: EntityManager, launched: readonly PlannedTask[], now: number): Promise<void> {
    const byId = new Map(launched.map((planned) => [planned.taskId.id, planned]));
    const updates = launched.map(({ taskId, pending }) => ({
      taskId,
      timestamp: now,
      taskState: 'TASK_LAUNCHED' as const,
      statusMessage: launchedText(pending),
      previous: [],
    }));
    return this.outbox.tasks(tx, updates, (taskId) => Promise.resolve(recordOf(byId.get(taskId)!)));
  }

  /** Removes pending tasks that nobody wants, unless their request changed (or came back) meanwhile. */
  async removeObsolete(tx: EntityManager, obsolete: readonly ObsoleteTask[]): Promise<void> {
    const found = await rows<{ id: string; version: number }>(
      tx,
      'SELECT id, version FROM request WHERE id = ANY ($1) ORDER BY id FOR NO KEY UPDATE',
      [[...new Set(obsolete.map(({ pendingTaskId }) => pendingTaskId.requestId))]],
    );
    const versions = new Map(found.map((row) => [row.id, row.version]));
    const unchanged = obsolete.filter(
      ({ pendingTaskId, requestVersion }) => versions.get(pendingTaskId.requestId) === requestVersion,
    );
    const ids = unchanged.map(({ pendingTaskId }) => pendingTaskId.id);
    if (ids.length > 0) await tx.query('DELETE FROM pending_task WHERE id = ANY ($1)', [ids]);
  }
}

/** Is it the machine that was decided on? */
function isStillThere(
  { incarnation, rackId, attributes }: PlannedTask['place'],
  now: UsableMachine | undefined,
): boolean {
  if (!now || now.incarnation !== incarnation || now.rack_id !== rackId) return false;
  const names = Object.keys(attributes);
  return (
    names.length === Object.keys(now.attributes).length &&
    names.every((name) => attributes[name] === now.attributes[name])
  );
}

const pendingIdOf = ({ pending }: PlannedTask): string => pending.pendingTaskId.id;
