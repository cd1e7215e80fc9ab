import { execFile } from 'node:child_process';
import { chownSync, mkdirSync, rmSync, statfsSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Client } from 'pg';
import { connect, discard } from '../../src/platform/database/connection.js';
import { copyBinaries, findBinaries } from '../../src/platform/embedded-server/binaries.js';
import { runningPostmaster, serverUser } from '../../src/platform/embedded-server/postmaster.js';
import { findPostgres } from '../e2e/support/system-postgres.js';
import { freePort } from '../support/free-port.js';
import { waitFor } from '../support/wait-for.js';

const run = promisify(execFile);
const diskMegabytes = 1_400;
const maxConnections = 120;
const leftOnDisk = 64 << 10;

/** A PostgreSQL that can be killed, frozen, filled and followed by a replica. Unless it is held down, it is started again when it dies. */
export class Postgres {
  private readonly user = serverUser();
  private readonly system = findPostgres();
  private readonly bin: string;
  private readonly filler: string;
  private generation = 0;
  private port = 0;
  /** Times that it is to stay down, one in the other. */
  private held = 0;
  private starting: Promise<void> | undefined;
  private closing = false;
  private isMounted = false;

  private constructor(
    private readonly folder: string,
    private readonly environment: Record<string, string>,
  ) {
    mkdirSync(folder, { mode: 0o755 });
    this.bin = this.system ?? join(copyBinaries(findBinaries(), folder).root, 'bin');
    this.filler = join(folder, 'disk', 'filler');
  }

  static async start(folder: string, environment: Record<string, string> = {}): Promise<Postgres> {
    const server = new Postgres(folder, environment);
    mkdirSync(join(folder, 'disk'));
    server.isMounted = await run('mount', [
      '-t',
      'tmpfs',
      '-o',
      `size=${diskMegabytes}m`,
      'tmpfs',
      join(folder, 'disk'),
    ])
      .then(() => true)
      .catch(() => false);
    try {
      await server.create();
      await server.launch();
    } catch (cause) {
      await server.close();
      throw cause;
    }
    return server;
  }

  get url(): string {
    return `postgres://muster@127.0.0.1:${this.port}/postgres`;
  }
  get target(): { host: string; port: number } {
    return { host: '127.0.0.1', port: this.port };
  }
  /** undefined: the fault is possible. */
  readonly whyNoFailover = () => (this.system ? undefined : 'no pg_basebackup on this machine');
  readonly whyNotFull = () => (this.isMounted ? undefined : 'no right to mount a small disk');

  private get data(): string {
    return join(this.folder, 'disk', `data-${this.generation}`);
  }
  private get pid(): number | undefined {
    return runningPostmaster(this.data)?.pid;
  }
  private program(name: string, args: string[]) {
    const env = { PATH: process.env['PATH'], LC_ALL: 'C', ...(name === 'pg_ctl' ? this.environment : {}) };
    return run(join(this.bin, name), args, { uid: this.user?.uid, gid: this.user?.gid, cwd: '/', env });
  }
  private own(path: string): void {
    mkdirSync(path, { mode: 0o700 });
    if (this.user) chownSync(path, this.user.uid, this.user.gid);
  }

  private async create(): Promise<void> {
    this.own(this.data);
    await this.program('initdb', ['-D', this.data, '-U', 'muster', '--auth=trust', '--encoding=UTF8', '--no-sync']);
    this.port = await freePort();
  }

