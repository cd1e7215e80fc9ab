import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { errorCode, isMissing } from '../../platform/files.js';

/** Resource figures of one task. What is not known is left out. */
export interface GroupUsage {
  cpusNrPeriods?: number;
  cpusNrThrottled?: number;
  cpusThrottledTimeSecs?: number;
  cpusUserTimeSecs?: number;
  cpusSystemTimeSecs?: number;
  memTotalBytes?: number;
  memAnonBytes?: number;
  memFileBytes?: number;
  memMappedFileBytes?: number;
}

export interface GroupLimits {
  cpus: number;
  memoryMb: number;
  /** Whole cores that must never be exceeded. */
  cpuHardLimit?: number;
  /** Processes and threads. */
  maxProcesses: number;
}

/** Microseconds over which a cpu quota counts. */
export const quotaPeriodMicros = 100_000;

export function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    if (isMissing(cause) || errorCode(cause) === 'ENODEV') return undefined;
    throw cause;
  }
}

export function readNumber(path: string): number | undefined {
  const text = readText(path);
  return text === undefined ? undefined : Number(text);
}

/** Files with lines of "name number", such as cpu.stat. */
export function readTable(path: string): Map<string, number> {
  const lines = (readText(path) ?? '').split('\n').filter(Boolean);
  return new Map(lines.map((line) => [line.split(' ')[0] ?? '', Number(line.split(' ')[1])]));
}

/** Processes in the group and in groups that the task made below it. */
export function pidsBelow(directory: string): number[] {
  const own = (readText(join(directory, 'cgroup.procs')) ?? '').split('\n').filter(Boolean).map(Number);
  return [...own, ...directoriesIn(directory).flatMap((name) => pidsBelow(join(directory, name)))];
}

export function directoriesIn(directory: string): string[] {
  try {
    return readdirSync(directory, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => entry.name);
  } catch (cause) {
    if (isMissing(cause)) return [];
    throw cause;
  }
}

/** One directory, and the one above it if that was removed. Making more would build on nothing. */
export function makeGroup(directory: string): void {
  try {
    mkdirSync(directory);
  } catch (cause) {
    if (errorCode(cause) === 'EEXIST') return;
    if (errorCode(cause) !== 'ENOENT') throw cause;
    mkdirSync(dirname(directory));
    mkdirSync(directory);
  }
}

/** Can processes be put in here? Asked with a process that ends at once. */
export function acceptsProcesses(directory: string): boolean {
  const join_ = spawnSync('/bin/sh', ['-c', 'echo $$ >"$1"', 'sh', join(directory, 'cgroup.procs')]);
  return join_.status === 0;
}

/** A group stays busy for a moment after its last process: tried a few times. */
export async function removeGroup(directory: string): Promise<void> {
  for (const name of directoriesIn(directory)) await removeGroup(join(directory, name));
  for (let attempt = 1; ; attempt++) {
    try {
      return await rmdir(directory);
    } catch (cause) {
      if (isMissing(cause)) return;
      if (errorCode(cause) !== 'EBUSY' || attempt === 20) throw cause;
      await delay(attempt * 10);
    }
  }
}

/** One mounted hierarchy of cgroups. Each task has a directory below `parent`; what differs between the versions is here. */
export interface Hierarchy {
  readonly parent: string;
  /**
   * Controllers among cpu, cpuacct, memory and pids that really work here. Empty: good for keeping track of processes
   * only.
   */
  readonly controllers: ReadonlySet<string>;
  limit(directory: string, limits: GroupLimits): void;
  /** SIGKILL to everything inside in one step; false: not available here. */
  killAll(directory: string): boolean;
  /** Number of processes that the kernel has killed because the group was out of memory. */
  outOfMemoryKills(directory: string): number;
  usage(directory: string): GroupUsage;
}
