import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { killGroup, startProgram } from '../processes/order-program.js';
import { cleanEnvironment, type RunAs } from '../processes/run-as.js';
import type { CompressOrder, RotateAnswer, RotateOrder } from './order.js';

/** Words after `node` that start the program. */
export const rotateProgram: readonly string[] = [fileURLToPath(new URL('./rotate-main.js', import.meta.url))];

/** Number under which it has the first file that it is given. */
export const firstFile = 3;

/** A program that works on an order. Killed, it leaves what it did to `settle`. */
export class Worker {
  /** Resolves when it has gone. undefined: it ended before it could say anything. */
  readonly answer: Promise<RotateAnswer | undefined>;
  private readonly child: ChildProcess;

  /** `files` are open: the program has them as 3, 4 and so on. */
  constructor(
    program: readonly string[],
    order: RotateOrder | CompressOrder,
    { prefix, files }: { prefix?: RunAs['prefix']; files?: readonly number[] } = {},
  ) {
    this.child = startProgram(program, order, { prefix, env: cleanEnvironment, files, complaints: 'ignore' });
    this.answer = this.listen();
  }

  kill(): void {
    killGroup(this.child.pid);
  }

  private async listen(): Promise<RotateAnswer | undefined> {
    const gone = Promise.race([once(this.child, 'close'), once(this.child, 'error')]).catch(() => undefined);
    const said = await text(this.child.stdout!).catch(() => '');
    await gone;
    this.child.stdin!.destroy();
    return said.endsWith('\n') ? (JSON.parse(said) as RotateAnswer) : undefined;
  }
}
