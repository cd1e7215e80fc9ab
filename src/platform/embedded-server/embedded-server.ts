import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { backOffMillis } from '../../core/back-off.js';
import { connect, discard } from '../database/connection.js';
import { StartError } from '../errors.js';
import { findBinaries, linkLibraries } from './binaries.js';
import { type ClusterAccess, clusterExists, createCluster, readAccess, urlOf, writeAccess } from './cluster.js';
import { clusterOwner, findPlaces, freePort, isFree, type Places } from './places.js';
import {
  disarmStaleLock,
  disarmStalePidFile,
  type Postmaster,
  runningPostmaster,
  runProgram,
  serverUser,
  type ServerUser,
} from './postmaster.js';
import { canHoldSocket, hasSockets, openSocketFolder, socketPort } from './socket-folder.js';

const watchEveryMillis = 300;
const longestPauseMillis = 10_000;
/** Processes of a server that was killed take their time to notice. */
const sharedMemoryWaitMillis = 10_000;
const recoverySeconds = 300;
const stopWaitMillis = 60_000;
const stopLookMillis = 50;

interface EmbeddedServerOptions {
  dataDir: string;
  /** Takes lines for the person who started the program. */
  say?: (line: string) => void;
  /** No other program uses this server: one of an earlier release, which listens on TCP, is started again. */
  isAlone?: boolean;
  /** Further settings of the server, as for `postgres -c`. */
  parameters?: Record<string, string>;
}

/**
 * A PostgreSQL of our own under the data directory. It outlives us when we are killed (the next start adopts it), and
 * we start it again when it dies.
 */
export class EmbeddedServer {
  private readonly stopping = new AbortController();
  private watching: Promise<void> | undefined;

  private constructor(
    private readonly places: Places,
    private readonly user: ServerUser,
    private readonly options: EmbeddedServerOptions,
  ) {}

  static async start(options: EmbeddedServerOptions): Promise<EmbeddedServer> {
    const user = serverUser(clusterOwner(options.dataDir));
    const installed = findBinaries();
    linkLibraries(installed);
    const places = findPlaces(options.dataDir, installed, user, options.say ?? (() => undefined));
    if (!clusterExists(places)) await createCluster(places, user);
    const server = new EmbeddedServer(places, user, options);
    if (options.isAlone) await server.leaveTcp();
    await server.ensureRunning();
    server.watching = server.watch();
    return server;
  }

  /** URL of the server of a data directory, whether it runs now or not. undefined: it has none. */
  static urlIn(dataDir: string): string | undefined {
    if (!existsSync(dataDir)) return undefined;
    const places = findPlaces(dataDir, findBinaries(), serverUser(), () => undefined);
    return clusterExists(places) ? urlOf(places.cluster) : undefined;
  }

  get url(): string {
    return urlOf(this.places.cluster);
  }

  get pid(): number | undefined {
    return runningPostmaster(this.places.cluster)?.pid;
  }

  /** `immediate` loses no commit, but the next start has to recover. */
  async stop(mode: 'fast' | 'immediate' = 'fast'): Promise<void> {
    this.stopping.abort();
    await this.watching;
    await this.end(mode);
  }

  /** Ends the server that runs now. pg_ctl would wait for the next one, too, if another program starts one meanwhile. */
  private async end(mode: 'fast' | 'immediate'): Promise<void> {
    const ended = runningPostmaster(this.places.cluster)?.pid;
    if (ended === undefined) return;
    const isThere = (): boolean => runningPostmaster(this.places.cluster)?.pid === ended;
    const { code, output } = await this.pgCtl('stop', '--mode', mode, '--no-wait');
    const deadline = performance.now() + stopWaitMillis;
    while (isThere()) {
      if (code !== 0) throw new Error(`PostgreSQL does not stop: ${output}`);
      if (performance.now() > deadline) throw new Error(`PostgreSQL has not stopped after ${stopWaitMillis / 1_000} s`);
      await delay(stopLookMillis);
    }
  }

  private async leaveTcp(): Promise<void> {
    if (!hasSockets || !runningPostmaster(this.places.cluster)?.isOnTcp) return;
    this.options.say?.(
      'PostgreSQL listens on a port, where any program can take its place: it starts again on a socket',
    );
    await this.end('fast');
  }

  private async ensureRunning(): Promise<void> {
    const deadline = performance.now() + sharedMemoryWaitMillis;
    for (;;) {
      if (runningPostmaster(this.places.cluster) && (await this.answers())) return;
      const failure = await this.launch();
      if (failure === undefined) return;
      // Another program has just started it.
      if (runningPostmaster(this.places.cluster)) continue;
      const mayPass = /shared memory.*still in use|lock file .* (already exists|is empty)/is.test(failure);
      if (!mayPass || performance.now() > deadline)
        throw new StartError(`The embedded PostgreSQL does not start: ${failure}`);
      await delay(watchEveryMillis);
    }
  }

