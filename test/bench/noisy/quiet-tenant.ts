import { chmodSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Api } from '../../e2e/support/api.js';
import { waitFor } from '../../support/wait-for.js';

const pauseMillis = 100;
const startMillis = 60_000;
const nowMs = (): number => performance.timeOrigin + performance.now();

export interface Runs {
  /** Milliseconds from the call to the first instruction of the process, Infinity for one that failed; and to the answer. */
  started: number[];
  answered: number[];
  /** Reasons for which runs were refused, or did not start within a minute. */
  failed: string[];
}

/** Runs a job now and then, and looks when its process begins. */
export class QuietTenant {
  private readonly folder: string;
  private readonly api: Api;
  private asked = 0;

  constructor(dataDir: string, origin: string, token: string) {
    this.api = new Api(origin, { authorization: `Token ${token}` });
    this.folder = join(dataDir, 'stamps');
    mkdirSync(this.folder);
    // Each task has a user of its own.
    chmodSync(this.folder, 0o777);
  }

  async prepare(): Promise<void> {
    await this.api.saveRequest({ id: 'quiet', requestType: 'ON_DEMAND', group: 'quiet' });
    // %N is nanoseconds: the shell's first act is to write down when it began.
    const command = 'date +%s%N > "$STAMP"';
    await this.api.deploy({ requestId: 'quiet', id: 'v1', command, resources: { cpus: 0.1, memoryMb: 16 } });
    await this.api.deployEnded('quiet', 'v1');
  }

  /** One run after the other while `goesOn` says so. */
  async run(goesOn: (sofar: number) => boolean): Promise<Runs> {
    const runs: Runs = { started: [], answered: [], failed: [] };
    for (let n = 0; goesOn(n); n++) {
      const stamp = join(this.folder, String(this.asked++));
      const before = nowMs();
      try {
        const body = { runId: `run-${this.asked}`, envOverrides: { STAMP: stamp } };
        await this.api.post('requests/request/quiet/run', body);
        runs.answered.push(nowMs() - before);
        const text = await waitFor('its process', () => written(stamp), { timeoutMillis: startMillis, everyMillis: 2 });
        runs.started.push(Number(BigInt(text) / 1_000n) / 1_000 - before);
      } catch (cause) {
        runs.failed.push(String(cause));
        runs.started.push(Infinity);
      }
      await delay(pauseMillis);
    }
    return runs;
  }
}

function written(stamp: string): string | undefined {
  if (!existsSync(stamp)) return undefined;
  const text = readFileSync(stamp, 'utf8');
  return text.endsWith('\n') ? text.trim() : undefined;
}
