import { existsSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  acceptsProcesses,
  type GroupUsage,
  type Hierarchy,
  type GroupLimits,
  makeGroup,
  quotaPeriodMicros,
  readNumber,
  readTable,
} from './group-files.js';
import { bytesOfMb } from '../../platform/files.js';
import { ticksPerSecond } from '../processes/process-identity.js';
import type { CgroupMount } from './mounts.js';

const nanosPerSecond = 1e9;

/** One mounted version 1 hierarchy, with the controllers of it that we may use. Throws with the reason when there is none. */
export function openV1(mount: CgroupMount, name: string): Hierarchy {
  const parent = join(mount.own, name);
  makeGroup(parent);
  const probe = join(parent, `probe-${process.pid}`);
  makeGroup(probe);
  try {
    const controllers = mount.controllers.filter((controller) => tryLimit(probe, controller));
    if (controllers.length === 0) throw new Error(`nothing can be limited in ${parent}`);
    if (!acceptsProcesses(probe)) throw new Error(`no process can be moved to ${parent}`);
    return new V1Hierarchy(parent, new Set(controllers));
  } finally {
    rmdirSync(probe);
  }
}

function tryLimit(directory: string, controller: string): boolean {
  try {
    applyLimits(directory, new Set([controller]), { cpus: 1, memoryMb: 64, cpuHardLimit: 1, maxProcesses: 64 });
    return ['cpu', 'cpuacct', 'memory', 'pids'].includes(controller);
  } catch {
    return false;
  }
}

function applyLimits(directory: string, controllers: ReadonlySet<string>, limits: GroupLimits): void {
  const write = (file: string, value: number) => writeFileSync(join(directory, file), String(value));
  if (controllers.has('cpu')) {
    if (limits.cpus > 0) write('cpu.shares', Math.max(2, Math.round(limits.cpus * 1024)));
    if (limits.cpuHardLimit !== undefined) {
      write('cpu.cfs_period_us', quotaPeriodMicros);
      write('cpu.cfs_quota_us', Math.round(limits.cpuHardLimit * quotaPeriodMicros));
    }
  }
  if (controllers.has('pids')) write('pids.max', limits.maxProcesses);
  if (controllers.has('memory') && limits.memoryMb > 0) {
    write('memory.limit_in_bytes', bytesOfMb(limits.memoryMb));
    // Present only where the kernel accounts for swap. It cannot be lower than the limit without swap, so it comes second.
    if (existsSync(join(directory, 'memory.memsw.limit_in_bytes')))
      write('memory.memsw.limit_in_bytes', bytesOfMb(limits.memoryMb));
  }
}

export class V1Hierarchy implements Hierarchy {
  constructor(
    readonly parent: string,
    readonly controllers: ReadonlySet<string>,
  ) {}

  limit(directory: string, limits: GroupLimits): void {
    applyLimits(directory, this.controllers, limits);
  }

  killAll(): boolean {
    return false;
  }

  outOfMemoryKills(directory: string): number {
    return this.controllers.has('memory') ? (readTable(join(directory, 'memory.oom_control')).get('oom_kill') ?? 0) : 0;
  }

  usage(directory: string): GroupUsage {
    return {
      ...(this.controllers.has('cpu') && this.throttling(directory)),
      ...(this.controllers.has('cpuacct') && this.cpuTime(directory)),
      ...(this.controllers.has('memory') && this.memory(directory)),
    };
  }

  private throttling(directory: string): GroupUsage {
    const table = readTable(join(directory, 'cpu.stat'));
    return {
      cpusNrPeriods: table.get('nr_periods'),
      cpusNrThrottled: table.get('nr_throttled'),
      cpusThrottledTimeSecs: (table.get('throttled_time') ?? 0) / nanosPerSecond,
    };
  }

  private cpuTime(directory: string): GroupUsage {
    const table = readTable(join(directory, 'cpuacct.stat'));
    return {
      cpusUserTimeSecs: (table.get('user') ?? 0) / ticksPerSecond,
      cpusSystemTimeSecs: (table.get('system') ?? 0) / ticksPerSecond,
    };
  }

  private memory(directory: string): GroupUsage {
    const table = readTable(join(directory, 'memory.stat'));
    return {
      memTotalBytes: readNumber(join(directory, 'memory.usage_in_bytes')),
      memAnonBytes: table.get('total_rss') ?? table.get('rss'),
      memFileBytes: table.get('total_cache') ?? table.get('cache'),
      memMappedFileBytes: table.get('total_mapped_file') ?? table.get('mapped_file'),
    };
  }
}
