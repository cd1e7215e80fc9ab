import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { errorCode } from '../../platform/files.js';
import { pidsBelow } from '../cgroups/group-files.js';
import { parseStat, type ProcessStat, readStat } from '../processes/process-identity.js';
import { allPids, sandboxVariable, signal, userOf, variableOf } from '../processes/processes.js';
import { nameOfBytes } from '../sandbox/names.js';

/** The processes that may write to a log. */
export interface WritersOf {
  /** Path of the sandbox, by which processes of the task are known. */
  sandbox: string;
  /** Path of the log, as /proc shows open files. */
  path: string;
  ino: number;
  /** The user is the task's own: each of its processes is one of the task. */
  isOwnUser: boolean;
  /** Directory of the cgroup with all of them, and no others of their user; absent: they are found by the rest. */
  group?: string;
}

const longestStopMillis = 2_000;
const pauseMillis = 0.2;
const pause = new Int32Array(new SharedArrayBuffer(4));

/**
 * Stops all processes that may write to a log, for the moment in which what was written last is copied and the log is
 * emptied: only then is nothing written in between. Parents stop before their children and go on after them, so that a
 * shell with job control never sees a job of its own stopped. Those that stood still before are left as they are.
 */
export class StandingWriters {
  private readonly stopped: ProcessStat[] = [];

  /** undefined: one of them cannot be stopped now, so none is. */
  static stop(writers: WritersOf): StandingWriters | undefined {
    const standing = new StandingWriters();
    try {
      if (standing.stopAll(writers, performance.now() + longestStopMillis)) return standing;
    } catch (cause) {
      standing.goOn();
      throw cause;
    }
    standing.goOn();
    return undefined;
  }

  goOn(): void {
    for (const writer of this.stopped.toReversed()) signal(writer, 'SIGCONT');
  }

  /** Looks again until there is no writer that does not stand still: each may have made others meanwhile. */
  private stopAll(writers: WritersOf, deadline: number): boolean {
    for (;;) {
      const moving = parentsFirst(writersOf(writers).filter((found) => !standsStill(found.pid)));
      if (moving.length === 0) return true;
      for (const writer of moving) {
        this.stopped.push(writer);
        signal(writer, 'SIGSTOP');
        while (!standsStill(writer.pid)) {
          if (performance.now() > deadline) return false;
          Atomics.wait(pause, 0, 0, pauseMillis);
        }
      }
      if (performance.now() > deadline) return false;
    }
  }
}

function writersOf({ sandbox, path, ino, isOwnUser, group }: WritersOf): ProcessStat[] {
  const me = process.geteuid?.();
  const areAllWriters = isOwnUser || group !== undefined;
  return (group === undefined ? allPids() : pidsBelow(group))
    .filter((pid) => pid !== process.pid && pid !== process.ppid && userOf(pid) === me)
    .filter((pid) => areAllWriters || variableOf(pid, sandboxVariable) === sandbox || hasOpen(pid, path, ino))
    .flatMap((pid) => readStat(pid) ?? []);
}

function hasOpen(pid: number, path: string, ino: number): boolean {
  try {
    return readdirSync(`/proc/${pid}/fd`).some((fd) => {
      const name = `/proc/${pid}/fd/${fd}`;
      return readlinkOf(name) === path && statSync(name).ino === ino;
    });
  } catch (cause) {
    if (['ENOENT', 'ESRCH', 'EACCES', 'EPERM'].includes(errorCode(cause) ?? '')) return false;
    throw cause;
  }
}

function readlinkOf(path: string): string | undefined {
  try {
    return nameOfBytes(readlinkSync(path, { encoding: 'latin1' }));
  } catch {
    return undefined;
  }
}

/** Stopped, traced, or gone: with all of its threads. */
function standsStill(pid: number): boolean {
  try {
    return readdirSync(`/proc/${pid}/task`).every((thread) => {
      const state = parseStat(readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8'))?.state;
      return state === undefined || 'TtZX'.includes(state);
    });
  } catch (cause) {
    if (['ENOENT', 'ESRCH'].includes(errorCode(cause) ?? '')) return readStat(pid) === undefined;
    throw cause;
  }
}

function parentsFirst(found: readonly ProcessStat[]): ProcessStat[] {
  const parents = new Map(found.map(({ pid, parent }) => [pid, parent]));
  const depth = (pid: number): number => {
    let steps = 0;
    for (let at = parents.get(pid); at !== undefined && steps < parents.size; at = parents.get(at)) steps++;
    return steps;
  };
  return found
    .map((each) => ({ each, depth: depth(each.pid) }))
    .toSorted((a, b) => a.depth - b.depth)
    .map(({ each }) => each);
}
