import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'pg';
import { connect } from '../../../src/platform/database/connection.js';
import { EmbeddedServer } from '../../../src/platform/embedded-server/embedded-server.js';
import { Installation, type Instance } from '../../e2e/support/product.js';
import { startTcpProxy, targetOf, throughProxy, type TcpProxy } from '../../support/tcp-proxy.js';

/** One scheduler process and its own line to the database. */
export interface Player {
  name: string;
  line: TcpProxy;
  instance: Instance;
}

/** A database, an agent, and two schedulers that share them, each over a line of its own that can be cut. */
export class Stage {
  private closing: Promise<void> | undefined;
  /** All players, with those that were replaced. */
  private readonly all: Player[] = [];

  private constructor(
    readonly installation: Installation,
    private readonly server: EmbeddedServer,
    readonly client: Client,
    readonly players: Player[],
  ) {}

  static async build(): Promise<Stage> {
    const slave = { id: 'slave1', hostname: 'localhost', rackId: 'rack1', cpus: 64, memoryMb: 65_536, diskMb: 65_536 };
    const installation = new Installation({
      settings: {
        cluster: { local: { slaves: [{ ...slave, ports: '20000-20039' }] } },
        checkDeploysEverySeconds: 1,
        cleanupEverySeconds: 1,
      },
      env: { MUSTER_ALLOW_TEST_RESOURCE_CALLS: 'true', MUSTER_LOG_FORMAT: 'json' },
    });
    const server = await EmbeddedServer.start({ dataDir: installation.dataDir });
    await installation.spawn(['agent']);
    const stage = new Stage(installation, server, await connect(server.url, 'bench', 60_000), []);
    for (const name of ['first', 'second']) await stage.enter(name);
    return stage;
  }

  get databaseUrl(): string {
    return this.server.url;
  }

  /** Starts a scheduler, in the place of the one of this name that has ended. */
  async enter(name: string): Promise<Player> {
    const line = await startTcpProxy(targetOf(this.server.url));
    const url = new URL(throughProxy(this.server.url, line));
    // The database writes down who adds what.
    url.searchParams.set('application_name', `instance ${this.all.length}`);
    const instance = await this.installation.start(['scheduler'], { DATABASE_URL: url.toString() });
    const player = { name, line, instance };
    const place = this.players.findIndex((other) => other.name === name);
    this.all.push(player);
    this.players.splice(place < 0 ? this.players.length : place, place < 0 ? 0 : 1, player);
    return player;
  }

  /** The instance that leads, and the other one, as soon as that is clear. */
  async roles(): Promise<{ leader: Player; other: Player }> {
    for (;;) {
      for (const leader of this.players) {
        if ((await readiness(leader))?.leads) {
          return { leader, other: this.players.find((player) => player !== leader)! };
        }
      }
      await delay(50);
    }
  }

  /** As the database knows an instance. */
  nameOf(instance: Instance): string {
    return `instance ${this.all.findIndex((player) => player.instance === instance)}`;
  }

  async epoch(): Promise<number> {
    const { rows } = await this.client.query<{ epoch: number }>('SELECT epoch FROM leader_epoch');
    return rows[0]!.epoch;
  }

  /** Ends and removes everything. */
  close(): Promise<void> {
    return (this.closing ??= this.clear());
  }

  private async clear(): Promise<void> {
    for (const { line, instance } of this.players) {
      line.restore();
      if (instance.running) instance.signal('SIGCONT');
    }
    await this.client.end();
    await this.installation.stopAll();
    await this.server.stop('immediate');
    for (const { line } of this.players) await line.close();
    await this.installation.dispose();
  }
}

export async function readiness({ instance }: Player): Promise<{ leads: boolean } | undefined> {
  try {
    const answer = await fetch(`${instance.api.url}/readyz`, { signal: AbortSignal.timeout(1_000) });
    return (await answer.json()) as { leads: boolean };
  } catch {
    return undefined;
  }
}
