import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { z } from 'zod';

const Content = z.object({
  pid: z.number().int(),
  startedAt: z.string(),
  /** A start is counted from the boot, and after the next one another program may have both numbers. */
  boot: z.string().optional(),
});
type Content = z.infer<typeof Content>;

/** The pid of the living process that holds the file, if there is one. */
export function holderOf(path: string): number | undefined {
  const content = parse(read(path));
  if (!content || (content.boot !== undefined && content.boot !== thisBoot())) return undefined;
  return processStart(content.pid) === content.startedAt ? content.pid : undefined;
}

/**
 * Takes the file for this process. Answers the pid of the process that holds it instead, or undefined when it is now ours. A
 * file whose process has ended, however it ended, counts for nothing. The folder has to be closed to whoever must not hold it.
 */
export function takePidFile(path: string): number | undefined {
  const mine = `${path}.${process.pid}`;
  const content: Content = { pid: process.pid, startedAt: processStart(process.pid)!, boot: thisBoot() };
  writeFileSync(mine, JSON.stringify(content), { mode: 0o644 });
  try {
    return take(path, mine, path);
  } finally {
    rmSync(mine, { force: true });
  }
}

function take(path: string, mine: string, base: string): number | undefined {
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
    if (seen === undefined) continue;
    // Of several that found the same stale file one may replace it: who has the right to just this content, which no
    // living process writes again. A right that was left behind in a crash is stale itself, and taken in the same way.
    const right = `${base}.${createHash('sha256').update(seen).digest('hex').slice(0, 16)}`;
    const first = take(right, mine, base);
    // Who has the right to what stands here no more will find that out, and holds nothing.
    if (first !== undefined) {
      if (read(path) === seen) return first;
      continue;
    }
    // In one step: nobody comes between, and whoever was told of us is told the truth.
    if (read(path) === seen) return void renameSync(right, path);
    rmSync(right, { force: true });
  }
}

export function releasePidFile(path: string): void {
  if (holderOf(path) === process.pid) rmSync(path, { force: true });
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

/** undefined: the system does not say. */
function thisBoot(): string | undefined {
  return read('/proc/sys/kernel/random/boot_id')?.trim();
}

/**
 * The time at which a process began, as text to compare: a pid alone is given away again. undefined: it does not run (a
 * zombie does not either).
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
