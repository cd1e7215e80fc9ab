import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Api } from './api.js';
import { isAlive, killNow, pidsMentioning } from './processes.js';
import { freePort } from '../../support/free-port.js';
import { waitFor } from '../../support/wait-for.js';

const muster = fileURLToPath(new URL('../../../bin/muster.mjs', import.meta.url));

/** Ranges of task ports that no other test on this machine is given: 40 ports by the process id of the test worker. */
let rangesGiven = 0;
const nextPortRange = (): string => {
  const begin = 20_000 + ((process.pid * 7 + rangesGiven++) % 250) * 40;
  return `${begin}-${begin + 39}`;
};

interface LentDatabase {
  url: string;
  remove(): Promise<void>;
}

export interface InstallationOptions {
  /** Keys of the settings file, over the short periods that tests use. */
  settings?: Record<string, unknown>;
  /** Keys of cluster.local beside its one slave. */
  local?: Record<string, unknown>;
  /** Under which the tasks of its machine are reached. Default: localhost. */
  hostname?: string;
  /** A server of its own in place of the embedded one. */
  databaseUrl?: string;
  /** A migrated database in place of an embedded server, which takes longer to make than all else that a start does: `createDatabase`. */
  database?: () => Promise<LentDatabase>;
  /** Passed to every process of this installation. */
  env?: Record<string, string>;
  /** Another build than the present one. */
  program?: string;
}

/** A data directory of its own under a short temporary path, with everything that runs in it. */
export class Installation {
  readonly dataDir = mkdtempSync(join(tmpdir(), 'mu-'));
  private readonly instances: Instance[] = [];
  private readonly configFile = join(this.dataDir, 'settings.json');
  private program: string;
  private lending: Promise<LentDatabase> | undefined;
  private lent: LentDatabase | undefined;

  constructor(private readonly options: InstallationOptions = {}) {
    this.program = options.program ?? muster;
    chmodSync(this.dataDir, 0o755); // the embedded server runs as another user when this one is root
    const hostname = options.hostname ?? 'localhost';
    const slave = { id: 'slave1', hostname, rackId: 'rack1', cpus: 8, memoryMb: 8192, diskMb: 1024 };
    writeFileSync(
      this.configFile,
      JSON.stringify({
        cluster: { local: { slaves: [{ ...slave, ports: nextPortRange() }], ...options.local } },
        checkDeploysEverySeconds: 1,
        cleanupEverySeconds: 1,
        ...options.settings,
      }),
    );
  }

  /** `muster start` (or another command), ready to serve. */
  async start(command: string[] = ['start'], env: Record<string, string> = {}): Promise<Instance> {
    const instance = await this.spawn(command, env);
    await instance.ready();
    return instance;
  }

