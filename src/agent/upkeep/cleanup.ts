import { lstat, readdir, statfs } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { groupBy } from '../../core/group-by.js';
import type { KeptRuns } from '../../core/model/request.js';
import type { RemovalReason } from '../../cluster/cluster-driver.js';
import type { AgentContext } from '../agent-context.js';
import { writeDurably } from '../../platform/files.js';
import { additionalLogs, type LoggedLaunch, mainLogs } from '../logs/plan.js';
import { compressResults, removeResults } from '../logs/results.js';
import { finishRecords, hasUploadsLeft, removeRecords } from '../logs/records.js';
import { removeTailRecord, removeTailRecordsBefore } from '../logs/tail-record.js';
import type { RemovalResult } from '../sandbox/remove-tree.js';
import { type Sandbox, sandboxOfSpec } from '../sandbox/sandbox-layout.js';
import { PutOff, type Removals } from './removals.js';
import { TaskDirectory } from '../state/task-directory.js';
import type { Tombstones } from '../state/tombstones.js';
import { isTooFull, leastKeptMillis } from '../sandbox/disk-space.js';
import type { UploadCounts } from '../uploads/upload-counts.js';

/** Time for which an id is remembered after its end was acknowledged, or after its tombstone was put. */
const dayMillis = 24 * 3600 * 1000;
export const rememberMillis = dayMillis;

/** Result of one clean-up. */
export interface CleanupResult {
  /** Epoch millis. */
  at: number;
  /** Tasks that have ended and are remembered. */
  totalTaskFiles: number;
  runningTasksIgnored: number;
  /** Nothing of them is left to remove but their sandbox. */
  successfullyCleanedTasks: number;
  /** Tasks that keep something for now. */
  waitingTasks: number;
  /** Tasks of which something could not be removed. */
  errorTasks: number;
  removedAppFolders: number;
  removedSandboxes: number;
  freedBytes: number;
  errorMessage?: string;
}

/** Context of a clean-up. */
export interface CleanupContext extends Pick<
  AgentContext,
  'directory' | 'settings' | 'rotateProgram' | 'stopping' | 'now' | 'log'
> {
  removals: Removals;
  finishedUploads?: Set<string>;
  /** Absent: the agent uploads nothing. */
  uploads?: Pick<UploadCounts, 'isRefused'>;
}

/** An ended task whose end is stored. Known from one clean-up to the next, so that its files are read once. */
export interface CleanableTask {
  name: string;
  record: TaskDirectory;
  state: string;
  endedAt: number;
  /** Absent: its launch is not on disk any more. */
  requestId?: string | undefined;
  /** Sandboxes of its request that are kept, as it was launched. */
  keep?: KeptRuns | undefined;
  /** Nothing but the sandbox as a whole is left to remove. */
  isCleaned: boolean;
  /** The sandbox has gone, and only the end is kept. */
  isForgotten: boolean;
}

/** Removes what has been kept long enough: files and records of tasks whose end is stored, and tombstones. */
export class Cleanup {
  private readonly result: CleanupResult;
  /** Tasks beyond the number that their request keeps. */
  private surplus: ReadonlySet<CleanableTask> = new Set();

  /** `known`: by name, what earlier clean-ups found. */
  constructor(
    private readonly cleaning: CleanupContext,
    private readonly known = new Map<string, CleanableTask>(),
  ) {
    this.result = {
      at: cleaning.now(),
      totalTaskFiles: 0,
      runningTasksIgnored: 0,
      successfullyCleanedTasks: 0,
      waitingTasks: 0,
      errorTasks: 0,
      removedAppFolders: 0,
      removedSandboxes: 0,
      freedBytes: 0,
    };
  }

  async run(tombstones: Tombstones): Promise<CleanupResult> {
    const { directory, settings, stopping } = this.cleaning;
    const ended = await this.ended();
    this.result.totalTaskFiles = ended.length;
    this.surplus = surplusOf(ended);
    this.result.runningTasksIgnored = (await readdir(directory.tasks)).length;
    for (const task of ended) if (!stopping.aborted) await this.tryTo(() => this.cleanUp(task));
    await this.removeOwnerlessSandboxes();
    await this.tryTo(() =>
      removeTailRecordsBefore(this.cleaning, directory.allSandboxes, this.now - settings.sandboxRetentionMillis),
    );
    await this.makeRoom(ended);
    await tombstones.removeOlderThan(this.now - rememberMillis);
    this.cleaning.removals.lastCleanupAt = this.now;
    await writeDurably(directory.cleanup, `${JSON.stringify(this.result)}\n`);
    return this.result;
  }

