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
});
type BegunUpload = z.infer<typeof BegunUpload>;
const Files = z.record(z.string(), BegunUpload);

export const progressEnding = '.uploading.json';

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
    const begun = this.files.get(file.path);
    return begun && isSame(begun, file) ? begun.key : undefined;
  }

  isDone(file: FoundFile): boolean {
    return this.keyOf(file) !== undefined && this.files.get(file.path)?.isDone === true;
  }

  isTaken(key: string): boolean {
    return [...this.files.values()].some((begun) => begun.key === key);
  }

  /** Records the begin of an upload; the caller saves it. */
  begin({ path, ino, size, mtimeMs }: FoundFile, key: string): void {
    this.files.set(path, { ino, size, mtimeMs, key });
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
}

async function readFiles(path: string): Promise<Record<string, BegunUpload>> {
  try {
    return Files.parse(JSON.parse((await readIfThere(path)) ?? '{}'));
  } catch {
    return {};
  }
}
