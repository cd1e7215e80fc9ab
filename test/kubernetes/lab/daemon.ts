import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

/** Output of a program that ends by itself. */
export const outputOf = async (program: string, ...words: string[]): Promise<string> =>
  (await promisify(execFile)(program, words, { maxBuffer: 64 * 2 ** 20 })).stdout;

/** Runs a program that may fail: nothing is left to do then. */
export const tried = (program: string, ...words: string[]): Promise<string> =>
  outputOf(program, ...words).catch(() => '');

/** A program that runs until it is stopped. It writes to a file, which is quoted when it does not work. */
export class Daemon {
  private child: ChildProcess | undefined;

  constructor(
    private readonly program: string,
    private readonly words: readonly string[],
    private readonly log: string,
  ) {}

  start(): void {
    const out = openSync(this.log, 'a');
    this.child = spawn(this.program, this.words, { stdio: ['ignore', out, out] });
    closeSync(out);
  }

  get pid(): number | undefined {
    return this.child?.pid;
  }

  get isUp(): boolean {
    return this.child !== undefined && this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Asks until the answer is true. */
  async until(what: string, isSo: () => Promise<boolean>, seconds = 60): Promise<void> {
    for (const deadline = performance.now() + seconds * 1_000; ;) {
      if (await isSo().catch(() => false)) return;
      if (!this.isUp || performance.now() > deadline) break;
      await delay(50);
    }
    const last = readFileSync(this.log, 'utf8').split('\n').slice(-15).join('\n');
    throw new Error(`${this.program}: waited in vain for ${what}\n${last}`);
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const { child } = this;
    if (!child || !this.isUp) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    const force = setTimeout(() => child.kill('SIGKILL'), 10_000);
    await ended;
    clearTimeout(force);
  }
}
