import { Inject, Injectable } from '@nestjs/common';
import { launchedText } from '../../core/launch/index.js';
import type { PendingTaskId } from '../../core/model/task.js';
import { isCountedStart } from '../../core/pending-work/index.js';
import { GroupRoom, isFrozen } from '../../core/placement/index.js';
import { Rows } from '../../rows.js';
import { priorityRules } from '../../modules/priority/priority-rules.js';
import type { UsableSlave } from '../../modules/slaves/slave.repository.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { LeaderChangeRepository } from '../memory/leader-change.repository.js';
import { recordOf, type PlannedTask } from './task-planner.js';

/** A pending task that is not wanted any more, by the request as it was in that version; undefined: gone. */
export interface ObsoleteTask {
  pendingTaskId: PendingTaskId;
  requestVersion: number | undefined;
}

/** Outcome of planned tasks. */
export interface WriteResult {
  launched: readonly PlannedTask[];
  /** Requests that another transaction held, or that are not as they were when it was decided. */
  contended: readonly string[];
}

/**
 * Writes what was placed, as far as it still holds. The order of the statements is the order of locks: requests, fleet,
 * pending tasks, tasks.
 */
@Injectable()
export class PlacementWriter {
  constructor(
    private readonly rows: Rows,
    private readonly changes: LeaderChangeRepository,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /**
   * Answers the tasks that exist now, and requests that were held or have changed; what is not written is decided again. Ids of
   * starts after `mayBeUsedUpTo` are known to be new.
   */
  async write(
    tx: Transaction,
    planned: readonly PlannedTask[],
    now: number,
    mayBeUsedUpTo: number,
  ): Promise<WriteResult> {
    // In one go and in this order. Requests that the API holds right now are left out.
    const [, versions, , freeze, slaves] = await Promise.all([
      this.changes.leaveNone(tx),
      this.rows.requests.lockVersions(tx, unique(planned.map(({ taskId }) => taskId.requestId)), 'free'),
      this.rows.slaves.shareFleet(tx),
      // It may have begun since the decision. Who kills what runs below it waits for the placements that did not see it.
      this.rows.priorityFreezes.active(tx),
      this.rows.slaves.usable(tx, unique(planned.map(({ launch }) => launch.slaveId))),
    ]);
    const isCurrent = ({ taskId, requestVersion }: PlannedTask): boolean =>
      versions.get(taskId.requestId) === requestVersion;
    const current = planned.filter(isCurrent);
    const contended = unique(planned.filter((plan) => !isCurrent(plan)).map(({ taskId }) => taskId.requestId));
    if (current.length === 0) return { launched: [], contended };
    const doubtful = current.filter(({ taskId }) => taskId.startedAt <= mayBeUsedUpTo).map(({ taskId }) => taskId.id);
    const used = await this.rows.taskLaunches.usedIds(tx, doubtful);
    const rules = priorityRules(this.settings);
    const allowed = current.filter(
      ({ taskId, place, request }) =>
        !used.has(taskId.id) && isStillThere(place, slaves.get(place.slaveId)) && !isFrozen(request, freeze, rules),
    );
    const placeable = await this.withRoom(tx, await this.withEndedOnes(tx, allowed));
    const taken = await this.rows.pendingTasks.take(tx, placeable.map(pendingIdOf));
    const launched = placeable.filter((plan) => taken.has(pendingIdOf(plan)));
    if (launched.length === 0) return { launched, contended };
    await Promise.all([
      this.rows.taskLaunches.insert(tx, launched, now),
      this.rows.requestTimings.countStarts(
        tx,
        launched.filter(({ request, pending }) => isCountedStart(request, pending)).map(requestIdOf),
      ),
      this.publish(tx, launched, now),
    ]);
    return { launched, contended };
  }

  /**
   * Those for which their concurrency groups have room by the rows, too: a run that comes back with its machine counts from the commit
   * of that, which the decision may not have seen.
   */
  private async withRoom(tx: Transaction, planned: readonly PlannedTask[]): Promise<readonly PlannedTask[]> {
    const names = planned.flatMap(({ request }) => request.concurrencyGroup?.name ?? []);
    if (names.length === 0) return planned;
    const room = new GroupRoom(await this.rows.concurrencyGroups.lockUse(tx, names));
    return planned.filter(({ request }) => {
      if (room.fullFor(request)) return false;
      room.take(request);
      return true;
    });
  }

  /** Those in whose place an old task has ended by the rows, too, for the same reason. */
  private async withEndedOnes(tx: Transaction, planned: readonly PlannedTask[]): Promise<readonly PlannedTask[]> {
    const bounded = unique(planned.filter(({ mostLive }) => mostLive !== undefined).map(requestIdOf));
    if (bounded.length === 0) return planned;
    const live = await this.rows.tasks.liveCounts(tx, bounded);
    return planned.filter(({ taskId: { requestId }, mostLive }) => {
      const count = live.get(requestId) ?? 0;
      if (mostLive !== undefined && count >= mostLive) return false;
      live.set(requestId, count + 1);
      return true;
    });
  }

  private publish(tx: Transaction, launched: readonly PlannedTask[], now: number): Promise<void> {
    const updates = launched.map(({ taskId, pending }) => ({
      taskId,
      timestamp: now,
      taskState: 'TASK_LAUNCHED' as const,
      statusMessage: launchedText(pending),
      previous: [],
    }));
    const isWhole = this.settings.storeAllClusterTaskInfoForDebugging;
    const records = () => new Map(launched.map((planned) => [planned.taskId.id, recordOf(planned, isWhole)]));
    return this.rows.outbox.tasks(tx, updates, () => Promise.resolve(records()));
  }

  /** Waits for the rows of requests in their turn, for the rest of `tx`. */
  async lock(tx: Transaction, requestIds: readonly string[]): Promise<void> {
    await this.rows.requests.lockInTurn(tx, requestIds);
  }

  /** Removes pending tasks that are not wanted, unless their request changed (or came back) meanwhile; answers those requests. */
  async removeObsolete(tx: Transaction, obsolete: readonly ObsoleteTask[]): Promise<readonly string[]> {
    const requestIds = unique(obsolete.map(({ pendingTaskId }) => pendingTaskId.requestId));
    const versions = await this.rows.requests.lockVersions(tx, requestIds, 'all');
    const isUnchanged = ({ pendingTaskId, requestVersion }: ObsoleteTask): boolean =>
      versions.get(pendingTaskId.requestId) === requestVersion;
    await this.rows.pendingTasks.remove(
      tx,
      obsolete.filter(isUnchanged).map(({ pendingTaskId }) => pendingTaskId.id),
    );
    return unique(obsolete.filter((task) => !isUnchanged(task)).map(({ pendingTaskId }) => pendingTaskId.requestId));
  }
}

/** True if it is the machine that was decided on. */
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

const requestIdOf = ({ taskId }: PlannedTask): string => taskId.requestId;

const unique = (ids: readonly string[]): string[] => [...new Set(ids)];
