import { spawn } from 'node:child_process';
import { watch } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { TaskCommand } from './command.js';
import { errorCode, messageOf } from '../../platform/files.js';
import { DeployFault } from '../artifacts/order.js';
import { programVariable, sandboxVariable } from '../processes/processes.js';
import { cleanEnvironment } from '../processes/run-as.js';
import { launcherWords, plainShell } from './launcher.js';
import { isAlive, type ProcessIdentity, readStat } from '../processes/process-identity.js';
import type { StartedTask, TaskDirectory } from '../state/task-directory.js';

export interface Shim {
  identity: ProcessIdentity | undefined;
  /** Resolves when the shim has gone, with its own exit status if it ended by itself. */
  gone: Promise<number | undefined>;
}

/** Context that the task's program is put into before it begins. */
export interface ShimContext {
  sandboxRoot: string;
  /** Name of a program around the main one. */
  program?: string;
  /** Words that become the task's user; none: it is the agent's. */
  switchUser: readonly string[];
  cgroupFiles: readonly string[];
  /** Limit of the processes of the user. */
  maxProcesses?: number;
  maxFileBytes?: number;
  /** The shell that runs shim and launcher; default: the plain one. */
  shell?: string;
  /** Variables that they hand down. */
  handedDown?: Record<string, string>;
  /** Open files that the launcher finds under the numbers 10 and 11. */
  outputs?: { stdout: number; stderr: number };
}

/** Up to number 9: the shim closes what a shell can name. */
const none: 'ignore'[] = Array.from({ length: 10 }, () => 'ignore');

/** Unit of `ulimit -f`. */
const blockBytes = 512;

/** Pause between two looks at a task's directory and shim, should the watch on the directory miss something. */
const checkAgainMillis = 500;

/**
 * Starts a shim in a session of its own: a Ctrl-C in the agent's terminal and the end of the agent do not reach it.
 * It holds no pipe to the agent.
 */
export function startShim(
  script: string,
  directory: TaskDirectory,
  command: TaskCommand,
  {
    sandboxRoot,
    program,
    switchUser,
    cgroupFiles,
    maxProcesses,
    maxFileBytes,
    shell = plainShell,
    handedDown,
    outputs,
  }: ShimContext,
): Promise<Shim> {
  const limits = [maxProcesses, maxFileBytes && Math.ceil(maxFileBytes / blockBytes)].map((limit) =>
    String(limit ?? ''),
  );
  const { stdout, stderr, workingDirectory, words } = command;
  const launcher = [...switchUser, ...launcherWords(shell), workingDirectory, stdout, stderr];
  const groups = [String(cgroupFiles.length), ...cgroupFiles];
  return new Promise((resolve, reject) => {
    const fail = (cause: unknown) => reject(startFailure(cause));
    try {
      const child = spawn(shell, [script, directory.path, ...limits, ...groups, ...launcher, ...words], {
        cwd: '/',
        // By the sandbox the processes of a task are known; the agent made its name.
        env: {
          ...handedDown,
          ...cleanEnvironment,
          [sandboxVariable]: sandboxRoot,
          ...(program !== undefined && { [programVariable]: program }),
        },
        detached: true,
        stdio: outputs ? [...none, outputs.stdout, outputs.stderr] : 'ignore',
      });
      child.once('error', fail);
      if (child.pid === undefined) return;
      child.unref();
      const gone = new Promise<number | undefined>((end) => child.once('exit', (code) => end(code ?? undefined)));
      resolve({ identity: readStat(child.pid), gone });
    } catch (cause) {
      fail(cause);
    }
  });
}

/** E2BIG: words and variables are more than the kernel takes, which is for the deploy to change. */
const startFailure = (cause: unknown): Error =>
  errorCode(cause) === 'E2BIG'
    ? new DeployFault('Command line and environment are too long', { cause })
    : new Error(`Cannot start a shim: ${messageOf(cause)}`, { cause });

/** Resolves when the program has begun; undefined when the shim ended without it. */
export async function whenStarted(
  directory: TaskDirectory,
  shim: Shim,
  signal: AbortSignal,
): Promise<StartedTask | undefined> {
  const changes = watchDirectory(directory.path);
  try {
    for (;;) {
      // Asked for before the check, so that nothing that happens during it is missed.
      const next = Promise.race([changes.next(), delay(checkAgainMillis), shim.gone.then(() => 'GONE' as const)]);
      const started = await directory.readStarted();
      if (started) return started;
      if ((await next) === 'GONE') return await directory.readStarted();
      signal.throwIfAborted();
    }
  } finally {
    changes.close();
  }
}

/**
 * Resolves like `Shim.gone`, for a shim that an earlier agent started: its directory is watched, and the process
 * itself.
 */
export async function whenRestoredGone(
  directory: TaskDirectory,
  shim: ProcessIdentity,
  signal: AbortSignal,
): Promise<undefined> {
  const changes = watchDirectory(directory.path);
  try {
    while (isAlive(shim)) {
      await Promise.race([changes.next(), delay(checkAgainMillis, undefined, { signal })]);
      signal.throwIfAborted();
      // The shim ends right after it has written the exit status.
      if ((await directory.readExit()) !== undefined) await delay(1);
    }
  } finally {
    changes.close();
  }
}

/** Best effort: the kernel limits the number of watches. A caller that waits for `next` also looks from time to time. */
function watchDirectory(path: string): { next(): Promise<unknown>; close(): void } {
  let wake = (): void => undefined;
  const next = () => new Promise<void>((resolve) => (wake = resolve));
  try {
    const watcher = watch(path, { persistent: false }, () => wake());
    watcher.on('error', () => watcher.close());
    return { next, close: () => watcher.close() };
  } catch {
    return { next, close: () => undefined };
  }
}
