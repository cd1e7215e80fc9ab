import { readdirSync, readFileSync, statSync } from 'node:fs';
import { isLive, readStat, type ProcessIdentity, type ProcessStat } from './process-identity.js';
import { errorCode } from '../../platform/files.js';

/** Name of the variable by which the processes of a task are known wherever they went: the path of its sandbox. */
export const sandboxVariable = 'CLUSTER_SANDBOX';

/** Name of the variable by which the processes of a program around the main one are known: the name of the program. */
export const programVariable = 'CLUSTER_PROGRAM';

/** Ids of all processes of this machine, also of those that have ended and that nothing has waited for. */
export const allPids = (): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);

/** Every live process of this machine. */
export const allProcesses = (): ProcessStat[] => allPids().map(readStat).filter(isLive);

/** The user that a process acts as. undefined: it has gone. */
export function userOf(pid: number): number | undefined {
  try {
    const { uid } = statSync(`/proc/${pid}`);
    if (uid !== 0) return uid;
    // One that keeps its memory to itself, as all that have changed their user, seems to be root's.
    const [, acting] = /^Uid:\s+\d+\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Number(acting ?? uid);
  } catch {
    return undefined;
  }
}

/** The sandbox a process was started in, by its environment; undefined when it has none or is not ours to look at. */
export const sandboxOf = (pid: number): string | undefined => variableOf(pid, sandboxVariable);

/** A variable that a process was started with. */
export function variableOf(pid: number, name: string): string | undefined {
  try {
    const variables = readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0');
    const found = variables.find((variable) => variable.startsWith(`${name}=`));
    return found && Buffer.from(found.slice(name.length + 1), 'latin1').toString('utf8');
  } catch (cause) {
    if (['ENOENT', 'ESRCH', 'EACCES', 'EPERM'].includes(errorCode(cause) ?? '')) return undefined;
    throw cause;
  }
}

/** Marks by which the processes of one task are recognised. */
export interface TaskMark {
  shim: ProcessIdentity | undefined;
  sandbox: string;
  /** Members of the task's cgroup, which a process leaves only on purpose. undefined: there are no cgroups to ask. */
  cgroupPids: () => number[] | undefined;
  /** The program has begun: from then on its cgroup, if it has one, has all of its processes. */
  hasStarted: boolean;
  /** Processes that earlier checks found, by pid, if there are no cgroups. Each check brings it up to date. */
  known: Map<number, ProcessStat>;
  /** Leaves others out, of those that are found; absent: none. */
  includes?: (found: ProcessStat) => boolean;
}

/** The live processes of a task except its shim. */
export const processesOf = (mark: TaskMark): ProcessStat[] =>
  mark.includes ? allOf(mark).filter(mark.includes) : allOf(mark);

function allOf(mark: TaskMark): ProcessStat[] {
  const inGroup = mark.cgroupPids();
  if (inGroup && mark.hasStarted) return inGroup.map(readStat).filter(isLive);
  const { shim, known } = mark;
  // A session keeps its number while it has members, so the number is safe even after the shim has gone. Processes that
  // made a session of their own still carry the sandbox in their environment, and those that gave up both were started by
  // one of the task's, or were known as that before it ended.
  const found = new Map<number, ProcessStat>();
  const others: ProcessStat[] = [];
  for (const each of allProcesses()) {
    const { pid, session, parent } = each;
    if (pid === shim?.pid) continue;
    const isKnown = known.get(pid)?.startTime === each.startTime;
    const isOfShim = shim !== undefined && (session === shim.pid || parent === shim.pid);
    const isMarked = isOfShim || inGroup?.includes(pid) || sandboxOf(pid) === mark.sandbox;
    if (isKnown || isMarked) found.set(pid, each);
    else others.push(each);
  }
  addDescendants(found, others);
  known.clear();
  for (const [pid, each] of found) known.set(pid, each);
  return [...found.values()];
}

/** In few rounds: most processes are younger than their parents, and so behind them in the list. */
function addDescendants(found: Map<number, ProcessStat>, others: readonly ProcessStat[]): void {
  for (let before = -1; found.size > before;) {
    before = found.size;
    for (const each of others) if (found.has(each.parent)) found.set(each.pid, each);
  }
}

/** Live processes that carry a sandbox below `directory` in their environment. */
export function processesUnder(directory: string): ProcessStat[] {
  return allProcesses().filter(({ pid }) => sandboxOf(pid)?.startsWith(`${directory}/`));
}

/** False: it has gone meanwhile, or is not ours to signal. A pid is given away anew, so its start time is looked at again. */
export function signal(target: ProcessIdentity, name: NodeJS.Signals): boolean {
  if (readStat(target.pid)?.startTime !== target.startTime) return false;
  try {
    process.kill(target.pid, name);
    return true;
  } catch (cause) {
    if (['ESRCH', 'EPERM'].includes(errorCode(cause) ?? '')) return false;
    throw cause;
  }
}
