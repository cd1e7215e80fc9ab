import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeSync } from 'node:fs';
import { basename } from 'node:path';
import { createInterface } from 'node:readline';

/*
 * Programs of the agent that carry out one order as a user who can do no more than a task: one line of JSON each way. Each leads
 * a process group with all tools that it starts, and ends with the agent. Here are both sides of it.
 */

interface Start {
  prefix: readonly string[] | undefined;
  env: Record<string, string>;
  /** Files that the program has open from its beginning, as 3, 4 and so on. */
  files?: readonly number[];
  complaints: 'pipe' | 'ignore';
}

/** Starts as the agent's user, for it may be the only one that can read Node; becomes the other before it does anything. */
export function startProgram(program: readonly string[], order: object, start: Start): ChildProcess {
  const { prefix = [], env, files = [], complaints } = start;
  const [changeUser = ''] = prefix;
  const noMoreRights = basename(changeUser) === 'setpriv' ? [changeUser, '--no-new-privs', '--'] : [];
  const [first = '', ...words] = [...noMoreRights, process.execPath, ...program];
  const child = spawn(first, words, {
    cwd: '/',
    // What io_uring does is not done as the user that a process has become.
    env: { UV_USE_IO_URING: '0', HOME: '/', ...env },
    detached: true,
    stdio: ['pipe', 'pipe', complaints, ...files],
  });
  child.on('error', () => undefined);
  child.stdin!.on('error', () => undefined).write(`${JSON.stringify(order)}\n`);
  return child;
}

/** Kills the group of a leader, as every detached process is one. */
export function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // It has gone.
  }
}

/** In the program: its order, from stdin, which the agent keeps open for as long as it lives. */
export async function takeOrder<Order>(): Promise<Order> {
  const [line] = (await once(createInterface(process.stdin), 'line')) as [string];
  process.stdin.on('end', endGroup).on('error', endGroup).resume();
  process.umask(0o022);
  return JSON.parse(line) as Order;
}

/** For good: all three user ids change. */
export function become({ uid, gid }: { uid: number; gid: number }): void {
  process.setgroups!([]);
  process.setgid!(gid);
  process.setuid!(uid);
}

export function endWith(answer: object): never {
  writeSync(1, `${JSON.stringify(answer)}\n`);
  return endGroup();
}

/** With whatever tool still runs. */
function endGroup(): never {
  process.kill(-process.pid, 'SIGKILL');
  return process.exit(0);
}
