import { spawn } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  isAlive,
  type ProcessIdentity,
  type ProcessStat,
  readStat,
} from '../../../src/agent/processes/process-identity.js';
import { waitFor } from '../../support/wait-for.js';

/** Each process of a side works in the folder of its part, by which it and its children are found. */
const parts = ['service', 'store', 'cluster'] as const;
export type Part = (typeof parts)[number];

const ticksPerSecond = 100;
const endsWithinMillis = 20_000;

export interface PlayedFigures {
  /** Running or starting. */
  tasks: number;
  /** Since `clear`. */
  launches: number;
  kills: number;
  reported: number;
  acknowledged: number;
  /** Epoch milliseconds. */
  acknowledgedAt: number;
}

/** One of the two, as it is started for a round: the service, its database or ZooKeeper, and the program that plays its cluster. */
export class Side {
  /** Address of the API, without a slash at its end. */
  api = '';
  /** Address of the program that plays the cluster. */
  private control = '';
  private readonly root = mkdtempSync(join(tmpdir(), 'mu-'));

  constructor(readonly name: string) {
    // The user of a database passes through.
    chmodSync(this.root, 0o755);
    for (const part of parts) mkdirSync(this.folder(part));
  }

  folder(part: Part): string {
    return join(this.root, part);
  }

  /** Starts a program in the folder of its part, out of reach of Ctrl-C: it is stopped in its turn. */
  run(part: Part, program: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Running {
    const log = join(this.root, `${part}.log`);
    const output = openSync(log, 'a');
    const child = spawn(program, args, {
      cwd: this.folder(part),
      env: { ...process.env, ...env },
      stdio: ['ignore', output, output],
      detached: true,
    });
    closeSync(output);
    let end: string | undefined;
    child.once('error', (cause) => (end = cause.message));
    child.once('exit', (code, signal) => (end = `exit code ${code ?? signal}`));
    const printed = () => readFileSync(log, 'utf8');
    const failed = () => new Error(`${program} has ended (${end}):\n${printed().slice(-2_000)}`);
    return {
      printed,
      until: async (what, condition, timeoutMillis = 120_000) => {
        let found: Awaited<ReturnType<typeof condition>> | undefined;
        const look = async () => Boolean((found = await condition()) || end !== undefined);
        await waitFor(what, look, { timeoutMillis, everyMillis: 100 });
        if (!found) throw failed();
        return found as never;
      },
      ended: async () => {
        await waitFor(`the end of ${program}`, () => end, { timeoutMillis: 600_000 });
        if (end !== 'exit code 0') throw failed();
      },
    };
  }

  /** Starts the program that plays the cluster; answers the ports that it tells. */
  async playCluster(program: string, args: readonly string[]): Promise<Record<string, number>> {
    const running = this.run('cluster', program, args);
    const line = await running.until('the played cluster', () => /^\{.*\}$/m.exec(running.printed())?.[0]);
    const ports = JSON.parse(line) as Record<string, number>;
    this.control = `http://127.0.0.1:${ports['control']}`;
    return ports;
  }

  /** Figures of the simulated cluster. */
  played = () => this.ask<PlayedFigures>('figures');
  /** Time at which each task was launched since `clear`, epoch milliseconds. */
  launchTimes = () => this.ask<number[]>('launches');
  clear = () => this.ask('clear');
  /** Keeps reports of tasks back until `release`, which answers the time. */
  hold = () => this.ask('hold');
  release = () => this.ask<number>('release');
  /** Ends the tasks of each request up to this instance. */
  endTasks = (upTo: number) => this.ask(`end?upTo=${upTo}`);

  private async ask<T>(path: string): Promise<T> {
    return (await fetch(`${this.control}/${path}`)).json() as Promise<T>;
  }

  /** True if something is there that answers this well, and soon. */
  async answers(url: string): Promise<boolean> {
    const answer = await fetch(url, { signal: AbortSignal.timeout(5_000) }).catch(() => undefined);
    return answer?.ok === true;
  }

  async call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const answer = await fetch(`${this.api}/${path}`, {
      method,
      headers: { accept: 'application/json', 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${this.name}: ${method} ${path}: ${answer.status} ${text.slice(0, 300)}`);
    return (text === '' ? undefined : JSON.parse(text)) as T;
  }

  /** Processor time of the service with its database or ZooKeeper, since they began. */
  cpuMillis(): number {
    const ticks = this.processes('service', 'store').map(({ userTicks, systemTicks }) => userTicks + systemTicks);
    return (ticks.reduce((sum, each) => sum + each, 0) / ticksPerSecond) * 1_000;
  }

  /** Memory of each process for itself, and once what they share: a database has its cache in all of its processes. */
  memoryMiB(...of: readonly Part[]): number {
    const told = this.processes(...of).map(({ pid }) => readText(`/proc/${pid}/smaps_rollup`));
    const kilobytes = (text: string, kind: string): number =>
      [...text.matchAll(new RegExp(`^${kind}_(?:Clean|Dirty): +(\\d+) kB$`, 'gm'))].reduce(
        (sum, [, n]) => sum + Number(n),
        0,
      );
    const own = told.reduce((sum, text) => sum + kilobytes(text, 'Private'), 0);
    return (own + Math.max(0, ...told.map((text) => kilobytes(text, 'Shared')))) / 1_024;
  }

  /** Ends all that was started, in order and then by force, and removes the files. */
  async close(): Promise<void> {
    for (const part of parts) await this.end(part);
    rmSync(this.root, { recursive: true, force: true });
  }

  private async end(part: Part): Promise<void> {
    const running: ProcessIdentity[] = this.processes(part);
    const left = () => running.filter(isAlive);
    const tell = (signal: NodeJS.Signals) => {
      for (const { pid } of left()) {
        try {
          process.kill(pid, signal);
        } catch {
          // It has ended by itself.
        }
      }
    };
    tell('SIGTERM');
    await waitFor('the end', () => left().length === 0, { timeoutMillis: endsWithinMillis }).catch(() =>
      tell('SIGKILL'),
    );
    await waitFor('the end by force', () => left().length === 0, { timeoutMillis: endsWithinMillis });
  }

  private processes(...of: readonly Part[]): ProcessStat[] {
    const folders = of.map((part) => this.folder(part));
    return readdirSync('/proc').flatMap((name) => {
      if (!/^\d+$/.test(name)) return [];
      const works = workingFolder(name);
      const isOurs = folders.some((folder) => works === folder || works.startsWith(`${folder}/`));
      return (isOurs && readStat(Number(name))) || [];
    });
  }
}

export interface Running {
  /** By all programs of its part. */
  printed(): string;
  /** Fails when the program ends before. */
  until<T>(
    what: string,
    condition: () => T | Promise<T>,
    timeoutMillis?: number,
  ): Promise<Exclude<NonNullable<T>, false>>;
  /** Until it has done its work. */
  ended(): Promise<void>;
}

/** '': it has ended, or is none of ours. */
function workingFolder(pid: string): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return '';
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
