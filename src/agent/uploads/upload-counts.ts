import type { UploadMetrics } from '../../cluster/cluster-driver.js';

/** Counts of an agent's uploads since it began, and of those that wait. */
export class UploadCounts {
  /** Content of the directory that archives logs, if there is one. */
  kept = { bytes: 0, objects: 0, removed: 0 };
  private files = 0;
  private bytes = 0;
  private failures = 0;
  /** By record of a task that has ended: since when it waits, on the clock of performance.now. */
  private readonly waiting = new Map<string, number>();

  /** Records of tasks that have ended, of whose files only those are left that the store refuses. */
  private readonly refused = new Set<string>();

  note(name: string, isFinished: boolean): void {
    if (isFinished && !this.waiting.has(name)) this.waiting.set(name, performance.now());
  }

  forget(name: string): undefined {
    this.waiting.delete(name);
    this.refused.delete(name);
  }

  noteRefused(name: string, isAllThatIsLeft: boolean): void {
    if (isAllThatIsLeft) this.refused.add(name);
    else this.refused.delete(name);
  }

  isRefused(name: string): boolean {
    return this.refused.has(name);
  }

  uploaded(bytes: number): void {
    this.files += 1;
    this.bytes += bytes;
  }

  failed(count: number): void {
    this.failures += count;
  }

  read(): UploadMetrics {
    const oldest = Math.min(...[...this.waiting.values()].slice(0, 1));
    return {
      files: this.files,
      bytes: this.bytes,
      failures: this.failures,
      keptFiles: this.kept.objects,
      keptBytes: this.kept.bytes,
      removedFiles: this.kept.removed,
      waiting: this.waiting.size,
      oldestSeconds: this.waiting.size === 0 ? 0 : (performance.now() - oldest) / 1_000,
    };
  }
}
