import { setTimeout as delay } from 'node:timers/promises';
import { ApiError, type Api } from '../e2e/support/api.js';
import { waitFor } from '../support/wait-for.js';
import { type ChaosOptions, randomOf } from './options.js';
import { type Records, uptime } from './records.js';

const answerMillis = 3_000;
const longestPauseMillis = 4_000;
const resources = { cpus: 0.01, memoryMb: 8 };
const cronSeconds = [5, 6, 10];
/** Seconds between two slots of the cron job of this number. */
export const secondsOfCron = (n: number): number => cronSeconds[n % cronSeconds.length]!;
const operationEveryMillis = 3_000;
/** So many of the services are left alone: what happens to them the faults did. */
const steadyShare = 0.4;
const instances = 3;

export interface Run {
  id: string;
  /** Uptime in seconds. */
  askedAt: number;
  answeredAt?: number;
  /** UNKNOWN: nobody answered, so it may have happened once or not. REFUSED: it must not have happened. */
  answer: 'AWAITED' | 'ACCEPTED' | 'UNKNOWN' | 'REFUSED';
}

export interface Service {
  id: string;
  isSteady: boolean;
  instances: number;
}

/** Everything that users ask for, and what they were answered. Calls go to all schedulers by turns. */
export class Load {
  readonly runs: Run[] = [];
  readonly services: Service[] = [];
  readonly refusals: string[] = [];
  operations = 0;
  private readonly random: () => number;
  private readonly stopping = new AbortController();
  private asking: Promise<unknown> | undefined;
  private turn = 0;
  private askAgainUntil = Number.POSITIVE_INFINITY;

  constructor(
    private readonly options: ChaosOptions,
    private readonly records: Records,
    private readonly apis: () => Api[],
  ) {
    this.random = randomOf(options.seed);
  }

  async prepare(): Promise<void> {
    const { shell } = this.records;
    const introduced: Promise<void>[] = [];
    for (let n = 0; n < this.options.jobs; n++)
      introduced.push(
        this.introduce(`job${n}`, { requestType: 'ON_DEMAND' }, `${shell}; say start; sleep "$LASTS"; say end`),
      );
    for (let n = 0; n < this.options.crons; n++) {
      const quartzSchedule = `0/${secondsOfCron(n)} * * * * ?`;
      introduced.push(
        this.introduce(`cron${n}`, { requestType: 'SCHEDULED', quartzSchedule }, `${shell}; say start; say end`),
      );
    }
    for (let n = 0; n < this.options.services; n++) {
      const service = { id: `svc${n}`, isSteady: n < Math.ceil(this.options.services * steadyShare), instances };
      this.services.push(service);
      introduced.push(this.introduce(service.id, { requestType: 'SERVICE', instances }, this.serviceCommand));
    }
    await Promise.all(introduced);
    for (const { id } of this.services)
      await waitFor(
        `the start of ${id}`,
        async () => (await this.api().deployHistory(id, 'v0')).deployResult?.deployState === 'SUCCEEDED',
        { timeoutMillis: 180_000, everyMillis: 200 },
      );
  }

  private get serviceCommand(): string {
    return `${this.records.shell}; say start; exec sleep 100007`;
  }

  private async introduce(id: string, request: object, command: string): Promise<void> {
    const again = async (body: () => Promise<unknown>) =>
      waitFor(`${id} to be accepted`, async () => (await body(), true), { timeoutMillis: 120_000, everyMillis: 500 });
    await again(() => this.api().post('requests', { id, ...request }));
    await again(() => this.deploy(id, 'v0', command));
  }

  private deploy(requestId: string, id: string, command: string): Promise<unknown> {
    const deploy = { requestId, id, command, resources, considerHealthyAfterRunningForSeconds: 0 };
    return this.api().post('deploys', { deploy });
  }

  private api(): Api {
    const apis = this.apis();
    return apis[this.turn++ % apis.length]!;
  }

  start(): void {
    this.asking = Promise.all([this.ask(), this.operate()]);
  }

  /** Nothing new is asked for; what has no answer yet is asked again for so long. */
  async stop(askAgainSeconds: number): Promise<void> {
    this.askAgainUntil = uptime() + askAgainSeconds;
    this.stopping.abort();
    await this.asking;
  }

