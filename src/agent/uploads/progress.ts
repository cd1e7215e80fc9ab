import { rm } from 'node:fs/promises';
import { z } from 'zod';
import { readIfThere, writeWhole } from '../../platform/files.js';
import { type FoundFile, isSame } from './found-files.js';

const BegunUpload = z.object({
  ino: z.number(),
  size: z.number(),
  mtimeMs: z.number(),
  key: z.string(),
  /** It is in the store, and stays in the sandbox. */
  isDone: z.boolean().optional(),
  /** Epoch millis of the first refusal by the store. */
  refusedAt: z.number().optional(),
  /** It is tried no more, and stays in the sandbox. */
  isGivenUp: z.boolean().optional(),
});
type BegunUpload = z.infer<typeof BegunUpload>;
const Files = z.record(z.string(), BegunUpload);

export const progressEnding = '.uploading.json';

/**
 * Time for which a file is tried that the store refuses: long enough for an operator to notice and to change the rules of the bucket,
 * and not so long that such files fill the disk.
 */
export const refusedMillis = 24 * 3600 * 1000;

/** LAST: it is given up. */
export type Refusal = 'FIRST' | 'AGAIN' | 'LAST';

/**
 * The key of each file whose upload has begun, in a file beside its record, written before the first byte goes out: after a
 * crash the file goes to the same key once more, and not to another one besides.
 */
export class Progress {
  private constructor(
    private readonly path: string,
    private readonly files: Map<string, BegunUpload>,
  ) {}

  static async open(path: string): Promise<Progress> {
    return new Progress(path, new Map(Object.entries(await readFiles(path))));
  }

  /** undefined: its upload has not begun. */
  keyOf(file: FoundFile): string | undefined {
    return this.asItIs(file)?.key;
  }

  /** Nothing is left to do: it is in the store, or is given up. */
  isOver(file: FoundFile): boolean {
    const begun = this.asItIs(file);
    return begun?.isDone === true || begun?.isGivenUp === true;
  }

  isRefused(file: FoundFile): boolean {
    return this.asItIs(file)?.refusedAt !== undefined;
  }

  isTaken(key: string): boolean {
    return [...this.files.values()].some((begun) => begun.key === key);
  }

  /** Records the begin of an upload; the caller saves it. */
  begin(file: FoundFile, key: string): void {
    const { path, ino, size, mtimeMs } = file;
    this.files.set(path, { ino, size, mtimeMs, key, refusedAt: this.asItIs(file)?.refusedAt });
  }

  /** Records that the store refuses this file; the caller saves it. `key`: under which it was tried. */
  refuse(file: FoundFile, key: string, now: number): Refusal {
    const { path, ino, size, mtimeMs } = file;
    const begun = this.asItIs(file) ?? { ino, size, mtimeMs, key };
    const { refusedAt = now } = begun;
    const isGivenUp = now - refusedAt >= refusedMillis;
    this.files.set(path, { ...begun, refusedAt, ...(isGivenUp && { isGivenUp }) });
    if (isGivenUp) return 'LAST';
    return begun.refusedAt === undefined ? 'FIRST' : 'AGAIN';
  }

  /** Records the end of an upload; the caller saves it. `stays`: it would be found again. */
  end({ path }: FoundFile, stays: boolean): void {
    const begun = this.files.get(path);
    if (stays && begun) this.files.set(path, { ...begun, isDone: true });
    else this.files.delete(path);
  }

  /** Whole, however the agent ends. After a power cut it may be an older one: then a file may be there twice. */
  async save(): Promise<void> {
    if (this.files.size === 0) return this.remove();
    await writeWhole(this.path, JSON.stringify(Object.fromEntries(this.files)));
  }

  remove(): Promise<void> {
    return rm(this.path, { force: true });
  }

  /** undefined: its upload has not begun, or it has changed since. */
  private asItIs(file: FoundFile): BegunUpload | undefined {
    const begun = this.files.get(file.path);
    return begun && isSame(begun, file) ? begun : undefined;
  }
}

async function readFiles(path: string): Promise<Record<string, BegunUpload>> {
  try {
    return Files.parse(JSON.parse((await readIfThere(path)) ?? '{}'));
  } catch {
    return {};
  }
}
