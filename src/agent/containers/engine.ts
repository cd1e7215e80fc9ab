import { spawn } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { ContainerSettings } from '../../platform/settings/container-settings.js';
import type { Log } from '../../platform/log.js';
import { messageOf } from '../../platform/files.js';
import { killGroup } from '../processes/order-program.js';
import { sandboxVariable } from '../processes/processes.js';
import { cleanEnvironment } from '../processes/run-as.js';
import { engineVariables } from './engine-variables.js';

/** A program that runs containers here. */
export interface Engine {
  kind: 'docker' | 'podman';
  /** The program, and the words that the operator wants after it. */
  words: readonly string[];
  version: string;
  /** Directory of this machine in which it keeps its images; undefined: it is elsewhere, or not told. */
  storage?: string;
}

/** The engine did not do what it was told. */
export class EngineFailure extends Error {}
/** The engine could not do anything, whatever it was told: it is gone, locked, or out of space. */
export class EngineTrouble extends EngineFailure {}
/** It did not answer in time. Whether it did what it was told is not known. */
export class EngineHangs extends Error {}

/**
 * Environment from the agent's, without anything of a task: the engine may be root. Proxies are only for programs that
 * talk to a registry: engines hand them to containers, passwords included.
 */
export const engineEnvironment = (names: readonly string[] = engineVariables): Record<string, string> => ({
  ...cleanEnvironment,
  ...Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []))),
});

const proxyVariables = 'HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy'.split(' ');
const ofRegistries = new Set(['pull', 'login']);

export interface EngineCall {
  timeoutMillis: number;
  /** Its abort ends the call. */
  signal?: AbortSignal;
  /** Sandbox of the task that it is for, by which all processes left of the call are found and ended with the task. */
  sandbox?: string;
  input?: string;
  /** Directory for temporary files of its program. */
  temporary?: string;
}

const mostOutput = 1024 * 1024;
const mostComplaint = 4_000;

/**
 * One command of an engine. Throws EngineFailure with the last line of what it had to say, or EngineHangs. Nothing is waited for
 * beyond the time: neither the end of what was killed nor that of what holds its outputs.
 */
export function askEngine(
  { words }: Pick<Engine, 'words'>,
  command: readonly string[],
  call: EngineCall,
): Promise<string> {
  const { timeoutMillis, signal, sandbox, input, temporary } = call;
  const [program = '', ...others] = [...words, ...command];
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error);
    const child = spawn(program, others, {
      cwd: '/',
      env: {
        ...engineEnvironment(
          ofRegistries.has(command[0] ?? '') ? [...engineVariables, ...proxyVariables] : engineVariables,
        ),
        ...(temporary !== undefined && { TMPDIR: temporary }),
        ...(sandbox !== undefined && { [sandboxVariable]: sandbox }),
      },
      detached: true,
      stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    });
    let output = '';
    let complaint = '';
    child.stdout!.setEncoding('utf8').on('data', (text: string) => (output = (output + text).slice(0, mostOutput)));
    child
      .stderr!.setEncoding('utf8')
      .on('data', (text: string) => (complaint = (complaint + text).slice(-mostComplaint)));
    child.stdin?.on('error', () => undefined).end(input);
    const settle = (work: () => void) => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
      for (const pipe of [child.stdin, child.stdout, child.stderr]) pipe?.destroy();
      child.unref();
      work();
    };
    const giveUp = (cause: Error) => {
      killGroup(child.pid);
      settle(() => reject(cause));
    };
    const abort = () => giveUp(signal!.reason as Error);
    const late = () =>
      giveUp(new EngineHangs(`${basename(program)} ${command[0] ?? ''} took longer than ${timeoutMillis} ms`));
    const timer = setTimeout(late, timeoutMillis);
    signal?.addEventListener('abort', abort);
    child.once('error', (cause) => settle(() => reject(new EngineTrouble(messageOf(cause), { cause }))));
    child.once('exit', (code) => {
      // What was written is read, as far as it comes soon: something may go on holding the pipes.
      const read = Promise.all([ended(child.stdout!), ended(child.stderr!)]);
      void Promise.race([read, delay(200, undefined, { ref: false })]).then(() =>
        settle(() => (code === 0 ? resolve(output) : reject(failureOf(lastLine(complaint) || `exit code ${code}`)))),
      );
    });
  });
}

/** Words with which engines complain of themselves and of their machine. What they say of an image or an option is not among them. */
const troubles =
  /database is locked|cannot connect to (?:the docker daemon|podman)|is the docker daemon running|no space left on device|disk quota exceeded|input\/output error|read-only file system|too many open files|cannot allocate memory|resource temporarily unavailable|acquiring .*lock|allocating lock|runtime database/i;

const failureOf = (text: string): EngineFailure =>
  troubles.test(text) ? new EngineTrouble(text) : new EngineFailure(text);