  private async launch(): Promise<void> {
    const settings = {
      port: String(this.port),
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      max_connections: String(maxConnections),
      wal_level: 'replica',
      max_wal_size: '256MB',
    };
    const options = Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`);
    const log = join(this.data, 'log');
    await this.program('pg_ctl', ['-D', this.data, '-w', '-t', '60', '-l', log, '-o', options.join(' '), 'start']);
  }

  /** To be called again and again. */
  async keep(): Promise<void> {
    if (this.held > 0 || this.closing || this.pid !== undefined) return;
    this.starting ??= this.launch()
      // With a full disk it cannot; it is tried again.
      .catch(() => undefined)
      .finally(() => (this.starting = undefined));
    await this.starting;
  }

  /** It is not started again until `act` has ended. */
  async down(act: () => Promise<unknown>): Promise<void> {
    this.held += 1;
    try {
      await this.starting;
      await act();
    } finally {
      this.held -= 1;
    }
    await waitFor('PostgreSQL to answer', async () => (await this.keep(), discard(await this.client()), true), {
      timeoutMillis: 120_000,
      everyMillis: 200,
    });
  }

  signal(signal: NodeJS.Signals): void {
    if (this.pid !== undefined) process.kill(this.pid, signal);
  }

  async stop(mode: 'fast' | 'immediate'): Promise<void> {
    await this.program('pg_ctl', ['-D', this.data, '-w', '-m', mode, 'stop']).catch(() => undefined);
  }

  /** Every one of its processes, as when a machine freezes, until `pause` is over. */
  async frozen(pause: () => Promise<void>): Promise<void> {
    const { stdout } = await run('pgrep', ['-P', String(this.pid)]).catch(() => ({ stdout: '' }));
    const pids = [this.pid!, ...stdout.split('\n').filter(Boolean).map(Number)];
    const each = (signal: NodeJS.Signals): void => pids.forEach((pid) => tryToSignal(pid, signal));
    each('SIGSTOP');
    try {
      await pause();
    } finally {
      each('SIGCONT');
    }
  }

  /** All of its connections are taken until `pause` is over. */
  async exhausted(pause: () => Promise<void>): Promise<void> {
    const taken: Client[] = [];
    const isOver = ending(pause());
    try {
      while (!isOver()) {
        const more = await this.client().catch(() => undefined);
        if (more) taken.push(more);
        else await delay(100);
      }
    } finally {
      for (const each of taken) discard(each);
    }
  }

  /** No room is left on its disk until `pause` is over. */
  async full(pause: () => Promise<void>): Promise<void> {
    const isOver = ending(pause());
    try {
      writeFileSync(this.filler, '');
      for (let size = 0; !isOver(); await delay(250)) {
        const { bavail, bsize } = statfsSync(join(this.folder, 'disk'));
        const free = bavail * bsize;
        if (free > leftOnDisk) {
          size += free;
          await run('fallocate', ['-l', String(size), this.filler]).catch(() => undefined);
        }
        // Segments of its log that are there already would carry it for minutes.
        await this.sql(this.port, 'SELECT pg_switch_wal()').catch(() => undefined);
      }
    } finally {
      truncateSync(this.filler, 0);
      rmSync(this.filler, { force: true });
    }
  }

  /** kill -9, and a synchronous replica is promoted in its place. It has another port. */
  async failOver(): Promise<void> {
    const old = { data: this.data, port: this.port };
    const next = { data: join(this.folder, 'disk', `data-${this.generation + 1}`), port: await freePort() };
    this.own(next.data);
    const from = ['-h', '127.0.0.1', '-p', String(old.port), '-U', 'muster'];
    await this.program('pg_basebackup', ['-D', next.data, ...from, '-R', '-X', 'stream', '-c', 'fast']);
    this.held += 1;
    try {
      [this.generation, this.port] = [this.generation + 1, next.port];
      await this.launch();
      await this.sql(old.port, `ALTER SYSTEM SET synchronous_standby_names = '*'`, 'SELECT pg_reload_conf()');
      const isSynchronous = async () =>
        (await this.sql(old.port, `SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'`)).length > 0;
      await waitFor('the replica to be synchronous', isSynchronous, { timeoutMillis: 60_000, everyMillis: 200 });
      // A second lets commits that were acknowledged before end.
      await delay(1_000);
      tryToSignal(runningPostmaster(old.data)?.pid, 'SIGKILL');
      await delay(2_000);
      await this.sql(next.port, 'SELECT pg_promote()');
      rmSync(old.data, { recursive: true, force: true });
    } finally {
      this.held -= 1;
    }
  }

  private client(port = this.port): Promise<Client> {
    return connect(`postgres://muster@127.0.0.1:${port}/postgres`, 'chaos', 2_000);
  }

  private async sql(port: number, ...statements: string[]): Promise<unknown[]> {
    const client = await this.client(port);
    try {
      let rows: unknown[] = [];
      for (const statement of statements) ({ rows } = await client.query(statement));
      return rows;
    } finally {
      await client.end();
    }
  }

  async close(): Promise<void> {
    this.closing = true;
    await this.starting;
    for (; this.generation >= 0; this.generation--) {
      const { pid } = this;
      tryToSignal(pid, 'SIGCONT');
      await this.stop('immediate');
      if (this.pid === pid) tryToSignal(pid, 'SIGKILL');
    }
    // Its processes hold the disk until they have ended.
    const unmounted = () => run('umount', [join(this.folder, 'disk')]).then(() => true);
    if (this.isMounted) await waitFor('the disk of PostgreSQL to be let go', unmounted, { everyMillis: 200 });
    this.isMounted = false;
  }
}

/** Tells when a pause is over, also one that was broken off. */
function ending(pause: Promise<void>): () => boolean {
  let isOver = false;
  const end = (): void => void (isOver = true);
  void pause.then(end, end);
  return () => isOver;
}

function tryToSignal(pid: number | undefined, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(pid, signal);
  } catch {
    // It has ended meanwhile.
  }
}
