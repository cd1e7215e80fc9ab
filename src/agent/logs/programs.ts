import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { basename } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { cleanEnvironment, type RunAs } from '../machine/run-as.js';
import type { CompressOrder, RotateAnswer, RotateOrder } from './order.js';

/** Words after `node` that start the program. */
export const rotateProgram: readonly string[] = [fileURLToPath(new URL('./rotate-main.js', import.meta.url))];

/** A program that works on an order. Killed, it leaves what it did to `settle`. */
export class Worker {
  /** Resolves when it has gone. undefined: it ended before it could say anything. */
  readonly answer: Promise<RotateAnswer | undefined>;
  private readonly child: ChildProcess;

  /** `files` are open: the program has them as 3, 4 and so on. */
  constructor(
    program: readonly string[],
    order: RotateOrder | CompressOrder,
    { prefix = [], files = [] }: { prefix?: RunAs['prefix']; files?: readonly number[] } = {},
  ) {
    // Starts as the agent's user, for it may be the only one that can read Node; changes before it does anything.
    const [changeUser = ''] = prefix;
    const noMoreRights = basename(changeUser) === 'setpriv' ? [changeUser, '--no-new-privs', '--'] : [];
    const [first = '', ...words] = [...noMoreRights, process.execPath, ...program];
    this.child = spawn(first, words, {
      cwd: '/',
      // What io_uring does is not done as the user that a process has become.
      env: { UV_USE_IO_URING: '0', HOME: '/', ...cleanEnvironment },
      detached: true,
      stdio: ['pipe', 'pipe', 'ignore', ...files],
    });
    this.child.stdin!.on('error', () => undefined).write(`${JSON.stringify(order)}\n`);
    this.answer = this.listen();
  }

  kill(): void {
    if (this.child.pid === undefined) return;
    try {
      process.kill(-this.child.pid, 'SIGKILL');
    } catch {
      // It has gone.
    }
  }

  private async listen(): Promise<RotateAnswer | undefined> {
    const gone = Promise.race([once(this.child, 'close'), once(this.child, 'error')]).catch(() => undefined);
    const said = await text(this.child.stdout!).catch(() => '');
    await gone;
    this.child.stdin!.destroy();
    return said.endsWith('\n') ? (JSON.parse(said) as RotateAnswer) : undefined;
  }
}
