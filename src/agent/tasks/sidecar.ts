import { setTimeout as delay } from 'node:timers/promises';
import { backOffMillis } from '../../core/back-off.js';
import { messageOf } from '../../platform/files.js';
import { AgentStops } from '../state/updates-log.js';
import type { Program, ProgramEnd } from './program.js';

const firstPauseMillis = 1_000;
const longestPauseMillis = 60_000;
/** One that has run for so long begins anew with the first pause. */
const steadyMillis = 60_000;

/** A program beside the main one. It is started again when it ends, after a pause, until it is told to end. */
export class Sidecar {
  private readonly over = new AbortController();
  private supervised: Promise<void> | undefined;

  constructor(
    readonly program: Program,
    private readonly warn: (message: string) => void,
  ) {}

  /** Resolves when it has begun, or has shown that it does not. */
  begin(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.supervised ??= this.supervise(resolve);
      this.supervised.then(resolve, reject);
    });
  }

  /** Resolves when nothing is left of it. One that an earlier agent left is ended, too. `deadline` by the clock of performance.now. */
  async end(deadline: () => number): Promise<void> {
    this.over.abort();
    this.program.end(deadline);
    await (this.supervised ??= this.supervise(() => undefined));
  }

  detach(): void {
    this.over.abort(new AgentStops());
    this.program.detach();
  }

  private async supervise(hasBegun: () => void): Promise<void> {
    for (let inRow = 1; ; inRow++) {
      const beganAt = performance.now();
      const end = await this.runOnce(hasBegun);
      if (end === 'STOPPED') return;
      if (performance.now() - beganAt >= steadyMillis) inRow = 1;
      const pause = backOffMillis(inRow, firstPauseMillis, longestPauseMillis);
      const isOver = this.over.signal.aborted;
      const message = isOver ? 'Ended with the main program' : `${end.message}; started again in ${pause / 1_000} s`;
      await this.program.report(isOver ? 'SUCCEEDED' : 'FAILED', { exitCode: end.exitCode, message });
      if (isOver) return;
      await delay(pause, undefined, { signal: this.over.signal }).catch(() => undefined);
      if (this.over.signal.reason instanceof AgentStops) throw this.over.signal.reason;
    }
  }

  /** STOPPED: it was not to run any more, and nothing of it was left. */
  private async runOnce(hasBegun: () => void): Promise<{ exitCode?: number; message: string } | 'STOPPED'> {
    try {
      const end = await this.program.run(this.over.signal, hasBegun);
      return { exitCode: end.exitCode, message: endText(end) };
    } catch (cause) {
      const { aborted, reason } = this.over.signal;
      if (reason instanceof AgentStops || cause instanceof AgentStops) throw cause;
      if (aborted) return 'STOPPED';
      this.warn(`could not start the sidecar ${this.program.spec.name}: ${messageOf(cause)}`);
      return { message: `Could not start: ${messageOf(cause)}` };
    }
  }
}

const endText = ({ hasBegun, exitCode }: ProgramEnd): string =>
  hasBegun ? `Ended with exit code ${exitCode ?? 'unknown'}` : `Could not start (its shim ended with ${exitCode})`;
