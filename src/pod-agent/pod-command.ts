import { readlinkSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { ShellCommandOrder } from '../cluster/cluster-driver.js';
import type { RunAs } from '../agent/processes/run-as.js';
import type { CommandRecord } from '../agent/shell-commands/command-record.js';
import { plainShell } from '../agent/shim/launcher.js';
import { taskPid } from '../agent/shell-commands/task-pid.js';
import { type CommandPlan, commandVariable } from '../agent/shell-commands/command-run.js';
import { commandWords, findCommand, type InvalidCommand, isInvalid } from '../agent/shell-commands/command-words.js';
import { type CommandSettings, podSandboxPath } from './pod-agent-api.js';
import type { PodContainer } from './pod-cgroups.js';

export interface CommandedPod {
  /** undefined: it does not run. */
  container: PodContainer | undefined;
  sandboxRoot: string;
  /** Directory that its container has as its sandbox: that, or one below it. */
  directory: string;
}

/** Plans a command of a user in the container of a task. */
export async function planInPod(
  pod: CommandedPod,
  order: ShellCommandOrder,
  record: CommandRecord,
  settings: CommandSettings | undefined,
): Promise<CommandPlan | InvalidCommand> {
  if (!settings) return { invalid: noProcess };
  const command = findCommand(order, settings.shellCommands);
  if (isInvalid(command)) return command;
  const entry = await entryOf(pod, record.path);
  if (isInvalid(entry)) return entry;
  const { sandboxRoot, directory } = pod;
  const { user, plan } = entry;
  const pid =
    (await taskPid(sandboxRoot, join(relative(sandboxRoot, directory), settings.shellCommandPidFile))) ?? user.pid;
  if (typeof pid !== 'number') return pid;
  return {
    ...plan,
    words: commandWords(command, order.options, { pid, user: String(user.uid) }, settings, []),
    timeoutMillis: settings.shellCommandTimeoutMillis,
  };
}

/** Plans a line of the deploy of a task in its container. */
export async function planLineInPod(
  pod: CommandedPod,
  line: string,
  mark: string,
): Promise<CommandPlan | InvalidCommand> {
  const entry = await entryOf(pod, mark);
  return isInvalid(entry) ? entry : { ...entry.plan, words: [plainShell, '-c', line], timeoutMillis: 0 };
}

const noProcess = 'The task has no process';

/** Way of a command into the container of a task. */
interface PodEntry {
  user: PodUser;
  plan: Omit<CommandPlan, 'words' | 'timeoutMillis'>;
}

/**
 * Within the cgroups of the container, so that a command ends with it and within its limits, in its namespaces, as its user, and with
 * no way to more rights. Before the user has changed nothing that is read comes from the task.
 */
async function entryOf(
  { container, sandboxRoot, directory }: CommandedPod,
  mark: string,
): Promise<PodEntry | InvalidCommand> {
  const main = container?.main();
  if (!container || !main) return { invalid: noProcess };
  const user = await userOf(main.pid);
  // Its rights are those that the runtime left it. Here it would have all that root has.
  if (user.uid === 0) return { invalid: 'Commands are not run in tasks that are root' };
  const environment = await environmentOf(main.pid);
  // It is the same process still: a number is given to another one only after very many.
  if (container.main()?.startTime !== main.startTime) return { invalid: noProcess };
  const plan = {
    environment: { ...environment, TASK_SANDBOX_DIR: podSandboxPath, [commandVariable]: mark },
    directory,
    inside: podSandboxPath,
    sandboxRoot,
    runAs: runAs(user, main.pid, container.group.procsFiles),
    shell: plainShell,
    isTaskOver: () => goesSoon(container),
  };
  return { user, plan };
}

/** From the end of what was killed with its container to that of the container, on a busy node. */
const containerGoesMillis = 2_000;
const goneCheckMillis = 20;

/** Nothing outlives its container: what was killed with it did not end by itself, even if nothing said so before. */
async function goesSoon(container: PodContainer): Promise<boolean> {
  for (const until = performance.now() + containerGoesMillis; performance.now() < until; await delay(goneCheckMillis))
    if (!container.hasProcesses) return true;
  return false;
}

const joinGroups = 'while [ "$1" != -- ]; do echo $$ >"$1" || exit 125; shift; done; shift; exec "$@"';
const namespaces = ['--mount', '--uts', '--ipc', '--net', '--pid'];

function runAs({ uid, gid }: PodUser, pid: number, groups: readonly string[]): RunAs {
  const enter = ['nsenter', `--target=${pid}`, ...namespaces, `--setuid=${uid}`, `--setgid=${gid}`, '--'];
  const outside = hasOwnCgroups() ? ['nsenter', '--target=1', '--cgroup', '--'] : [];
  const prefix = [
    ...outside,
    '/bin/sh',
    '-c',
    joinGroups,
    'sh',
    ...groups,
    '--',
    'setpriv',
    '--no-new-privs',
    '--',
    ...enter,
  ];
  return { uid, gid, home: podSandboxPath, name: String(uid), own: true, prefix };
}

/**
 * True in a container with a namespace of cgroups of its own, as runtimes make them for version 2, which lets nobody join a group that
 * the namespace does not show.
 */
function hasOwnCgroups(): boolean {
  try {
    return readlinkSync('/proc/1/ns/cgroup') !== readlinkSync('/proc/self/ns/cgroup');
  } catch {
    return false;
  }
}

interface PodUser {
  uid: number;
  gid: number;
  /** Number of the main process as it is seen from inside. */
  pid: number;
}

async function userOf(pid: number): Promise<PodUser> {
  const text = await readFile(`/proc/${pid}/status`, 'latin1');
  const field = (name: string) => new RegExp(`^${name}:\\s+(.*)$`, 'm').exec(text)?.[1]?.split(/\s+/) ?? [];
  const [uid = 0] = field('Uid');
  // One of its numbers that is root's is one that it may take on again.
  const isRoot = field('Uid').includes('0');
  return {
    uid: isRoot ? 0 : Number(uid),
    gid: Number(field('Gid')[0] ?? 0),
    pid: Number(field('NSpid').at(-1) ?? pid),
  };
}

const sayable = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * Environment that it was started with, that of its image included, as far as a shell can express it. The task may have
 * changed it, and gets it back.
 */
async function environmentOf(pid: number): Promise<Record<string, string>> {
  const text = await readFile(`/proc/${pid}/environ`, 'utf8');
  const pairs = text.split('\0').flatMap((pair): [string, string][] => {
    const at = pair.indexOf('=');
    return at > 0 && sayable.test(pair.slice(0, at)) ? [[pair.slice(0, at), pair.slice(at + 1)]] : [];
  });
  return Object.fromEntries(pairs);
}