  /** While the disk is fuller than it may be, the sandboxes of the tasks that ended first go. */
  async makeRoom(ended?: readonly CleanableTask[]): Promise<number> {
    if (!(await this.isTooFull())) return 0;
    const oldestFirst = (ended ?? (await this.ended())).toSorted((a, b) => a.endedAt - b.endedAt);
    for (const { name, endedAt, isForgotten } of oldestFirst) {
      if (isForgotten) continue;
      if (this.cleaning.stopping.aborted || !(await this.isTooFull())) break;
      if (this.now - endedAt < leastKeptMillis || (await this.isWaitedFor(name, 'DISK_FULL'))) continue;
      await this.tryTo(() => this.removeSandbox(name, 'DISK_FULL'));
    }
    return this.result.removedSandboxes;
  }

  private get now(): number {
    return this.result.at;
  }

  private async ended(): Promise<CleanableTask[]> {
    const { directory } = this.cleaning;
    const names = new Set(await readdir(directory.ended));
    for (const name of this.known.keys()) if (!names.has(name)) this.known.delete(name);
    for (const name of names) {
      if (this.known.has(name)) continue;
      const record = TaskDirectory.at(join(directory.ended, name));
      const end = await record.readEnd().catch(() => undefined);
      const [state, endedAt] = [end?.state ?? '', end?.acknowledgedAt ?? 0];
      const spec = (await record.readLaunch().catch(() => undefined))?.spec;
      const launched = { requestId: spec?.requestId, keep: spec?.keepSandboxes };
      this.known.set(name, { name, record, state, endedAt, ...launched, isCleaned: false, isForgotten: false });
    }
    return [...this.known.values()];
  }

  private async cleanUp(task: CleanableTask): Promise<void> {
    const age = this.now - task.endedAt;
    const isOld = age >= this.retentionMillis(task);
    if (task.isForgotten || (isOld && !(await this.isWaitedFor(task.name, 'SANDBOX_AGE')))) {
      if (!task.isForgotten) await this.removeSandbox(task.name, 'SANDBOX_AGE');
      if (age >= rememberMillis) await task.record.remove();
      else if (!task.isForgotten) await task.record.keepEndOnly();
      task.isForgotten = true;
      this.result.successfullyCleanedTasks++;
      return;
    }
    task.isCleaned ||= await this.cleanSandbox(task, age);
    if (task.isCleaned) this.result.successfullyCleanedTasks++;
    else this.result.waitingTasks++;
  }

  /** A request may shorten what the installation says, and not lengthen it. */
  private retentionMillis(task: CleanableTask): number {
    const ofRequest = (task.keep?.days ?? Number.POSITIVE_INFINITY) * dayMillis;
    const longest = Math.min(this.cleaning.settings.sandboxRetentionMillis, ofRequest);
    return this.surplus.has(task) ? Math.min(longest, leastKeptMillis) : longest;
  }

  /** Answers whether all of it is done that is done before the sandbox goes as a whole. */
  private async cleanSandbox({ record, state }: CleanableTask, age: number): Promise<boolean> {
    const { directory, settings } = this.cleaning;
    const spec = (await record.readLaunch())?.spec;
    if (!spec) return true;
    const sandbox = sandboxOfSpec(directory, spec);
    await this.finishLogs(spec, sandbox, age >= leastKeptMillis);
    const { root, executor } = sandbox;
    if (!executor) return true;
    if (age < leastKeptMillis || spec.executorData?.preserveTaskSandboxAfterFinish) return false;
    if (state === 'TASK_FAILED' && age < settings.cleanupAppDirectoryOfFailedTasksAfterMillis) return false;
    const { removals, log } = this.cleaning;
    if (this.count(await removals.removeApp({ root, executor }, { now: this.now, log })))
      this.result.removedAppFolders++;
    return true;
  }

