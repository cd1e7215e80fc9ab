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

interface CommandedPod {
  /** undefined: it does not run. */
  container: PodContainer | undefined;
  sandboxRoot: string;
  /** Directory that its container has as its sandbox: that, or one below it. */
  directory: string;
}

/**
 * Plans a command in the container of a task: within its cgroups, so that it ends with the container and within its
 * limits, in its namespaces, as its user, and with no way to more rights. Before the user has changed nothing that is
 * read comes from the task.
 */
export async function planInPod(
  { container, sandboxRoot, directory }: CommandedPod,
  order: ShellCommandOrder,
  record: CommandRecord,
  settings: CommandSettings | undefined,
): Promise<CommandPlan | InvalidCommand> {
  const main = container?.main();
  if (!container || !main || !settings) return { invalid: 'The task has no process' };
  const command = findCommand(order, settings.shellCommands);
  if (isInvalid(command)) return command;
  const user = await userOf(main.pid);
  // Its rights are those that the runtime left it. Here it would have all that root has.
  if (user.uid === 0) return { invalid: 'Commands are not run in tasks that are root' };
  const pid =
    (await taskPid(sandboxRoot, join(relative(sandboxRoot, directory), settings.shellCommandPidFile))) ?? user.pid;
  if (typeof pid !== 'number') return pid;
  const environment = await environmentOf(main.pid);
  // It is the same process still: a number is given to another one only after very many.
  if (container.main()?.startTime !== main.startTime) return { invalid: 'The task has no process' };
  return {
    words: commandWords(command, order.options, { pid, user: String(user.uid) }, settings, []),
    environment: { ...environment, TASK_SANDBOX_DIR: podSandboxPath, [commandVariable]: record.path },
    directory,
    inside: podSandboxPath,
    sandboxRoot,
    runAs: runAs(user, main.pid, container.group.procsFiles),
    shell: plainShell,
    timeoutMillis: settings.shellCommandTimeoutMillis,
    isTaskOver: () => goesSoon(container),
  };
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

function runAs({ uid, gid }: { uid: number; gid: number }, pid: number, groups: readonly string[]): RunAs {
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

/** `pid`: its number as it is seen from inside. */
async function userOf(pid: number): Promise<{ uid: number; gid: number; pid: number }> {
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
