import type { GroupUsage, Limits } from './group-files.js';

/** One mounted hierarchy of cgroups. Each task has a folder below `parent`; what differs between the versions is here. */
export interface Hierarchy {
  readonly parent: string;
  /** Of cpu, cpuacct and memory, those that really work here. Empty: good for keeping track of processes only. */
  readonly controllers: ReadonlySet<string>;
  limit(folder: string, limits: Limits): void;
  /** SIGKILL to everything inside in one step; false: not available here. */
  killAll(folder: string): boolean;
  /** How many processes the kernel has killed because the group was out of memory. */
  outOfMemoryKills(folder: string): number;
  usage(folder: string): GroupUsage;
}
