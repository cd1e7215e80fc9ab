import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('../../support/programs/load.mjs', import.meta.url));

/** Counts of the load tool. */
export interface LoadResult {
  /** With a 2xx status, whole. */
  answered: number;
  non2xx: number;
  errors: number;
  timeouts: number;
  /** Time and kind of failed calls. */
  failures: string[];
  latencyMillis: { p50: number; p99: number; max: number };
}

export interface CallCounts {
  answered: number;
  failed: number;
}

/** Calls at a steady rate, in a process of their own. */
export class LoadTool {
  private output = '';

  private constructor(private readonly child: ChildProcess) {
    child.stdout!.on('data', (text) => (this.output += String(text)));
  }

  static start(url: string, callsPerSecond: number): LoadTool {
    return new LoadTool(
      fork(program, [url, String(callsPerSecond)], { execArgv: [], stdio: ['ignore', 'pipe', 'inherit', 'ipc'] }),
    );
  }

  /** Calls that have ended so far. */
  async counts(): Promise<CallCounts> {
    const answer = once(this.child, 'message');
    this.child.send('counts');
    return (await answer)[0] as CallCounts;
  }

  /** Ends the calls and answers what was counted. */
  async stop(): Promise<LoadResult> {
    const ended = once(this.child, 'close');
    this.child.kill('SIGTERM');
    await ended;
    return JSON.parse(this.output) as LoadResult;
  }

  kill(): void {
    this.child.kill('SIGKILL');
  }
}

/** Calls without the answer that was wanted. */
export const failedCalls = ({ non2xx, errors, timeouts }: LoadResult): number => non2xx + errors + timeouts;
