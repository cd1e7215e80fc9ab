import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { launchedText } from '../../core/launch/index.js';
import type { PendingTaskId } from '../../core/model/task.js';
import { RequestRepository } from '../../modules/requests/request.repository.js';
import { SlaveRepository, type UsableSlave } from '../../modules/slaves/slave.repository.js';
import { PendingTaskRepository } from '../../modules/tasks/pending-task.repository.js';
import { TaskLaunchRepository } from '../../modules/tasks/task-launch.repository.js';
import { WebhookOutboxRepository } from '../../modules/webhooks/webhook-outbox.repository.js';
import { LeaderChangeRepository } from '../memory/leader-change.repository.js';
import { recordOf, type PlannedTask } from './task-planner.js';

/** A pending task that is not wanted any more, by the request as it was in that version; undefined: gone. */
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
  constructor(
    private readonly requests: RequestRepository,
    private readonly slaves: SlaveRepository,
    private readonly pendingTasks: PendingTaskRepository,
    private readonly launches: TaskLaunchRepository,
    private readonly changes: LeaderChangeRepository,
    private readonly outbox: WebhookOutboxRepository,
  ) {}

  /** Answers the tasks that exist now; the others are decided again. Ids of starts after `mayBeUsedUpTo` are known to be new. */
  async write(
    tx: EntityManager,
    planned: readonly PlannedTask[],
    now: number,
    mayBeUsedUpTo: number,
  ): Promise<readonly PlannedTask[]> {
    await this.changes.leaveNone(tx);
    // Requests that the API holds right now are left out and wait for the next pass.
    const versions = await this.requests.lockVersions(
      tx,
      unique(planned.map(({ taskId }) => taskId.requestId)),
      'free',
    );
    const current = planned.filter(({ taskId, requestVersion }) => versions.get(taskId.requestId) === requestVersion);
    if (current.length === 0) return [];
    await this.slaves.shareFleet(tx);
    const slaves = await this.slaves.usable(tx, unique(current.map(({ launch }) => launch.slaveId)));
    const doubtful = current.filter(({ taskId }) => taskId.startedAt <= mayBeUsedUpTo).map(({ taskId }) => taskId.id);
    const used = await this.launches.usedIds(tx, doubtful);
    const placeable = current.filter(
      ({ taskId, place }) => !used.has(taskId.id) && isStillThere(place, slaves.get(place.slaveId)),
    );
    const taken = await this.pendingTasks.take(tx, placeable.map(pendingIdOf));
    const launched = placeable.filter((plan) => taken.has(pendingIdOf(plan)));
    if (launched.length === 0) return [];
    await this.launches.insert(tx, launched, now);
    await this.tellWebhooks(tx, launched, now);
    return launched;
  }

  private tellWebhooks(tx: EntityManager, launched: readonly PlannedTask[], now: number): Promise<void> {
    const updates = launched.map(({ taskId, pending }) => ({
      taskId,
      timestamp: now,
      taskState: 'TASK_LAUNCHED' as const,
      statusMessage: launchedText(pending),
      previous: [],
    }));
    const records = () => new Map(launched.map((planned) => [planned.taskId.id, recordOf(planned)]));
    return this.outbox.tasks(tx, updates, () => Promise.resolve(records()));
  }

  /** Removes pending tasks that are not wanted, unless their request changed (or came back) meanwhile. */
  async removeObsolete(tx: EntityManager, obsolete: readonly ObsoleteTask[]): Promise<void> {
    const requestIds = unique(obsolete.map(({ pendingTaskId }) => pendingTaskId.requestId));
    const versions = await this.requests.lockVersions(tx, requestIds, 'all');
    const unchanged = obsolete.filter(
      ({ pendingTaskId, requestVersion }) => versions.get(pendingTaskId.requestId) === requestVersion,
    );
    await this.pendingTasks.remove(
      tx,
      unchanged.map(({ pendingTaskId }) => pendingTaskId.id),
    );
  }
}

/** Is it the machine that was decided on? */
function isStillThere(
  { incarnation, rackId, attributes }: PlannedTask['place'],
  now: UsableSlave | undefined,
): boolean {
  if (!now || now.incarnation !== incarnation || now.rackId !== rackId) return false;
  const names = Object.keys(attributes);
  return (
    names.length === Object.keys(now.attributes).length &&
    names.every((name) => attributes[name] === now.attributes[name])
  );
}

const pendingIdOf = ({ pending }: PlannedTask): string => pending.pendingTaskId.id;

const unique = (ids: readonly string[]): string[] => [...new Set(ids)];
