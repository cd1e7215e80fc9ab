import { isBesideSchedule } from '../pending-work/index.js';
import type { GivenUpTask, TaskSnapshot, RequestView } from './snapshot.js';

/** Locations of the tasks of one request, kept up to date while a round places more of them. */
export class RequestSpread {
  private readonly bySlave = new Map<string, TaskSnapshot[]>();
  /** Active tasks that are neither cleaning nor killed: deploy id, rack, count. */
  private readonly racks = new Map<string, Map<string, number>>();
  active = 0;
  /** Active tasks that take turns with others of the request. */
  inTurn = 0;
  /** Tasks that were given up and may still run. */
  readonly givenUp: readonly GivenUpTask[];
  /** Deploys of live tasks. */
  readonly deployIds = new Set<string>();
  pending: number;

  constructor(view: RequestView) {
    this.pending = view.pendingTasks;
    for (const task of view.tasks) this.count(task);
    this.givenUp = [...(view.givenUp ?? [])];
    for (const { taskId } of this.givenUp) this.deployIds.add(taskId.deployId);
  }

  /** Number of tasks that run, or may run. */
  get live(): number {
    return this.active + this.givenUp.length;
  }

  add(task: TaskSnapshot): void {
    this.count(task);
    this.pending -= 1;
  }

  private count(task: TaskSnapshot): void {
    this.active += 1;
    this.deployIds.add(task.taskId.deployId);
    if (!isBesideSchedule(task)) this.inTurn += 1;
    const there = this.bySlave.get(task.slaveId);
    if (there) there.push(task);
    else this.bySlave.set(task.slaveId, [task]);
    if (task.cleaning || task.killed) return;
    const { deployId } = task.taskId;
    const ofDeploy = this.racks.get(deployId) ?? new Map<string, number>();
    this.racks.set(deployId, ofDeploy.set(task.rackId, (ofDeploy.get(task.rackId) ?? 0) + 1));
  }

  on(slaveId: string): readonly TaskSnapshot[] {
    return this.bySlave.get(slaveId) ?? [];
  }

  /** Slaves with at least one active task. */
  get slaves(): ReadonlyMap<string, readonly TaskSnapshot[]> {
    return this.bySlave;
  }

  rackCounts(deployId: string): ReadonlyMap<string, number> {
    return this.racks.get(deployId) ?? new Map<string, number>();
  }
}