  /** Compresses what was left when an agent ended, and removes results that are not to be kept. */
  private async finishLogs(spec: LoggedLaunch, sandbox: Sandbox, isOld: boolean): Promise<void> {
    const { settings, stopping: signal } = this.cleaning;
    const additional = await additionalLogs(sandbox, settings, 'WITH_RESULTS');
    for (const log of sandbox.executor ? [...mainLogs(spec, sandbox, settings), ...additional] : [])
      await compressResults({ ...this.cleaning, signal }, sandbox.root, basename(log.path), log.into);
    await finishRecords(this.cleaning, { spec, sandbox });
    for (const log of additional.filter(({ deleteAfterEnd }) => isOld && deleteAfterEnd))
      await removeResults(log, (bytes) => {
        this.cleaning.removals.note('ROTATED_FILES', bytes);
        this.result.freedBytes += bytes;
      });
  }

  /** Left by tasks of an earlier incarnation, of which there is no record any more. */
  private async removeOwnerlessSandboxes(): Promise<void> {
    const { directory, settings } = this.cleaning;
    // In this order: a sandbox that is listed has its task in one of the lists that follow, even if that moves meanwhile.
    const sandboxes: string[] = [];
    for (const place of directory.allSandboxes) sandboxes.push(...(await readdir(place)));
    const owned = new Set([...(await readdir(directory.tasks)), ...(await readdir(directory.ended))]);
    for (const name of sandboxes) {
      if (owned.has(name)) continue;
      const path = directory.sandboxOf(name);
      await this.tryTo(async () => {
        if (this.now - (await lstat(path)).mtimeMs >= settings.sandboxRetentionMillis)
          await this.removeFiles(name, 'SANDBOX_WITHOUT_TASK');
      });
    }
  }

  private async removeSandbox(name: string, reason: RemovalReason): Promise<void> {
    if (await this.removeFiles(name, reason)) this.result.removedSandboxes++;
  }

  /** The sandbox, and then the records about its files, which an earlier clean-up may have left. Answers whether there was a sandbox. */
  private async removeFiles(name: string, reason: RemovalReason): Promise<boolean> {
    const { removals, log, directory } = this.cleaning;
    const path = directory.sandboxOf(name);
    const wasThere = this.count(await removals.remove(reason, path, { now: this.now, log }));
    await removeRecords(this.cleaning, name);
    await removeTailRecord(this.cleaning, path, name);
    return wasThere;
  }

  private count(removed: RemovalResult | undefined): boolean {
    this.result.freedBytes += removed?.bytes ?? 0;
    return removed !== undefined;
  }

  private async isTooFull(): Promise<boolean> {
    const { directory, settings } = this.cleaning;
    return isTooFull(await statfs(directory.sandboxes), settings.sandboxDiskHighWaterPct);
  }

  /** Something of it is still to be uploaded. On a full disk nothing waits for files that the store refuses. */
  private async isWaitedFor(name: string, reason: RemovalReason): Promise<boolean> {
    const { uploads, settings } = this.cleaning;
    if (!settings.uploaderInUse && settings.uploadTarget === undefined) return false;
    return hasUploadsLeft(this.cleaning, name, (record) => reason !== 'DISK_FULL' || !uploads?.isRefused(record));
  }

  /** One that cannot be removed does not keep the others. */
  private async tryTo(work: () => Promise<void>): Promise<void> {
    await work().catch((cause: unknown) => {
      this.result.errorTasks++;
      if (cause instanceof PutOff) return;
      this.cleaning.removals.failures++;
      this.result.errorMessage = String(cause);
    });
  }
}

/** The number that the newest task of a request was launched with counts for all of them. */
function surplusOf(ended: readonly CleanableTask[]): ReadonlySet<CleanableTask> {
  const byRequest = groupBy(
    ended.filter(({ requestId, isForgotten }) => requestId !== undefined && !isForgotten),
    ({ requestId }) => requestId!,
  );
  return new Set(
    [...byRequest.values()].flatMap((tasks) => {
      const newestFirst = tasks.toSorted((a, b) => b.endedAt - a.endedAt);
      return newestFirst.slice(newestFirst[0]?.keep?.count ?? newestFirst.length);
    }),
  );
}
