import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { Api } from '../../e2e/support/api.js';
import { Installation, type Instance } from '../../e2e/support/product.js';
import { waitFor } from '../../support/wait-for.js';
import { accountingOf, type Used } from './accounting.js';
import { QuietTenant } from './quiet-tenant.js';

/** A busy machine takes its time. */
const startMillis = 300_000;
const bootstrapToken = 'token-of-the-operator-of-this-benchmark';

/** Counts of one kind of call, in one phase. */
export interface KindCounts {
  calls: number;
  /** By status, or by the error of a call without an answer. */
  statuses: Record<string, number>;
  bytes: number;
  /** All calls together. */
  millis: number;
}
export interface Noise {
  kinds: Record<string, KindCounts>;
  cpuSeconds: number;
}

/** The product with two tenants. */
export class Stage {
  private readonly children: ChildProcess[] = [];
  private facts: unknown;
  private noisyToken = '';
  private tenant!: ChildProcess;
  private client!: Client;
  private accounting!: () => Used;

  private constructor(
    private readonly installation: Installation,
    private readonly instance: Instance,
    readonly quiet: QuietTenant,
  ) {}

  static async build(product: string | undefined, workers: string | undefined, priority: string): Promise<Stage> {
    const slave = { id: 'slave1', hostname: 'localhost', rackId: 'rack1', cpus: 64, memoryMb: 65_536, diskMb: 65_536 };
    const installation = new Installation({
      ...(product !== undefined && { program: join(resolve(product), 'bin', 'muster.mjs') }),
      settings: {
        auth: { enabled: true, adminGroups: ['ops'], bootstrapToken },
        cluster: { local: { slaves: [{ ...slave, ports: '31000-31039' }] } },
        // As they are by default.
        checkDeploysEverySeconds: 5,
        cleanupEverySeconds: 5,
      },
      ...(workers !== undefined && { env: { MUSTER_HTTP_WORKERS: workers } }),
    });
    try {
      const instance = await installation.spawn(['start']);
      const leads = async () =>
        ((await (await fetch(`${instance.api.url}/readyz`)).json()) as { leads: boolean }).leads;
      const isOver = () => instance.exitCode !== undefined || leads();
      await waitFor('the product to lead', isOver, { timeoutMillis: startMillis, everyMillis: 100 });
      if (instance.exitCode !== undefined) throw new Error(`The product has ended:\n${instance.output}`);
      const operator = new Api(instance.api.url, { authorization: `Token ${bootstrapToken}` });
      const tokenOf = async (id: string): Promise<string> =>
        (await operator.post<{ token: string }>('auth/token', { user: { id, groups: [id] } })).token;
      const quiet = new QuietTenant(installation.dataDir, instance.api.url, await tokenOf('quiet'));
      const stage = new Stage(installation, instance, quiet);
      stage.noisyToken = await tokenOf('noisy');
      await stage.prepare(priority);
      return stage;
    } catch (cause) {
      await installation.dispose();
      throw cause;
    }
  }

  used = (): Used => this.accounting();

  /** Raised by each takeover. */
  async terms(): Promise<number> {
    const { rows } = await this.client.query<{ epoch: number }>('SELECT epoch FROM leader_epoch');
    return Number(rows[0]!.epoch);
  }

  get printed(): string {
    return this.instance.output;
  }

  /** The noisy tenant does these for so many seconds. */
  makeNoise(only: readonly string[], seconds: number, origin = this.instance.api.url): Promise<Noise> {
    return this.ask(this.tenant, {
      only,
      seconds,
      origin,
      token: this.noisyToken,
      facts: this.facts,
    }) as Promise<Noise>;
  }

  /** Makes the calls of a noise to a server that does nothing but answers as long after. */
  async makeIdleNoise(heard: Noise, seconds: number): Promise<Noise> {
    const server = this.child('./idle-server.mjs');
    const [port] = (await once(server, 'message')) as [number];
    const answers = Object.entries(heard.kinds).map(([kind, { calls, bytes, millis }]) => [
      kind,
      { millis: millis / Math.max(1, calls), bytes: Math.round(bytes / Math.max(1, calls)) },
    ]);
    server.send(Object.fromEntries(answers) as object);
    return this.makeNoise(Object.keys(heard.kinds), seconds, `http://127.0.0.1:${port}`);
  }

  async close(): Promise<void> {
    for (const child of this.children) child.disconnect();
    await this.client.end();
    await this.installation.dispose();
  }

  private async prepare(priority: string): Promise<void> {
    await this.quiet.prepare();
    this.tenant = this.child('./tenant.mjs', [priority]);
    const told = await this.ask(this.tenant, {
      what: 'prepare',
      origin: this.instance.api.url,
      token: this.noisyToken,
    });
    this.facts = (told as { facts: unknown }).facts;
    this.accounting = accountingOf(this.installation.dataDir, this.instance.pid);
    this.client = new Client({ connectionString: this.installation.databaseUrl() });
    await this.client.connect();
  }

  private child(file: string, args: string[] = []): ChildProcess {
    const child = fork(fileURLToPath(new URL(file, import.meta.url)), args, { execArgv: [] });
    this.children.push(child);
    return child;
  }

  private async ask(child: ChildProcess, what: object): Promise<unknown> {
    const answered = new AbortController();
    const ended = once(child, 'exit', { signal: answered.signal }).then(() => {
      throw new Error('The noisy tenant has ended');
    });
    child.send(what);
    try {
      const [answer] = (await Promise.race([once(child, 'message', { signal: answered.signal }), ended])) as [unknown];
      return answer;
    } finally {
      answered.abort();
      await ended.catch(() => undefined);
    }
  }
}