  /** Adopted servers may still be recovering. False: it has ended instead. */
  private async answers(): Promise<boolean> {
    let lastError: unknown;
    const deadline = performance.now() + recoverySeconds * 1_000;
    for (let running; (running = runningPostmaster(this.places.cluster)) && performance.now() < deadline;) {
      this.noteWhere(running);
      try {
        discard(await connect(this.url, 'adopt', 5_000));
        return true;
      } catch (cause) {
        lastError = cause;
        await delay(watchEveryMillis);
      }
    }
    if (!runningPostmaster(this.places.cluster)) return false;
    throw new StartError(`The PostgreSQL that runs on ${this.places.cluster} does not answer`, { cause: lastError });
  }

  /** The server is where it says that it is: a program that failed to start another one may have noted another place. */
  private noteWhere({ isOnTcp, port, socketFolder }: Postmaster): void {
    if (isOnTcp) this.note({ port });
    else if (socketFolder !== '') this.noteSocket(socketFolder);
  }

  private noteSocket(folder: string): void {
    this.note({ socketFolder: folder === resolve(this.places.cluster) ? undefined : folder });
  }

  private note(change: Partial<ClusterAccess>): void {
    const { cluster } = this.places;
    const access = readAccess(cluster);
    const isNew = Object.entries(change).some(([name, value]) => access[name as keyof ClusterAccess] !== value);
    if (isNew) writeAccess(cluster, { ...access, ...change }, this.user);
  }

  /** undefined: it runs. Otherwise why not. */
  private async launch(): Promise<string | undefined> {
    const { cluster } = this.places;
    disarmStalePidFile(cluster);
    const place = hasSockets ? this.socketPlace() : await this.tcpPlace();
    const log = join(cluster, 'server.log');
    rmSync(log, { force: true });
    const parameters = { ...this.options.parameters, ...place };
    const flags = Object.entries(parameters).map(([name, value]) => `-c ${name}=${value}`);
    const wait = ['--wait', '--timeout', String(recoverySeconds)];
    const { code, output } = await this.pgCtl('start', ...wait, '--log', log, '--options', flags.join(' '));
    if (code === 0) return undefined;
    return readFatal(log) ?? output;
  }

  /** Its name is the same after every start, so that whoever was connected finds the server again. */
  private socketPlace(): Record<string, string> {
    const { cluster } = this.places;
    const own = resolve(cluster);
    const { socketFolder: noted } = readAccess(cluster);
    const folder = canHoldSocket(own) ? own : openSocketFolder(this.options.dataDir, this.user, noted);
    this.noteSocket(folder);
    disarmStaleLock(cluster, join(folder, `.s.PGSQL.${socketPort}`));
    return { port: String(socketPort), listen_addresses: '', unix_socket_directories: folder };
  }

  private async tcpPlace(): Promise<Record<string, string>> {
    let { port } = readAccess(this.places.cluster);
    // Not taken by a server of this cluster, which another program has just started there.
    if (!(await isFree(port)) && !runningPostmaster(this.places.cluster)) {
      const taken = port;
      port = await freePort();
      this.options.say?.(`Port ${taken} of the embedded PostgreSQL is taken by another program: it moves to ${port}`);
      this.note({ port });
    }
    return { port: String(port), listen_addresses: '127.0.0.1', unix_socket_directories: '' };
  }

  private pgCtl(...args: string[]): Promise<{ code: number; output: string }> {
    return runProgram(this.places.binaries, this.user, 'pg_ctl', [
      '--pgdata',
      this.places.cluster,
      '--silent',
      ...args,
    ]);
  }

  private async watch(): Promise<void> {
    let failuresInRow = 0;
    const { signal } = this.stopping;
    while (!signal.aborted) {
      const pause = backOffMillis(failuresInRow + 1, watchEveryMillis, longestPauseMillis);
      await delay(pause, undefined, { signal, ref: false }).catch(() => undefined);
      if (signal.aborted || runningPostmaster(this.places.cluster)) continue;
      this.options.say?.('PostgreSQL has died; starting it again');
      try {
        await this.ensureRunning();
        failuresInRow = 0;
        this.options.say?.('PostgreSQL runs again');
      } catch (cause) {
        failuresInRow += 1;
        this.options.say?.(String(cause));
      }
    }
  }
}

function readFatal(log: string): string | undefined {
  try {
    const lines = readFileSync(log, 'utf8').split('\n');
    return lines.filter((line) => /FATAL|HINT/.test(line)).join(' ') || undefined;
  } catch {
    return undefined;
  }
}
