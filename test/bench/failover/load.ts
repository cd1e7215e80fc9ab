import { appendFileSync, chmodSync, existsSync, mkdirSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ApiError, type Api } from '../../e2e/support/api.js';

const workers = 10;
const jobs = 5;
const runsEveryMillis = 100;
/** Accepted runs that have not started. Beyond, none is added: what is measured is the failover, not how fast this machine is. */
const maxWaiting = 20;
const answerMillis = 2_000;
const resources = { cpus: 0.05, memoryMb: 16 };

interface Run {
  id: string;
  /** Epoch milliseconds. */
  askedAt: number;
  /** ACCEPTED: has to happen once. UNKNOWN: no instance answered in time, so it may have happened once or not. */
  answer: 'AWAITED' | 'ACCEPTED' | 'UNKNOWN';
}

/**
 * Runs of a job, several a second, asked of the instance that answers, beside workers that run all the time. Each process writes a
 * line into a file of its run or task when it starts, so that what happened twice or never shows on the disk.
 */
export class Load {
  readonly runs: Run[] = [];
  private readonly folder: string;
  private readonly waiting = new Set<string>();
  private asking: Promise<void> | undefined;
  private stopped = false;

  constructor(
    folder: string,
    private readonly apis: () => Api[],
  ) {
    this.folder = join(folder, 'stamps');
    mkdirSync(this.folder);
    // Each task has a user of its own, and a second start of a run would have another one.
    chmodSync(this.folder, 0o777);
  }

  async prepare(api: Api): Promise<void> {
    const stamp = `umask 0; echo "$(date +%s%N) $TASK_ID" >> ${this.folder}`;
    for (let job = 0; job < jobs; job++) {
      await api.saveRequest({ id: `job-${job}`, requestType: 'ON_DEMAND' });
      await api.deploy({ requestId: `job-${job}`, id: 'v1', command: `${stamp}/$RUN; sleep 0.3`, resources });
      await api.deployEnded(`job-${job}`, 'v1');
    }
    await api.saveRequest({ id: 'worker', requestType: 'WORKER', instances: workers });
    const command = `${stamp}/worker-$TASK_ID; exec sleep 100000`;
    await api.deploy({ requestId: 'worker', id: 'v1', command, resources, considerHealthyAfterRunningForSeconds: 0 });
    await api.deployEnded('worker', 'v1');
    await api.running('worker', workers);
  }

  start(): void {
    this.asking = this.ask();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    await this.asking;
  }

  private async ask(): Promise<void> {
    const underWay = new Set<Promise<void>>();
    for (let n = 0; !this.stopped; await delay(runsEveryMillis)) {
      for (const id of this.waiting) if (existsSync(join(this.folder, id))) this.waiting.delete(id);
      if (this.waiting.size >= maxWaiting) continue;
      const apis = this.apis();
      const call = this.askOnce(`run-${n}`, `job-${n % jobs}`, apis[n % apis.length]!);
      n += 1;
      underWay.add(call);
      void call.finally(() => underWay.delete(call));
    }
    await Promise.all(underWay);
  }

  private async askOnce(id: string, job: string, api: Api): Promise<void> {
    const run: Run = { id, askedAt: Date.now(), answer: 'AWAITED' };
    this.runs.push(run);
    try {
      const late = delay(answerMillis, 'late' as const, { ref: false });
      const asked = api.post(`requests/request/${job}/run`, { runId: id, envOverrides: { RUN: id } });
      asked.catch(() => undefined);
      run.answer = (await Promise.race([asked, late])) === 'late' ? 'UNKNOWN' : 'ACCEPTED';
      if (run.answer === 'ACCEPTED') this.waiting.add(id);
    } catch (cause) {
      run.answer = 'UNKNOWN';
      // 503 says that it is not known; a refusal would be a mistake of this program.
      if (cause instanceof ApiError && cause.status !== 503)
        appendFileSync(join(this.folder, '..', 'refused'), `${cause.message}\n`);
    }
  }

  /** Times at which the processes of a run started, in epoch milliseconds. */
  private starts(name: string): number[] {
    const file = join(this.folder, name);
    if (!existsSync(file)) return [];
    const lines = readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '');
    return lines.map((line) => Number(line.split(' ')[0]!.slice(0, -6)));
  }

  /** The earliest start of a run that was asked for at `from` or later. */
  firstStartOfRunsAskedSince(from: number): number | undefined {
    const started = this.runs.filter(({ askedAt }) => askedAt >= from).flatMap(({ id }) => this.starts(id));
    return started.length === 0 ? undefined : Math.min(...started);
  }

  /** True if the answer is known for all runs asked for before `until`. */
  isAnswered(until: number): boolean {
    return this.runs.every(({ askedAt, answer }) => askedAt >= until || answer !== 'AWAITED');
  }

  /** Accepted runs that were asked for since `from`. */
  accepted(from: number): Run[] {
    return this.runs.filter(({ askedAt, answer }) => askedAt >= from && answer === 'ACCEPTED');
  }

  lost(from: number): Run[] {
    return this.accepted(from).filter(({ id }) => this.starts(id).length === 0);
  }

  /** Runs and workers that were started more than once, no matter who asked for them. */
  doubled(): string[] {
    return readdirSync(this.folder).filter((name) => this.starts(name).length > 1);
  }

  /** Ids of all workers there ever were. */
  workersStarted(): string[] {
    return readdirSync(this.folder)
      .filter((name) => name.startsWith('worker-'))
      .map((name) => name.slice('worker-'.length))
      .sort();
  }

  readonly workers = workers;
}
