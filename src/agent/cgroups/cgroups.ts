import { existsSync } from 'node:fs';
import { rmdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import type { AgentDirectory } from '../state/agent-directory.js';
import { messageOf, readIfThere, writeDurably } from '../../platform/files.js';
import {
  directoriesIn,
  type GroupUsage,
  type Hierarchy,
  type GroupLimits,
  makeGroup,
  pidsBelow,
  readText,
  removeGroup,
} from './group-files.js';
import { type CgroupMount, keepPlaces, ownPaths, readMounts } from './mounts.js';
import { openV1, V1Hierarchy } from './v1.js';
import { openV2, V2Hierarchy } from './v2.js';

interface CgroupDirectory {
  hierarchy: Hierarchy;
  directory: string;
}

/** The cgroups of one task: a directory of the same name in every hierarchy in use. */
export class TaskGroup {
  private isMade = false;

  constructor(private readonly places: readonly CgroupDirectory[]) {}

  /** Files to which a process writes its id to be inside. */
  get procsFiles(): string[] {
    return this.places.map(({ directory }) => join(directory, 'cgroup.procs'));
  }

  /** Once. */
  create(limits: GroupLimits): void {
    if (this.isMade) return;
    for (const { hierarchy, directory } of this.places) {
      makeGroup(directory);
      hierarchy.limit(directory, limits);
    }
    this.isMade = true;
  }

  /** undefined: nothing keeps track of the task's processes. */
  pids(): number[] | undefined {
    const present = this.places.filter(({ directory }) => existsSync(directory));
    return present.length === 0 ? undefined : [...new Set(present.flatMap(({ directory }) => pidsBelow(directory)))];
  }

  /** SIGKILL to everything inside, where the kernel can do that in one step. */
  killAll(): void {
    for (const { hierarchy, directory } of this.places) hierarchy.killAll(directory);
  }

  outOfMemoryKills(): number {
    return Math.max(0, ...this.places.map(({ hierarchy, directory }) => hierarchy.outOfMemoryKills(directory)));
  }

  usage(): GroupUsage {
    return Object.assign(
      {},
      ...this.places.map(({ hierarchy, directory }) => hierarchy.usage(directory)),
    ) as GroupUsage;
  }

  async remove(): Promise<void> {
    for (const { directory } of this.places) await removeGroup(directory);
  }
}

/** The cgroup hierarchies that this agent may really use. */
export class Cgroups {
  private isMoving = false;

  private constructor(
    private readonly hierarchies: readonly Hierarchy[],
    /** One of those in use. */
    private readonly mount: CgroupMount | undefined,
    /** One line on what cannot be limited and why; undefined: cpu and memory both can. */
    readonly missing: string | undefined,
  ) {}

  /** `name` is that of this agent's cgroup: the cgroups of its tasks are made below it. */
  static probe(name: string, mounts: readonly CgroupMount[]): Cgroups {
    const reasons: string[] = [];
    let inUse: CgroupMount | undefined;
    const hierarchies = mounts.filter(isOfUse).flatMap((mount) => {
      try {
        const hierarchy = mount.version === 1 ? openV1(mount, name) : openV2(mount, name);
        inUse = mount;
        return [hierarchy];
      } catch (cause) {
        reasons.push(messageOf(cause));
        return [];
      }
    });
    const lacking = ['cpu', 'memory'].filter((controller) => !hierarchies.some((h) => h.controllers.has(controller)));
    const why = reasons.length > 0 ? ` (${reasons.join('; ')})` : '';
    const missing = lacking.length > 0 ? `tasks have no ${lacking.join(' and no ')} limit${why}` : undefined;
    return new Cgroups(hierarchies, inUse, missing);
  }

  /** Directories in which the groups of the tasks are made. */
  get parents(): string[] {
    return this.hierarchies.map(({ parent }) => parent);
  }

  group(name: string): TaskGroup {
    return new TaskGroup(this.hierarchies.map((hierarchy) => ({ hierarchy, directory: join(hierarchy.parent, name) })));
  }

  /**
   * Prepares the move of a process into the group, some milliseconds before, and makes the group. The first move in a
   * while makes the kernel wait until all cores have come by (a grace period of RCU, some 10 ms), and those that follow
   * do not: so this process is moved to where it is. Nothing depends on it, and the start will report a failure.
   */
  async expectMoveInto(group: TaskGroup, limits: GroupLimits): Promise<void> {
    try {
      group.create(limits);
      if (!this.mount || this.isMoving) return;
      this.isMoving = true;
      const path = ownPaths(readText('/proc/self/cgroup') ?? '').get(this.mount.controllers[0] ?? '');
      if (path !== undefined)
        await writeFile(join(this.mount.root, path, 'cgroup.procs'), String(process.pid), { flag: 'r+' });
    } catch {
      // As above.
    }
    this.isMoving = false;
  }

  /** Leaves nothing behind, except what still has processes in it. */
  async removeAll(): Promise<void> {
    for (const { parent } of this.hierarchies) {
      const removals = directoriesIn(parent).map((name) => removeGroup(join(parent, name)));
      const failed = (await Promise.allSettled(removals)).some((removal) => removal.status === 'rejected');
      if (!failed) await rmdir(parent).catch(() => undefined);
    }
  }

  /** Names of the groups there are, of tasks that run or that an earlier agent left. */
  names(): string[] {
    return [...new Set(this.hierarchies.flatMap(({ parent }) => directoriesIn(parent)))];
  }
}

/**
 * The cgroups that an engine has put a process in. undefined: there are none whose path has the `mark`, so that they may hold
 * other processes, too.
 */
export function groupOfProcess(pid: number, mark: string): TaskGroup | undefined {
  const paths = ownPaths(readText(`/proc/${pid}/cgroup`) ?? '');
  const places = readMounts().flatMap((mount): CgroupDirectory[] => {
    const path = paths.get(mount.controllers[0] ?? '');
    const directory = join(mount.root, path ?? '/');
    if (!path?.includes(mark) || !existsSync(directory)) return [];
    const parent = dirname(directory);
    if (mount.version === 1) return [{ hierarchy: new V1Hierarchy(parent, new Set(mount.controllers)), directory }];
    const controllers = (readText(join(directory, 'cgroup.controllers')) ?? '').split(/\s+/).filter(Boolean);
    return [{ hierarchy: new V2Hierarchy(parent, new Set(controllers)), directory }];
  });
  return places.length > 0 ? new TaskGroup(places) : undefined;
}

/** A version 2 hierarchy without controllers still keeps track of a task's processes and kills them in one step. */
const isOfUse = ({ version, controllers }: CgroupMount): boolean =>
  version === 2 || ['cpu', 'cpuacct', 'memory', 'pids'].some((controller) => controllers.includes(controller));

const Places = z.object({ bootId: z.string(), parents: z.array(z.string()) });

/** The cgroups that work here, in the places where they were during this boot. */
export async function openCgroups(directory: AgentDirectory, bootId: string, use: 'auto' | 'off'): Promise<Cgroups> {
  const name = `muster-${directory.key}`;
  if (use === 'off') return Cgroups.probe(name, []);
  const text = await readIfThere(directory.cgroups);
  const before = text === undefined ? undefined : Places.safeParse(JSON.parse(text)).data;
  const parents = before?.bootId === bootId ? before.parents : [];
  const cgroups = Cgroups.probe(name, keepPlaces(readMounts(), parents));
  await writeDurably(directory.cgroups, JSON.stringify({ bootId, parents: cgroups.parents }));
  return cgroups;
}
