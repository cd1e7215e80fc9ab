import { existsSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMissing, messageOf, bytesOfMb } from '../../platform/files.js';
import {
  acceptsProcesses,
  type GroupUsage,
  type Hierarchy,
  type GroupLimits,
  makeGroup,
  quotaPeriodMicros,
  readNumber,
  readTable,
  readText,
} from './group-files.js';
import type { CgroupMount } from './mounts.js';

const microsPerSecond = 1e6;
const usable = ['cpu', 'memory', 'pids'];

/**
 * The version 2 hierarchy, below our own cgroup or else below the root (controllers cannot be handed down from a cgroup
 * that has processes, and ours usually has). Throws with the reasons when neither works.
 */
export function openV2(mount: CgroupMount, name: string): Hierarchy {
  const reasons: string[] = [];
  const found = [...new Set([mount.own, mount.root])].flatMap((base) => {
    try {
      return [openBelow(base, name)];
    } catch (cause) {
      reasons.push(messageOf(cause));
      return [];
    }
  });
  const [best, ...others] = found.toSorted((a, b) => b.controllers.size - a.controllers.size);
  if (!best) throw new Error(reasons.join('; '));
  for (const { parent } of others) removeIfEmpty(parent);
  return best;
}

function removeIfEmpty(directory: string): void {
  try {
    rmdirSync(directory);
  } catch {
    // Tasks of an earlier agent are still in there.
  }
}

function openBelow(base: string, name: string): Hierarchy {
  const offered = words(readText(join(base, 'cgroup.controllers'))).filter((controller) => usable.includes(controller));
  stepAside(base, name, offered);
  const parent = join(base, name);
  makeGroup(parent);
  const controllers = offered.filter((controller) => handDown(base, controller) && handDown(parent, controller));
  const probe = join(parent, `probe-${process.pid}`);
  makeGroup(probe);
  try {
    if (!acceptsProcesses(probe)) throw new Error(`no process can be moved to ${parent}`);
    return new V2Hierarchy(parent, new Set(controllers.filter((controller) => tryLimit(probe, controller))));
  } finally {
    rmdirSync(probe);
  }
}

/** An agent with a delegated cgroup of its own moves to a leaf of it, which frees the cgroup to be divided. */
function stepAside(base: string, name: string, offered: readonly string[]): void {
  const members = words(readText(join(base, 'cgroup.procs')));
  if (offered.length === 0 || members.length !== 1 || members[0] !== String(process.pid)) return;
  const leaf = join(base, `${name}-agent`);
  makeGroup(leaf);
  writeFileSync(join(leaf, 'cgroup.procs'), String(process.pid));
}

function handDown(directory: string, controller: string): boolean {
  try {
    writeFileSync(join(directory, 'cgroup.subtree_control'), `+${controller}`);
    return true;
  } catch {
    return false;
  }
}

function tryLimit(directory: string, controller: string): boolean {
  try {
    applyLimits(directory, new Set([controller]), { cpus: 1, memoryMb: 64, cpuHardLimit: 1, maxProcesses: 64 });
    return true;
  } catch {
    return false;
  }
}

function applyLimits(directory: string, controllers: ReadonlySet<string>, limits: GroupLimits): void {
  const write = (file: string, value: string | number) => writeFileSync(join(directory, file), String(value));
  if (controllers.has('cpu')) {
    // 100 is the weight of one core's worth, 1 to 10000 is what the kernel takes.
    if (limits.cpus > 0) write('cpu.weight', Math.min(10_000, Math.max(1, Math.round(limits.cpus * 100))));
    if (limits.cpuHardLimit !== undefined)
      write('cpu.max', `${Math.round(limits.cpuHardLimit * quotaPeriodMicros)} ${quotaPeriodMicros}`);
  }
  if (controllers.has('pids')) write('pids.max', limits.maxProcesses);
  if (controllers.has('memory') && limits.memoryMb > 0) {
    write('memory.max', bytesOfMb(limits.memoryMb));
    if (existsSync(join(directory, 'memory.swap.max'))) write('memory.swap.max', 0);
  }
}

export class V2Hierarchy implements Hierarchy {
  constructor(
    readonly parent: string,
    readonly controllers: ReadonlySet<string>,
  ) {}

  limit(directory: string, limits: GroupLimits): void {
    applyLimits(directory, this.controllers, limits);
  }

  killAll(directory: string): boolean {
    try {
      // Opened without creating it: kernels before 5.14 do not have the file.
      writeFileSync(join(directory, 'cgroup.kill'), '1', { flag: 'r+' });
      return true;
    } catch (cause) {
      if (isMissing(cause)) return false;
      throw cause;
    }
  }

  outOfMemoryKills(directory: string): number {
    return readTable(join(directory, 'memory.events')).get('oom_kill') ?? 0;
  }

  usage(directory: string): GroupUsage {
    const cpu = readTable(join(directory, 'cpu.stat'));
    const memory = readTable(join(directory, 'memory.stat'));
    return {
      ...(this.controllers.has('cpu') && {
        cpusNrPeriods: cpu.get('nr_periods'),
        cpusNrThrottled: cpu.get('nr_throttled'),
        cpusThrottledTimeSecs: (cpu.get('throttled_usec') ?? 0) / microsPerSecond,
        cpusUserTimeSecs: (cpu.get('user_usec') ?? 0) / microsPerSecond,
        cpusSystemTimeSecs: (cpu.get('system_usec') ?? 0) / microsPerSecond,
      }),
      ...(this.controllers.has('memory') && {
        memTotalBytes: readNumber(join(directory, 'memory.current')),
        memAnonBytes: memory.get('anon'),
        memFileBytes: memory.get('file'),
        memMappedFileBytes: memory.get('file_mapped'),
      }),
    };
  }
}

const words = (text: string | undefined): string[] => (text ?? '').split(/\s+/).filter(Boolean);