  private mayAskAgain(): boolean {
    return uptime() < this.askAgainUntil;
  }

  private pause(millis: number): Promise<unknown> {
    return delay(millis, undefined, { signal: this.stopping.signal }).catch(() => undefined);
  }

  private async ask(): Promise<void> {
    const underWay = new Set<Promise<void>>();
    let due = performance.now();
    for (let n = 0; !this.stopping.signal.aborted; n++) {
      const call = this.askFor(n);
      underWay.add(call);
      void call.finally(() => underWay.delete(call));
      due = Math.max(due + 1_000 / this.options.rate, performance.now() - 1_000);
      await this.pause(Math.max(0, due - performance.now()));
    }
    await Promise.all(underWay);
  }

  /** Every other call has an Idempotency-Key, and is repeated at another scheduler until it is answered. */
  private async askFor(n: number): Promise<void> {
    const run: Run = { id: `run${n}`, askedAt: uptime(), answer: 'AWAITED' };
    this.runs.push(run);
    const chance = this.random();
    const lasts = chance < 0.15 ? 15 : chance < 0.4 ? 2 : 0.2;
    const body = { runId: run.id, envOverrides: { RUN: run.id, LASTS: String(lasts) } };
    const isRepeated = n % 2 === 0;
    let pauseMillis = 500;
    do {
      run.answer = await this.askOnce(`requests/request/job${n % this.options.jobs}/run`, body, isRepeated);
      if (run.answer !== 'UNKNOWN' || !isRepeated) break;
      await delay(pauseMillis);
      // Else hundreds of calls that wait would be all that a cluster hears that has just come back.
      pauseMillis = Math.min(2 * pauseMillis, longestPauseMillis);
    } while (this.mayAskAgain());
    run.answeredAt = uptime();
  }

  private async askOnce(path: string, body: { runId: string }, withKey: boolean): Promise<Run['answer']> {
    const api = this.api();
    const headers = { 'content-type': 'application/json', ...(withKey ? { 'Idempotency-Key': body.runId } : {}) };
    try {
      const init = { method: 'POST', headers, body: JSON.stringify(body), signal: AbortSignal.timeout(answerMillis) };
      const answer = await fetch(`${api.url}/api/${path}`, init);
      const text = await answer.text();
      if (answer.ok) return 'ACCEPTED';
      if (text.includes('IDEMPOTENT_CALL_DONE')) return 'ACCEPTED';
      if (answer.status >= 500 || answer.status === 429 || text.includes('IDEMPOTENT_CALL_RUNNING')) return 'UNKNOWN';
      this.refusals.push(`${answer.status} ${text.slice(0, 200)}`);
      return 'REFUSED';
    } catch {
      return 'UNKNOWN';
    }
  }

  /** Deploys, scales and bounces, one after the other, of services that are not steady. */
  private async operate(): Promise<void> {
    const changing = this.services.filter(({ isSteady }) => !isSteady);
    for (let n = 1; changing.length > 0 && !this.stopping.signal.aborted; n++) {
      const service = changing[Math.floor(this.random() * changing.length)]!;
      const chance = this.random();
      if (chance < 0.4) await this.scale(service, 1 + Math.floor(this.random() * 4));
      else if (chance < 0.75) await this.try(() => this.deploy(service.id, `v${n}`, this.serviceCommand));
      else await this.try(() => this.api().post(`requests/request/${service.id}/bounce`, {}));
      await this.pause(operationEveryMillis);
    }
  }

  /** Repeated until it is known whether it counts: to scale to the same number again changes nothing. */
  private async scale(service: Service, wanted: number): Promise<void> {
    for (; this.mayAskAgain(); await delay(500)) {
      const answer = await this.try(() =>
        this.api().call('PUT', `requests/request/${service.id}/scale`, { instances: wanted }),
      );
      if (answer === 'ACCEPTED') service.instances = wanted;
      if (answer !== 'UNKNOWN') return;
    }
  }

  private async try(call: () => Promise<unknown>): Promise<Run['answer']> {
    try {
      await call();
      this.operations += 1;
      return 'ACCEPTED';
    } catch (cause) {
      return cause instanceof ApiError && cause.status < 500 && cause.status !== 429 ? 'REFUSED' : 'UNKNOWN';
    }
  }
}
