import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Endpoint } from '../../src/agent/state/agent-directory.js';
import { isAlive, killNow, pidsMentioning } from '../e2e/support/processes.js';
import { Installation, type Instance } from '../e2e/support/product.js';
import { startTcpProxy, throughProxy, type TcpProxy } from '../support/tcp-proxy.js';
import { waitFor } from '../support/wait-for.js';
import { Clock } from './clock.js';
import type { ChaosOptions } from './options.js';
import { Postgres } from './postgres.js';
import { Records } from './records.js';

const keepEveryMillis = 50;

/** A scheduler, its own line to the database, and its own clock. */
export interface Player {
  name: string;
  line: TcpProxy;
  clock: Clock | undefined;
  env: Record<string, string>;
  instance: Instance;
  /** It is down on purpose, and whoever took it down starts it again. */
  isHeld: boolean;
}

interface Readiness {
  ready: boolean;
  leads: boolean;
  epoch?: number;
}

/** A database, an agent behind a line, and schedulers, each behind a line of its own. What dies by itself is started again. */
export class Stage {
  readonly players: Player[] = [];
  readonly records: Records;
  /** Ends of schedulers that no fault has caused. */
  readonly unexpectedEnds: string[] = [];
  /** Highest epoch that a leader has told. */
  terms = 0;
  agentClock: Clock | undefined;
  databaseClock: Clock | undefined;
  database!: Postgres;
  private agent: Instance | undefined;
  private isAgentHeld = false;
  private keeping: Promise<void> | undefined;
  private closing: Promise<void> | undefined;
  private readonly interrupting = new AbortController();

  private constructor(
    readonly installation: Installation,
    readonly agentLine: TcpProxy,
    private readonly hasClocks: boolean,
    private readonly logs: string,
  ) {
    this.records = new Records(join(installation.dataDir, 'outside'));
  }

  /** `started` is told the stage before all of it runs, so that it can be closed at any time. */
  static async build(options: ChaosOptions, hasClocks: boolean, started: (stage: Stage) => void): Promise<Stage> {
    const slaves = Array.from({ length: options.slaves }, (_, n) => ({
      id: `s${n + 1}`,
      hostname: 'localhost',
      rackId: `rack${(n % 3) + 1}`,
      cpus: 16,
      memoryMb: 16_384,
      diskMb: 16_384,
    }));
    const cluster = {
      local: { slaves, sandboxRetentionMillis: 60_000 },
      agentReregisterTimeoutSeconds: options.reregister,
    };
    const settings = { cluster, checkDeploysEverySeconds: 1, cleanupEverySeconds: 1 };
    const installation = new Installation({ settings, env: { MUSTER_LOG_FORMAT: 'json' } });
    const stage = new Stage(installation, await startTcpProxy({ host: '127.0.0.1', port: 0 }), hasClocks, options.logs);
    started(stage);
    stage.databaseClock = stage.clock('database');
    stage.database = await Postgres.start(join(installation.dataDir, 'db'), stage.databaseClock?.environment);
    stage.agentClock = stage.clock('agent');
    stage.keeping = stage.keep();
    await waitFor('the agent', () => !('port' in stage.agentLine.target) || stage.agentLine.target.port > 0, {
      timeoutMillis: 60_000,
    });
    for (let n = 1; n <= options.schedulers; n++)
      await stage.enter(`scheduler${n}`, { MUSTER_HTTP_WORKERS: String(n === 1 ? options.workers : 0) });
    await stage.ready(stage.players);
    await stage.leader();
    return stage;
  }

  private clock(name: string): Clock | undefined {
    return this.hasClocks ? new Clock(join(this.installation.dataDir, `clock-${name}`)) : undefined;
  }

  private async enter(name: string, workers: Record<string, string>): Promise<void> {
    const line = await startTcpProxy(this.database.target);
    const clock = this.clock(name);
    const env = { ...workers, ...clock?.environment, DATABASE_URL: throughProxy(this.database.url, line) };
    const instance = await this.installation.spawn(['scheduler'], env);
    this.players.push({ name, line, clock, env, instance, isHeld: false });
  }

  /** In place of the process of this player that has ended. */
  async restart(player: Player): Promise<void> {
    if (this.isEnding) return;
    player.instance = await this.installation.spawn(['scheduler'], player.env);
    player.isHeld = false;
  }

  /** Part of a fault. Broken off by an interrupt, so that the fault undoes what it did. */
  async pause(seconds: number): Promise<void> {
    await delay(seconds * 1_000, undefined, { signal: this.interrupting.signal });
  }

  /** Breaks off the fault that strikes; from now on nothing is started. */
  interrupt(): void {
    this.interrupting.abort();
  }

  private get isEnding(): boolean {
    return this.interrupting.signal.aborted || this.closing !== undefined;
  }

  readonly apis = () => this.players.map(({ instance }) => instance.api);