  /** Starts a command without waiting until it is ready. */
  async spawn(command: string[], env: Record<string, string> = {}): Promise<Instance> {
    this.lent ??= await (this.lending ??= this.options.database?.());
    const port = Number(env['MUSTER_PORT']) || (await freePort());
    // Where the tests name no server, a scheduler alone makes one of its own.
    const hasDatabase = (this.lent?.url ?? this.options.databaseUrl ?? env['DATABASE_URL']) !== undefined;
    const words = command[0] === 'scheduler' && !hasDatabase ? ['--new-database'] : [];
    const child = spawn(process.execPath, [this.program, ...command, ...words], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: process.env['PATH'],
        HOME: process.env['HOME'],
        MUSTER_PORT: String(port),
        // All of these tests hold with API workers, too: MUSTER_HTTP_WORKERS=2 npm test -- test/e2e
        MUSTER_HTTP_WORKERS: process.env['MUSTER_HTTP_WORKERS'] || '0',
        ...this.environment(),
        ...env,
      },
    });
    const { contextPath = '' } = (this.options.settings?.['http'] ?? {}) as { contextPath?: string };
    const instance = new Instance(child, port, contextPath);
    this.instances.push(instance);
    return instance;
  }

  /** As `muster database-url` tells it. */
  databaseUrl(): string {
    const known = this.lent?.url ?? this.options.databaseUrl;
    if (known !== undefined) return known;
    const env = { PATH: process.env['PATH'], HOME: process.env['HOME'], ...this.environment() };
    return execFileSync(process.execPath, [this.program, 'database-url'], {
      encoding: 'utf8',
      env,
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  }

  /** Environment that tells a process of the product that it belongs to this installation. */
  private environment(): Record<string, string> {
    const databaseUrl = this.lent?.url ?? this.options.databaseUrl;
    return {
      MUSTER_DATA_DIR: this.dataDir,
      MUSTER_CONFIG: this.configFile,
      ...(databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl }),
      ...this.options.env,
    };
  }

  /** The process of the agent, as it tells in its folder. */
  agentPid(): number {
    return (JSON.parse(readFileSync(join(this.dataDir, 'agent', 'endpoint.json'), 'utf8')) as { pid: number }).pid;
  }

  /** From now on it is the present build that is started. */
  upgrade(): void {
    this.program = muster;
  }

  /** Everything that processes of this installation have printed, a file for each in the order of their starts. */
  writeOutputs(directory: string): void {
    mkdirSync(directory, { recursive: true });
    for (const [index, { port, output }] of this.instances.entries())
      writeFileSync(join(directory, `${String(index + 1).padStart(2, '0')}-${port}.log`), output);
  }

  /** Stops in order whatever was started here. */
  async stopAll(): Promise<void> {
    await Promise.all(this.instances.map((instance) => instance.stop()));
  }

  /** Ends everything that was started here, in whatever state it is, and removes the files. */
  async dispose(): Promise<void> {
    for (const instance of this.instances) if (instance.running) instance.signal('SIGCONT');
    // Whatever does not stop in order is ended all the same; the failure is told after that.
    const stopped = await this.stopAll().catch((cause: unknown) => cause);
    await waitFor('the processes of the installation to end', () => {
      const left = pidsMentioning(this.dataDir);
      killNow(left);
      return left.length === 0;
    });
    rmSync(this.dataDir, { recursive: true, force: true });
    await this.lent?.remove();
    if (stopped !== undefined) throw stopped;
  }
}

/** One process of the product. */
export class Instance {
  readonly api: Api;
  output = '';
  exitCode: number | null | undefined;

  constructor(
    private readonly child: ChildProcess,
    readonly port: number,
    contextPath: string,
  ) {
    this.api = new Api(`http://127.0.0.1:${port}${contextPath}`);
    for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (text) => (this.output += String(text)));
    child.on('exit', (code) => (this.exitCode = code));
  }

  get pid(): number {
    return this.child.pid!;
  }
  get running(): boolean {
    return this.exitCode === undefined && isAlive(this.pid);
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  async ready(): Promise<void> {
    const isReady = async () => (await fetch(`${this.api.url}/readyz`)).ok;
    await waitFor('the product to be ready', () => this.exitCode !== undefined || isReady(), {
      timeoutMillis: 60_000,
      everyMillis: 100,
    }).catch((cause: unknown) => {
      throw new Error(`Not ready. It printed:\n${this.output}`, { cause });
    });
    if (this.exitCode !== undefined) throw new Error(`It ended in place of being ready. It printed:\n${this.output}`);
  }

  /** This instance leads, and its pollers run. */
  async leads(timeoutMs = 10_000): Promise<void> {
    await waitFor(
      'this instance to lead',
      async () => {
        const state = (await (await fetch(`${this.api.url}/readyz`)).json()) as { leads: boolean };
        return state.leads;
      },
      { timeoutMillis: timeoutMs },
    );
  }

  exited = (timeoutMs = 60_000): Promise<true> =>
    waitFor('the process to end', () => (this.exitCode === undefined ? undefined : true), { timeoutMillis: timeoutMs });

  async kill9(): Promise<void> {
    this.signal('SIGKILL');
    await this.exited();
  }

  /** An ordered stop. */
  async stop(): Promise<void> {
    if (this.exitCode !== undefined) return;
    this.signal('SIGTERM');
    await this.exited();
  }
}
