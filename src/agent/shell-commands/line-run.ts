import type { ChildProcess } from 'node:child_process';
import { messageOf } from '../../platform/files.js';
import { withSignal } from '../../platform/async.js';
import { killGroup } from '../processes/order-program.js';
import { openDirectoryBelow } from '../sandbox/below.js';
import { relative } from 'node:path';
import { type CommandPlan, killCommand, openLauncher, spawnCommand } from './command-run.js';

/** Bounds of a line that is run in a task. */
export interface LineLimits {
  timeoutMillis: number;
  /** Limit of its output; the rest is dropped. */
  maxOutputBytes: number;
}

export type LineEnd =
  | { kind: 'ended'; exitCode: number; output: string }
  /** It could not be started, took too long, or was told to stop. */
  | { kind: 'failed'; reason: string };

/** A killed process closes its outputs at once, unless it hangs in the kernel. */
const outputMillis = 1_000;
const signalExit = 128;

/**
 * Runs a line for a shell in a task, as its user and in its directory, and answers how it ended. Its processes are the task's: they
 * count for its limits and go with it. `mark`: a path by which they are known, below which nothing is kept.
 */
export async function runLine(
  plan: CommandPlan,
  mark: string,
  { timeoutMillis, maxOutputBytes }: LineLimits,
  signal: AbortSignal,
): Promise<LineEnd> {
  const failed = (reason: string): LineEnd => ({ kind: 'failed', reason });
  const directory = await openDirectoryBelow(plan.sandboxRoot, relative(plan.sandboxRoot, plan.directory), 'NONE');
  if (!directory) return failed('The folder of the task is gone');
  const run = async (stop: AbortSignal): Promise<LineEnd> => {
    const launcher = plan.runAs && (await openLauncher(`${mark}.launcher`, plan, plan.runAs));
    try {
      if (stop.aborted) return failed('Told to stop');
      const child = spawnCommand(plan, { directory: directory.handle, launcher }, 'pipe');
      const output = outputOf(child, maxOutputBytes);
      const exitCode = await whenOver(child, mark, stop);
      await output.closed;
      if (stop.aborted) return failed(signal.aborted ? 'Told to stop' : `It took longer than ${timeoutMillis} ms`);
      return { kind: 'ended', exitCode, output: output.text() };
    } finally {
      await launcher?.close();
    }
  };
  try {
    return await withSignal([signal, AbortSignal.timeout(timeoutMillis)], run);
  } catch (cause) {
    return failed(messageOf(cause));
  } finally {
    await directory.handle.close();
  }
}

/**
 * Resolves when it has ended. Its group ends with it: a look at all processes of the machine after each check would cost more than
 * the checks. What has left the group is one of the task's processes. Throws when it could not be started.
 */
async function whenOver(child: ChildProcess, mark: string, stop: AbortSignal): Promise<number> {
  const { pid } = child;
  let isOver = false;
  let killing: Promise<void> | undefined;
  // Once the first process has gone, its number may be given to another session.
  const tooLong = () => (killing ??= killCommand(mark, () => (isOver ? undefined : pid)));
  stop.addEventListener('abort', tooLong, { once: true });
  if (stop.aborted) void tooLong();
  try {
    return await new Promise<number>((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', (code) => {
        killGroup(pid);
        resolve(code ?? signalExit);
      });
    });
  } finally {
    stop.removeEventListener('abort', tooLong);
    isOver = true;
    await killing;
  }
}

function outputOf(child: ChildProcess, most: number): { closed: Promise<unknown>; text: () => string } {
  const chunks: Buffer[] = [];
  let length = 0;
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      chunks.push(chunk.subarray(0, Math.max(0, most - length)));
      length += chunk.length;
    });
  }
  const closed = new Promise((resolve) => {
    child.once('close', resolve);
    child.once('exit', () => setTimeout(resolve, outputMillis).unref());
    child.once('error', resolve);
  });
  return { closed, text: () => Buffer.concat(chunks).toString('utf8') };
}
