import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { processStart } from './process-start.js';

const Content = z.object({ pid: z.number().int(), startedAt: z.string() });
type Content = z.infer<typeof Content>;

/** The pid of the living process that holds the file, if there is one. */
export function holderOf(path: string): number | undefined {
  const content = parse(read(path));
  return content && processStart(content.pid) === content.startedAt ? content.pid : undefined;
}

/**
 * Takes the file for this process. Answers the pid of whoever holds it instead, or undefined when it is now ours. A
 * file whose process has ended, however it ended, counts for nothing.
 */
export function takePidFile(path: string): number | undefined {
  const mine = `${path}.${process.pid}`;
  writeFileSync(mine, JSON.stringify({ pid: process.pid, startedAt: processStart(process.pid) }));
  try {
    for (;;) {
      try {
        // Linking fails when the name is taken, and the file is complete from its first moment.
        linkSync(mine, path);
        return undefined;
      } catch (cause) {
        if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause;
      }
      const seen = read(path);
      const holder = holderOf(path);
      if (holder !== undefined) return holder;
      removeStale(path, seen);
    }
  } finally {
    rmSync(mine, { force: true });
  }
}

export function releasePidFile(path: string): void {
  if (holderOf(path) === process.pid) rmSync(path, { force: true });
}

/** Somebody else may have replaced the stale file in the meantime: then theirs goes back to its place. */
function removeStale(path: string, seen: string | undefined): void {
  const aside = `${path}.${process.pid}.stale`;
  try {
    renameSync(path, aside);
  } catch {
    return;
  }
  if (read(aside) !== seen) renameSync(aside, path);
  else rmSync(aside, { force: true });
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

function parse(text: string | undefined): Content | undefined {
  try {
    const parsed = Content.safeParse(JSON.parse(text ?? ''));
    return parsed.success ? parsed.data : undefined;
  } catch {
    return undefined;
  }
}
