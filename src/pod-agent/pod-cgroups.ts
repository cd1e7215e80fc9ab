import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TaskGroup } from '../agent/cgroups/cgroups.js';
import { directoriesIn, type Hierarchy, pidsBelow, readText } from '../agent/cgroups/group-files.js';
import { V1Hierarchy } from '../agent/cgroups/v1.js';
import { V2Hierarchy } from '../agent/cgroups/v2.js';
import { isLive, type ProcessStat, readStat } from '../agent/processes/process-identity.js';
import { programVariable, variableOf } from '../agent/processes/processes.js';
import { podSandboxPath } from './pod-agent-api.js';

/** Hierarchies of version 1 with metrics of pods, by the names that their directories have everywhere. */
const v1Controllers = ['memory', 'cpu', 'cpuacct', 'pids'];
/** Groups that no pod is below, of which a node may have many. */
const notOfPods = /^(system|user)\.slice$|\.(service|scope|mount|socket|swap)$/;
/** Pods are nested no deeper, whatever the kubelet's own group is. */
const deepest = 6;

/** The cgroups of the node, as the kubelet and its runtime make them for pods, by either of their drivers and in both versions. */
export class PodCgroups {
  private readonly hierarchies: { hierarchy: Hierarchy; root: string }[];

  constructor(
    root: string,
    private readonly maxProcesses: number,
  ) {
    const controllers = readText(join(root, 'cgroup.controllers'))?.split(/\s+/).filter(Boolean);
    this.hierarchies = controllers
      ? [{ hierarchy: new V2Hierarchy(root, new Set(controllers)), root }]
      : v1Controllers
          .filter((name) => existsSync(join(root, name)))
          .map((name) => ({ hierarchy: new V1Hierarchy(join(root, name), new Set([name])), root: join(root, name) }));
  }

  /** False: tasks have no figures here, and no commands. */
  get areThere(): boolean {
    return this.hierarchies.length > 0;
  }

  /** Paths of the groups of pods, by the number that the API server gave the pod. */
  pods(): Map<string, string> {
    const found = new Map<string, string>();
    const [first] = this.hierarchies;
    const find = (path: string, depth: number) => {
      for (const name of directoriesIn(join(first!.root, path))) {
        const uid = uidIn(name);
        const inner = path === '' ? name : `${path}/${name}`;
        if (uid !== undefined) found.set(uid, inner);
        else if (depth < deepest && !notOfPods.test(name)) find(inner, depth + 1);
      }
    };
    if (first) find('', 1);
    return found;
  }

  /** Directory of a group of a pod, which has all processes of its containers. undefined: there are no cgroups. */
  directoryOf(podPath: string): string | undefined {
    const [first] = this.hierarchies;
    return first && join(first.root, podPath);
  }

  processesBelow = (directory: string | undefined): ProcessStat[] =>
    directory === undefined ? [] : pidsBelow(directory).map(readStat).filter(isLive);

  /** The container of the pod that has the sandbox: the runtime has one of its own beside it. undefined: it does not run. */
  containerIn(podPath: string): PodContainer | undefined {
    const [first] = this.hierarchies;
    for (const name of first ? directoriesIn(join(first.root, podPath)) : []) {
      const processes = pidsBelow(join(first!.root, podPath, name))
        .map(readStat)
        .filter(isLive);
      if (processes.some(({ pid }) => seesSandbox(pid))) {
        this.limitProcesses(join(podPath, name));
        // One of a program around the main one.
        if (processes.some(({ pid }) => variableOf(pid, programVariable) !== undefined)) continue;
        return new PodContainer(this.groupAt(join(podPath, name)));
      }
    }
    return undefined;
  }

  /** A pod cannot ask for it, and kubelets have no limit unless they are told one. A lower one stays. */
  limitProcesses(path: string): void {
    for (const { root } of this.hierarchies) {
      const file = join(root, path, 'pids.max');
      const limit = readText(file)?.trim();
      if (limit !== undefined && (limit === 'max' || Number(limit) > this.maxProcesses))
        writeFileSync(file, String(this.maxProcesses));
    }
  }

  private groupAt(path: string): TaskGroup {
    const places = this.hierarchies.map(({ hierarchy, root }) => ({ hierarchy, directory: join(root, path) }));
    return new TaskGroup(places.filter(({ directory }) => existsSync(directory)));
  }
}

/** The container of a task, by its cgroups, which none of its processes can leave. */
export class PodContainer {
  constructor(readonly group: TaskGroup) {}

  get hasProcesses(): boolean {
    return (this.group.pids() ?? []).length > 0;
  }

  processes = (): ProcessStat[] => (this.group.pids() ?? []).map(readStat).filter(isLive);

  /** The one that the runtime started it with: what is run in it later has parents outside, too. undefined: it has ended. */
  main(): ProcessStat | undefined {
    const processes = this.processes();
    const inside = new Set(processes.map(({ pid }) => pid));
    const roots = processes.filter(({ parent }) => !inside.has(parent));
    return roots.toSorted((a, b) => Number(a.startTime) - Number(b.startTime))[0];
  }
}

/** `pod<uid>`, or the same within the name of a slice, where dashes are underscores. */
function uidIn(name: string): string | undefined {
  const [, uid] = /(?:^|-)pod([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12})(?:\.slice)?$/.exec(name) ?? [];
  return uid?.replaceAll('_', '-');
}

function seesSandbox(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/mountinfo`, 'utf8')
      .split('\n')
      .some((line) => line.split(' ')[4] === podSandboxPath);
  } catch {
    // It has gone.
    return false;
  }
}
