import { statfs } from 'node:fs/promises';
import { basename, relative } from 'node:path';
import { type AgentMetrics, type RemovalReason, removalReasons } from '../../cluster/cluster-driver.js';
import { backOffMillis } from '../../core/back-off.js';
import type { Log } from '../../platform/log.js';
import { messageOf } from '../../platform/files.js';
import { openDirectoryBelow, pathOf } from '../sandbox/below.js';
import type { ExecutorLayout } from '../sandbox/sandbox-layout.js';
import { OutOfTime, type RemovalResult, removeTree } from '../sandbox/remove-tree.js';

const firstPauseMillis = 10 * 60_000;
const longestPauseMillis = 6 * 3600_000;

/** It could not be removed before, and is not tried yet again. */
export class PutOff extends Error {}

/** Removals by this agent since it began, by reason. */
export class Removals {
  failures = 0;
  /** Epoch millis. */
  lastCleanupAt: number | undefined;
  private readonly byReason = new Map(removalReasons.map((reason) => [reason, { count: 0, bytes: 0 }]));

  /** Directories that could not be removed: each is told once, and tried later and later. */
  private readonly left = new Map<string, { inRow: number; notBefore: number }>();

  /** A directory of a task. undefined: there is none. Throws what keeps it there, or PutOff. */
  async remove(
    reason: RemovalReason,
    path: string,
    { now, log }: { now: number; log: Log },
    removing: () => Promise<RemovalResult | undefined> = () => removeTree(path),
  ): Promise<RemovalResult | undefined> {
    const before = this.left.get(path);
    if (before && now < before.notBefore) throw new PutOff(`${path} is tried again later`);
    try {
      const removed = await removing();
      if (removed) this.note(reason, removed.bytes);
      this.left.delete(path);
      return removed;
    } catch (cause) {
      // One that only takes long gets further with each try.
      const inRow = cause instanceof OutOfTime ? 1 : (before?.inRow ?? 0) + 1;
      this.left.set(path, { inRow, notBefore: now + backOffMillis(inRow, firstPauseMillis, longestPauseMillis) });
      if (!before) log.warn(`${messageOf(cause)}. It is tried again from time to time`);
      throw cause;
    }
  }

  /** The directory in which the command of a task with executorData ran. undefined: there is none. Throws as `remove` does. */
  async removeApp(
    { root, executor }: { root: string; executor: Pick<ExecutorLayout, 'directory' | 'app'> },
    when: { now: number; log: Log },
  ): Promise<RemovalResult | undefined> {
    const area = await openDirectoryBelow(root, relative(root, executor.directory), 'NONE');
    if (!area) return undefined;
    try {
      const app = `${pathOf(area.handle)}/${basename(executor.app)}`;
      return await this.remove('APP_FOLDER', executor.app, when, () => removeTree(app));
    } finally {
      await area.handle.close();
    }
  }

  note(reason: RemovalReason, bytes: number): void {
    const counted = this.byReason.get(reason)!;
    counted.count++;
    counted.bytes += bytes;
  }

  list(): AgentMetrics['removed'] {
    return [...this.byReason].map(([reason, counted]) => ({ reason, ...counted }));
  }

  /** `sandboxes`: the directory of them. */
  async metrics(agentId: string, sandboxes: string): Promise<AgentMetrics> {
    const { blocks, bfree, bsize } = await statfs(sandboxes);
    return {
      agentId,
      sandboxDiskUsedBytes: (blocks - bfree) * bsize,
      sandboxDiskTotalBytes: blocks * bsize,
      lastCleanupAt: this.lastCleanupAt,
      failures: this.failures,
      removed: this.list(),
    };
  }
}
