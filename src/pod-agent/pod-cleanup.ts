import { statfs } from 'node:fs/promises';
import type { RemovalReason } from '../cluster/cluster-driver.js';
import { hasUploadsLeft, removeRecords } from '../agent/logs/records.js';
import { isTooFull, leastKeptMillis } from '../agent/sandbox/disk-space.js';
import { fileNameOf } from '../agent/state/task-directory.js';
import { PutOff, type Removals } from '../agent/upkeep/removals.js';
import type { PodContext, PodTask } from './pod-task.js';
import type { PodTasks } from './pod-tasks.js';

/**
 * Time after which a prepared task without a pod is removed: a kubelet may be silent for long, and its pods wait for
 * it.
 */
const unusedMillis = 24 * 3600 * 1000;

/** Removes the files of tasks that have ended, by the rules of an agent of processes. */
export class PodCleanup {
  private readonly withoutFurtherLogs = new WeakSet<PodTask>();

  constructor(
    private readonly context: PodContext,
    private readonly tasks: PodTasks,
    private readonly removals: Removals,
  ) {}

  async run(): Promise<void> {
    const now = Date.now();
    const { sandboxRetentionMillis } = this.context.settings;
    for (const task of this.tasks.all()) {
      const { endedAt, uid, preparedAt } = task;
      if (task.areLogsFinished && now - (endedAt ?? now) >= leastKeptMillis) await this.removeFurtherLogs(task);
      if (endedAt !== undefined && now - endedAt >= sandboxRetentionMillis) await this.remove(task, 'SANDBOX_AGE');
      else if (endedAt === undefined && uid === undefined && now - preparedAt >= unusedMillis)
        await this.remove(task, 'SANDBOX_WITHOUT_TASK');
      else if (endedAt !== undefined) await this.removeApp(task, now - endedAt);
    }
    this.removals.lastCleanupAt = now;
  }

  /** While the disk is fuller than it may be, the files of the tasks that ended first go. */
  async makeRoom(): Promise<void> {
    const ended = this.tasks
      .all()
      .flatMap((task) => (task.endedAt === undefined ? [] : { task, endedAt: task.endedAt }));
    const { root, sandboxDiskHighWaterPct } = this.context.settings;
    for (const { task, endedAt } of ended.toSorted((a, b) => a.endedAt - b.endedAt)) {
      if (Date.now() - endedAt < leastKeptMillis || !isTooFull(await statfs(root), sandboxDiskHighWaterPct)) return;
      await this.remove(task, 'DISK_FULL');
    }
  }

  /** Once after its end. */
  private async removeFurtherLogs(task: PodTask): Promise<void> {
    if (this.withoutFurtherLogs.has(task)) return;
    this.withoutFurtherLogs.add(task);
    await task
      .removeFurtherLogs((bytes) => this.removals.note('ROTATED_FILES', bytes))
      .catch((cause: unknown) => this.context.log.error(`Task ${task.id}: its rotated files`, cause));
  }

  /**
   * Its output is not all taken yet, or something of it is still to be uploaded. On a full disk nothing waits for files that the store
   * refuses.
   */
  private async isWaitedFor(task: PodTask, reason: RemovalReason): Promise<boolean> {
    if (task.endedAt === undefined) return false;
    if (!task.areLogsFinished) return true;
    const { logs } = this.context;
    if (logs.settings.uploadTarget === undefined) return false;
    const counts = (record: string) => reason !== 'DISK_FULL' || !logs.uploads.isRefused(record);
    return hasUploadsLeft(logs, fileNameOf(task.id), counts);
  }

  /** It is often the largest part, and hardly ever looked at. */
  private async removeApp(task: PodTask, age: number): Promise<void> {
    const { settings, log, stopping } = this.context;
    const { executor, root } = task.sandbox;
    const keepMillis = Math.max(leastKeptMillis, settings.cleanupAppDirectoryOfFailedTasksAfterMillis);
    const isKept = !executor || task.pod.executor?.preserveTaskSandboxAfterFinish || age < keepMillis;
    if (isKept || task.isCleaned || stopping.aborted) return;
    try {
      await this.removals.removeApp({ root, executor }, { now: Date.now(), log });
      task.isCleaned = true;
    } catch (cause) {
      if (!(cause instanceof PutOff)) this.removals.failures++;
    }
  }

  /** One that cannot be removed does not keep the others. */
  private async remove(task: PodTask, reason: RemovalReason): Promise<void> {
    if (this.context.stopping.aborted) return;
    try {
      if (await this.isWaitedFor(task, reason)) return;
      const { log, logs } = this.context;
      await this.removals.remove(reason, task.path, { now: Date.now(), log }, () => this.tasks.remove(task));
      await removeRecords(logs, fileNameOf(task.id));
    } catch (cause) {
      if (!(cause instanceof PutOff)) this.removals.failures++;
    }
  }
}