  async readiness({ instance }: Player): Promise<Readiness | undefined> {
    try {
      const answer = await fetch(`${instance.api.url}/readyz`, { signal: AbortSignal.timeout(2_000) });
      const told = (await answer.json()) as Readiness;
      if (told.leads) this.terms = Math.max(this.terms, told.epoch ?? 0);
      return told;
    } catch {
      return undefined;
    }
  }

  ready(players: readonly Player[]): Promise<unknown> {
    const isReady = async (player: Player) => (await this.readiness(player))?.ready === true;
    return waitFor('schedulers to be ready', async () => (await Promise.all(players.map(isReady))).every(Boolean), {
      timeoutMillis: 180_000,
      everyMillis: 200,
    });
  }

  /** The one that leads, as soon as that is clear. */
  leader(): Promise<Player> {
    return waitFor(
      'a leader',
      async () => {
        const told = await Promise.all(
          this.players.map(async (player) => ({ player, is: await this.readiness(player) })),
        );
        return told.find(({ is }) => is?.leads)?.player;
      },
      { timeoutMillis: 180_000, everyMillis: 100 },
    );
  }

  async follower(): Promise<Player> {
    const leader = await this.leader();
    return this.players.find((player) => player !== leader)!;
  }

  /** Whatever is not held down runs, and the agent is reached by its line alone. */
  private async keep(): Promise<void> {
    while (!this.isEnding) {
      await this.database.keep();
      if (!this.isAgentHeld && !this.agent?.running) await this.startAgent();
      this.leadAgentThroughLine();
      for (const player of this.players) {
        if (player.isHeld || player.instance.running || this.isEnding) continue;
        this.unexpectedEnds.push(`${player.name} (${player.instance.exitCode}): ${lastLines(player.instance.output)}`);
        await this.restart(player);
      }
      await delay(keepEveryMillis);
    }
  }

  private async startAgent(): Promise<void> {
    this.agent = await this.installation.spawn(['agent'], this.agentClock?.environment);
  }

  /** The port that the agent tells becomes that of the line. */
  private leadAgentThroughLine(): void {
    const file = join(this.installation.dataDir, 'agent', 'endpoint.json');
    try {
      const endpoint = JSON.parse(readFileSync(file, 'utf8')) as Endpoint;
      if (endpoint.port === this.agentLine.port || endpoint.pid !== this.agent?.pid) return;
      this.agentLine.target = { host: endpoint.host, port: endpoint.port };
      writeFileSync(`${file}.line`, JSON.stringify({ ...endpoint, port: this.agentLine.port }));
      renameSync(`${file}.line`, file);
    } catch {
      // There is none yet.
    }
  }

  signalAgent(signal: NodeJS.Signals): void {
    if (this.agent?.running) this.agent.signal(signal);
  }

  /** kill -9 of the agent, and its start some time later. */
  async agentDown(seconds: number): Promise<void> {
    this.isAgentHeld = true;
    await this.agent?.kill9();
    await this.pause(seconds);
    this.isAgentHeld = false;
    await waitFor('the agent', () => this.agent?.running, { timeoutMillis: 60_000 });
  }

  /** Reboots the machine: only files are left. */
  async reboot(): Promise<void> {
    for (const player of this.players) player.isHeld = true;
    this.isAgentHeld = true;
    await this.database.down(async () => {
      for (const { instance } of this.players) instance.signal('SIGKILL');
      this.agent?.signal('SIGKILL');
      this.database.signal('SIGKILL');
      // Tasks and their shims.
      await waitFor('all processes to end', () => {
        const left = pidsMentioning(this.installation.dataDir);
        killNow(left);
        return left.length === 0;
      });
      await Promise.all(this.players.map(({ instance }) => instance.exited()));
      await this.pause(1);
    });
    this.isAgentHeld = false;
    for (const player of this.players) await this.restart(player);
  }

  /** Lines lead to the database that is there now. */
  followDatabase(): void {
    for (const { line } of this.players) {
      line.target = this.database.target;
      line.cut();
      line.restore();
    }
  }

  /** Ends and removes everything. */
  close(): Promise<void> {
    this.interrupt();
    return (this.closing ??= this.clear());
  }

  private async clear(): Promise<void> {
    for (const line of [this.agentLine, ...this.players.map((player) => player.line)]) line.restore();
    for (const { instance } of this.players) if (isAlive(instance.pid)) instance.signal('SIGCONT');
    this.signalAgent('SIGCONT');
    // What is being started just now is to be known to the installation.
    await Promise.race([this.keeping?.catch(() => undefined), delay(20_000)]);
    for (const { instance } of this.players) instance.signal('SIGKILL');
    this.agent?.signal('SIGKILL');
    await this.database?.close().catch((cause: unknown) => console.error(cause));
    await this.agentLine.close();
    for (const { line } of this.players) await line.close();
    if (this.logs !== '') this.installation.writeOutputs(this.logs);
    await this.installation.dispose();
  }
}

const lastLines = (output: string): string => output.trimEnd().split('\n').slice(-3).join(' | ').slice(-600);
