import { spawnSync } from 'node:child_process';
import { existsSync, linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { z } from 'zod';

const Content = z.object({ pid: z.number().int(), startedAt: z.string() });
type Content = z.infer<typeof Content>;

/** The pid of the living process that holds the file, if there is one. */
export function holderOf(path: string): number | undefined {
  const content = parse(read(path));
  return content && processStart(content.pid) === content.startedAt ? content.pid : undefined;
}

/**
 * Takes the file for this process. Answers the pid of the process that holds it instead, or undefined when it is now ours. A
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

/** Another process may have replaced the stale file in the meantime: then its file goes back to its place. */
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

/**
 * When a process began, as text to compare: a pid alone is given away again. undefined: it does not run (a zombie does
 * not either).
 */
export function processStart(pid: number): string | undefined {
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  if (!existsSync('/proc/self/stat')) {
    const answer = spawnSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8' }).stdout.trim();
    return answer === '' || answer.startsWith('Z') ? undefined : answer.replace(/^\S+\s+/, '');
  }
  try {
    // The name, second field, stands in parentheses and may itself contain blanks and parentheses.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19];
  } catch {
    return undefined;
  }
}
