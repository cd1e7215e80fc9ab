import type { SimulatedCluster } from '../../support/simulated-cluster/simulated-cluster.js';
import type { SeenTask, Sight } from '../world/world.js';
import { checkCapacity } from './capacity.js';
import { activeRacks, checkConstraints, checkWanted } from './constraints.js';
import { checkForward, checkHistory, isGivenUp } from './course.js';
import { checkOldFirst } from './old-first.js';
import { LawBroken } from './law-broken.js';
import { worldSettings } from '../world/settings.js';
import { isHit } from './slots.js';

/**
 * The laws that must hold at every moment, whatever happens. Remembers what it saw, so that it can tell what changed.
 */
export class Lawbook {
  private tasks = new Map<string, Pick<SeenTask, 'taskId' | 'state' | 'endedAt'>>();
  /** That were active at the last look. */
  private racks = 0;
  /** As their rows were at the last look. */
  private machines: Sight['machines'] = new Map();
  private readonly endedAt = new Map<string, number>();
  /** Number of tasks of a request that have ended. */
  private readonly ends = new Map<string, number>();
  /** By request and slot: the task that ran in it. */
  private readonly slots = new Map<string, string>();
  /** Run ids of which a task was written. */
  readonly runs = new Set<string>();
  /** Requests that were paused or deleted at some moment. */
  readonly interrupted = new Set<string>();
  /** Tasks that had to go at some moment, also those that may stay after all. */
  private readonly replaced = new Set<string>();

  /** Tasks that were given up at some moment. */
  private readonly givenUp = new Set<string>();

  constructor(private readonly cluster: SimulatedCluster) {}

  /** `single`: the leader has made one pass at most since the last look, so that the rows are as it saw them. */
  check(sight: Sight, single: boolean): void {
    for (const end of sight.newEnds) {
      checkHistory(end, this.cluster, this.givenUp.has(end.taskId.id));
      this.endedAt.set(end.taskId.id, end.updates.at(-1)!.at);
      this.ends.set(end.taskId.requestId, (this.ends.get(end.taskId.requestId) ?? 0) + 1);
      if (end.runId !== undefined) this.runs.add(end.runId);
    }
    for (const [id, task] of sight.tasks) {
      if (isGivenUp(task)) this.givenUp.add(id);
      const before = this.tasks.get(id);
      if (before) checkForward(before, task);
      else if (task.endedAt === undefined) this.launched(task, sight, single);
      if (this.endedAt.has(id)) throw new LawBroken('What has ended never comes back', id);
    }
    for (const { request, state } of sight.requests.values()) {
      if (state === 'PAUSED' || state === 'DELETING') this.interrupted.add(request.id);
    }
    this.nothingVanishes(sight);
    this.oneTaskPerInstance(sight);
    checkCapacity(sight, this.cluster);
    this.onlyWhatIsWritten(sight);
    this.racks = activeRacks(sight);
    this.machines = sight.machines;
    this.tasks = new Map([...sight.tasks].map(([id, { taskId, state, endedAt }]) => [id, { taskId, state, endedAt }]));
  }

  private launched(task: SeenTask, sight: Sight, single: boolean): void {
    if (task.runId !== undefined) this.runs.add(task.runId);
    const { requestId, startedAt, id } = task.taskId;
    if (startedAt < task.nextRunAt) throw new LawBroken('No task starts before its time', id);
    const racks = Math.min(this.racks, activeRacks(sight));
    checkConstraints(task, sight, this.cluster, { racks, machines: single ? undefined : this.machines });
    if (single) checkWanted(task, sight);
    checkOldFirst(task, sight, single, this.cluster);
    const { request } = sight.requests.get(requestId)!;
    const isOfSlot = task.pendingType !== 'RETRY' && task.pendingType !== 'IMMEDIATE';
    if (request.requestType !== 'SCHEDULED' || !isOfSlot) return;
    const slot = `${requestId} at ${new Date(task.nextRunAt).toISOString()}`;
    const former = this.slots.get(slot);
    const wasTakenBack = former !== undefined && !this.endedAt.has(former) && !sight.tasks.has(former);
    if (former !== undefined && !wasTakenBack) {
      throw new LawBroken('A schedule slot is run once', `${slot}: ${former} and ${id}`);
    }
    // A request that cooled down when the run was planned waits beyond its slot, and may be back since.
    const mayHaveCooledDown = (this.ends.get(requestId) ?? 0) >= worldSettings.crashLoop.cooldownFailureThreshold;
    if (!mayHaveCooledDown && !isHit(request.quartzSchedule!, task.nextRunAt)) {
      throw new LawBroken('A schedule is run at its slots only', `${slot} is none of '${request.quartzSchedule}'`);
    }
    this.slots.set(slot, id);
  }

  /** A task that was written is live or in the history, unless its machine said that it never began. */
  private nothingVanishes(sight: Sight): void {
    for (const id of this.tasks.keys()) {
      if (sight.tasks.has(id) || this.endedAt.has(id)) continue;
      if (this.cluster.starts.has(id)) throw new LawBroken('Nothing is forgotten', `${id} began and is nowhere`);
    }
  }

  /** Machines run what is written and not over, and each task once: no revenants, no inventions of former leaders. */
  private onlyWhatIsWritten(sight: Sight): void {
    for (const { taskId } of this.cluster.runningTasks()) {
      const row = sight.tasks.get(taskId);
      if (row && (row.endedAt === undefined || isGivenUp(row))) continue;
      throw new LawBroken('A task is given up only when nothing of it runs', `${taskId} runs on its machine`);
    }
    for (const [id, times] of this.cluster.starts) {
      if (times > 1) throw new LawBroken('A task starts once', `${id} started ${times} times`);
      const ended = this.endedAt.get(id);
      if (ended !== undefined && this.cluster.startOf.get(id)!.at > ended) {
        throw new LawBroken('A late launch starts nothing', `${id} began after it was declared over`);
      }
    }
  }

  /**
   * At most one live task per request, deploy and instance number. A task that had to go, or was given up, is replaced while it still
   * runs, and both count until the next look at the queue, should its order be taken back. Runs of ON_DEMAND requests
   * are told apart by their run ids instead.
   */
  private oneTaskPerInstance(sight: Sight): void {
    const seen = new Map<string, string>();
    for (const task of sight.tasks.values()) {
      const { requestId, deployId, instanceNo, id } = task.taskId;
      const type = sight.requests.get(requestId)?.request.requestType;
      if (task.cleaning || task.killed || isGivenUp(task)) this.replaced.add(id);
      if (task.endedAt !== undefined || this.replaced.has(id) || type === 'ON_DEMAND') continue;
      const key = `${requestId}-${deployId}-${instanceNo}`;
      const other = seen.get(key);
      if (other !== undefined) throw new LawBroken('One live task per instance', `${other} and ${id}`);
      seen.set(key, id);
    }
  }
}