const ended = (stream: NodeJS.ReadableStream): Promise<void> => new Promise((resolve) => stream.once('end', resolve));

const lastLine = (text: string): string => text.trim().split('\n').at(-1)?.trim() ?? '';

const checkMillis = 10_000;
const againWhenMissingMillis = 15_000;
const againMillis = 300_000;

/** The engine of this machine, looked for at the start of the agent and again from time to time. */
export class EngineWatch {
  private found: Engine | undefined;
  private why = 'not looked for yet';
  private readonly listeners: (() => void)[] = [];
  private firstCheck: Promise<void> | undefined;
  private hasChecked = false;
  private checking: Promise<void> | undefined;
  private leftBehind = false;

  constructor(
    private readonly settings: ContainerSettings,
    private readonly log: Log,
    private readonly stopping: AbortSignal,
  ) {}

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  /** Reason why no containers run here; '': they do; undefined: the first check is not over. */
  get refusal(): string | undefined {
    return this.hasChecked ? this.why : undefined;
  }

  /** The engine, or why there is none. Waits for the first look, which is bounded in time. */
  async engine(): Promise<Engine | string> {
    await this.firstCheck;
    return this.found ?? this.why;
  }

  /** Directory in which the engine of this machine stores its images; undefined: unknown. */
  get storage(): string | undefined {
    return this.found?.storage;
  }

  /** A container could not be removed: who takes the note tries again. */
  noteLeftBehind(): void {
    this.leftBehind = true;
  }

  takeLeftBehind(): boolean {
    const was = this.leftBehind;
    this.leftBehind = false;
    return was;
  }

  /** After a failure of the engine: why no containers run here any more; undefined: it works. */
  async refusalNow(): Promise<string | undefined> {
    await (this.checking ??= this.check().finally(() => (this.checking = undefined)));
    return this.why || undefined;
  }

  begin(): void {
    this.firstCheck ??= this.check();
    void this.firstCheck.then(() => this.goOn());
  }

  private async goOn(): Promise<void> {
    if (this.settings.engine === 'off') return;
    while (!this.stopping.aborted) {
      const pause = this.found ? againMillis : againWhenMissingMillis;
      await delay(pause, undefined, { signal: this.stopping, ref: false }).catch(() => undefined);
      if (!this.stopping.aborted) await this.refusalNow();
    }
  }

  private async check(): Promise<void> {
    const { found: before, why: whyBefore } = this;
    const result = await findEngine(this.settings, this.stopping);
    if (this.stopping.aborted) return;
    this.found = typeof result === 'string' ? undefined : result;
    this.why = typeof result === 'string' ? result : '';
    if (this.found && !before) this.log.info(`Containers run with ${this.found.kind} ${this.found.version}`);
    if (!this.found && before) this.log.warn(`Containers can no longer run here: ${this.why}`);
    const isNew = !this.hasChecked || this.why !== whyBefore;
    this.hasChecked = true;
    if (isNew) for (const listener of this.listeners) listener();
  }
}

async function findEngine(settings: ContainerSettings, signal: AbortSignal): Promise<Engine | string> {
  if (settings.engine === 'off') return 'cluster.local.containers.engine is off';
  const names = settings.engine === 'auto' ? ['docker', 'podman'] : [settings.engine];
  const reasons: string[] = [];
  for (const name of names) {
    const program = await whereIs(name);
    if (program === undefined) reasons.push(`${name} is not installed`);
    else {
      const engine = await tryEngine([program, ...settings.engineArguments], signal).catch((cause: unknown) =>
        messageOf(cause),
      );
      if (typeof engine !== 'string') return engine;
      reasons.push(`${name}: ${engine.slice(0, 200)}`);
    }
  }
  return reasons.join('; ');
}

async function tryEngine(words: readonly string[], signal: AbortSignal): Promise<Engine> {
  const ask = (...command: string[]) => askEngine({ words }, command, { timeoutMillis: checkMillis, signal });
  // A program of the one name may be the other.
  const kind = /podman/i.test(await ask('--version')) ? 'podman' : 'docker';
  const [version = '', storage = ''] = (
    kind === 'podman'
      ? await ask('info', '--format={{.Version.Version}}\n{{.Store.GraphRoot}}')
      : await ask('info', '--format={{.ServerVersion}}\n{{.DockerRootDir}}')
  ).split('\n');
  // Docker's program tells a daemon that it cannot reach by an empty answer.
  if (version.trim() === '') throw new EngineTrouble('it does not tell its version');
  return { kind, words, version: version.trim().slice(0, 100), ...(storage.startsWith('/') && { storage }) };
}

async function whereIs(name: string): Promise<string | undefined> {
  const places = name.includes('/')
    ? [name]
    : cleanEnvironment.PATH.split(':').map((directory) => join(directory, name));
  for (const place of places)
    if (
      await access(place, constants.X_OK).then(
        () => true,
        () => false,
      )
    )
      return place;
  return undefined;
}
