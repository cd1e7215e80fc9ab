import type { MachineSnapshot } from '../../../src/cluster/cluster-driver.js';
import { type DeployCounts, noCounts } from '../../../src/core/completion/index.js';
import type { Deploy } from '../../../src/core/model/deploy.js';
import {
  promisedTypes,
  type MachineState,
  type TaskCleanupType,
  type TaskState,
} from '../../../src/core/model/enums.js';
import type { LaunchSpec } from '../../../src/core/model/launch.js';
import type { RequestCleanup } from '../../../src/core/model/request.js';
import type { PendingRequest, PendingTask, TaskCleanup } from '../../../src/core/model/task.js';
import type { StoredPendingDeploy } from '../../../src/modules/deploys/deploy.repository.js';
import type { StoredRequest } from '../../../src/modules/requests/request.repository.js';
import type { SeenTask } from '../world/world.js';

export interface TaskUpdateRow {
  state: TaskState;
  at: number;
  message?: string;
  reason?: string;
}

export interface TaskRow extends Omit<SeenTask, 'cleaning' | 'killed'> {
  pendingTask: PendingTask;
  spec: LaunchSpec;
  answered: boolean;
  runningAt?: number;
  /** It was given up, and may still run. */
  mayRun: boolean;
  updates: TaskUpdateRow[];
}

export interface KillRow {
  taskId: string;
  cleanupType: TaskCleanupType;
  killedAt: number;
  graceMillis: number;
  sent: boolean;
}

export interface MachineRow {
  machine: MachineSnapshot;
  state: MachineState;
}

/** Content of the database, as plain maps. A call that changes them is a transaction: nothing comes in between. */
export class Tables {
  epoch = 0;
  readonly requests = new Map<string, StoredRequest>();
  /** By `requestId-deployId`. */
  readonly deploys = new Map<string, Deploy>();
  readonly pendingDeploys = new Map<string, StoredPendingDeploy>();
  /** By request, deploy and entry key; in the order of their coming. */
  readonly queue = new Map<string, PendingRequest>();
  readonly pendingTasks = new Map<string, PendingTask>();
  /** Live rows: active tasks, and ended ones that a deploy in progress still looks at. */
  readonly tasks = new Map<string, TaskRow>();
  readonly ended: TaskRow[] = [];
  readonly cleanups = new Map<string, TaskCleanup>();
  readonly kills = new Map<string, KillRow>();
  /** By request and type. */
  readonly requestCleanups = new Map<string, RequestCleanup>();
  readonly machines = new Map<string, MachineRow>();
  readonly racks = new Map<string, MachineState>();
  /** Position up to which the updates of each agent are applied. */
  readonly cursors = new Map<string, { incarnation: string; number: number }>();
  private readonly counts = new Map<string, DeployCounts>();

  countsOf(key: string): DeployCounts {
    return this.counts.get(key) ?? noCounts;
  }

  saveCounts(key: string, counts: DeployCounts): void {
    this.counts.set(key, counts);
  }

  /** Every change of a request raises its version. */
  save(stored: StoredRequest): StoredRequest {
    const saved = { ...stored, version: stored.version + 1 };
    this.requests.set(stored.request.id, saved);
    return saved;
  }

  /** Tasks of one request that were given up and may still run. */
  givenUpOf(requestId: string): TaskRow[] {
    return this.tasksOf(requestId, true).filter(({ mayRun }) => mayRun);
  }

  /** Tasks of one request that have not ended, or all. */
  tasksOf(requestId: string, includeEnded = false): TaskRow[] {
    return [...this.tasks.values()].filter(
      (task) => task.taskId.requestId === requestId && (includeEnded || task.endedAt === undefined),
    );
  }

  /** A task has or had this id. */
  hadTask(id: string): boolean {
    return this.tasks.has(id) || this.ended.some(({ taskId }) => taskId.id === id);
  }

  pendingOf(requestId: string): PendingTask[] {
    return [...this.pendingTasks.values()].filter(({ pendingTaskId }) => pendingTaskId.requestId === requestId);
  }

  requestCleanupsOf(requestId: string): RequestCleanup[] {
    return [...this.requestCleanups.values()].filter((cleanup) => cleanup.requestId === requestId);
  }

  dropPending(isUnwanted: (task: PendingTask) => boolean): void {
    for (const [id, task] of this.pendingTasks) if (isUnwanted(task)) this.pendingTasks.delete(id);
  }

  /** An entry that exists stays, unless it is STARTUP. False: it stayed. */
  enqueue(entry: PendingRequest): boolean {
    const key = `${entry.requestId} ${entry.deployId} ${entryKey(entry)}`;
    const waiting = this.queue.get(key);
    if (waiting && !(waiting.pendingType === 'STARTUP' && entry.pendingType !== 'STARTUP')) return false;
    this.queue.set(key, entry);
    return true;
  }

  /** The first order counts, unless it is to be overwritten. */
  order(cleanup: TaskCleanup, overwrite = false): boolean {
    const task = this.tasks.get(cleanup.taskId.id);
    if (!task || task.endedAt !== undefined) return false;
    if (this.cleanups.has(task.taskId.id) && !overwrite) return false;
    this.cleanups.set(task.taskId.id, cleanup);
    const message = `${cleanup.cleanupType}${cleanup.message ? ` - ${cleanup.message}` : ''}`;
    task.updates = task.updates.filter(({ state }) => state !== 'TASK_CLEANING');
    task.updates.push({ state: 'TASK_CLEANING', at: cleanup.timestamp, message });
    return true;
  }
}

function entryKey({ pendingType, timestamp, runId }: PendingRequest): string {
  return promisedTypes.includes(pendingType) ? `${timestamp}/${runId ?? ''}` : '';
}
