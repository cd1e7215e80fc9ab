import { mkdir, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { imageOf } from '../../core/model/deploy.js';
import type { LaunchSpec } from '../../core/model/launch.js';
import type { AgentContext } from '../agent-context.js';
import { bytesOfMb, messageOf, readIfThere, writeDurably } from '../../platform/files.js';
import { withSignal } from '../../platform/async.js';
import { commandLine } from '../processes/command-line.js';
import { reservedBytes } from '../sandbox/disk-space.js';
import { askEngine, type Engine, type EngineCall, EngineFailure, type EngineWatch } from './engine.js';

/** An image that the agent has pulled, and so may remove. */
const Record = z.object({ id: z.string(), bytes: z.number(), usedAt: z.number() });

/** By the name under which it was pulled; by its number once that name has become another image. */
const Records = z.record(z.string(), Record);
type Records = z.infer<typeof Records>;

const shortMillis = 10_000;
const checkEveryMillis = 250;
const pauseBetweenPullsMillis = 1_000;
const dayMillis = 24 * 60 * 60 * 1000;

/** By so much the time of the last use may be behind. */
const usedMillis = 60 * 60 * 1000;

/**
 * With a tag, so that it is never taken for the beginning of an image's number: what somebody has pulled would be found by that
 * whatever registry it came from.
 */
export function imageReference(name: string): string {
  const isTagged = name.includes('@') || name.slice(name.lastIndexOf('/') + 1).includes(':');
  return isTagged ? name : `${name}:latest`;
}

/** The image of a task's container, as engines are told it. */
export const imageOfSpec = ({ container }: Pick<LaunchSpec, 'container'>): string | undefined => {
  const image = container && imageOf(container);
  return image && imageReference(image.name);
};

export type Ask = (
  command: readonly string[],
  more?: Pick<EngineCall, 'input' | 'signal' | 'temporary'>,
) => Promise<string>;

/** The text that an engine has on an image; undefined: it does not have it. */
export async function inspectImage(ask: Ask, name: string, format?: string): Promise<string | undefined> {
  try {
    return await ask(['image', 'inspect', ...commandLine(format === undefined ? [] : [['format', format]], [name])]);
  } catch (cause) {
    if (isMissing(cause)) return undefined;
    throw cause;
  }
}

const isMissing = (cause: unknown): boolean =>
  cause instanceof EngineFailure && /no such image|image not known|unable to find/i.test(cause.message);

/** The images that the agent pulls for tasks: what they may take of the disk, and when they go. */
export class Images {
  private records: Promise<Records> | undefined;
  private saved = '{}';
  private saving: Promise<void> = Promise.resolve();
  private readonly path: string;
  private readonly temporary: string;

  constructor(
    private readonly context: Pick<AgentContext, 'directory' | 'settings' | 'log' | 'stopping' | 'now'> & {
      engines: EngineWatch;
    },
  ) {
    this.path = join(context.directory.root, 'images.json');
    this.temporary = join(context.directory.root, 'image-downloads');
  }

  /** Pulls an image. Throws what the engine said, or that there is no room. */
  async pull(engine: Engine, name: string, ask: Ask, signal: AbortSignal): Promise<void> {
    const { maxDockerPullAttempts } = this.context.settings.containers;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.tryToPull(engine, name, ask, signal);
      } catch (cause) {
        signal.throwIfAborted();
        if (attempt >= maxDockerPullAttempts || !(cause instanceof EngineFailure)) throw cause;
        await delay(pauseBetweenPullsMillis, undefined, { signal });
      }
    }
  }

  private async tryToPull(engine: Engine, name: string, ask: Ask, signal: AbortSignal): Promise<void> {
    const records = await this.load();
    await this.logIn(name, ask);
    const listed = await ask(['images', ...commandLine(numbersAlone)]);
    const before = new Set(listed.split(/\s+/));
    const old = await describe(ask, name);
    // What is downloaded goes with the directory, also where the engine's program is killed.
    const directory = join(this.temporary, randomUUID());
    await mkdir(directory, { recursive: true, mode: 0o700 });
    try {
      await this.whileThereIsRoom([engine.storage ?? directory, directory], signal, (over) =>
        ask(['pull', ...commandLine([['quiet', true]], [name])], { signal: over, temporary: directory }),
      );
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
    const pulled = await describe(ask, name);
    if (!pulled) return;
    const { [name]: known } = records;
    if (known && old && old.id !== pulled.id) records[old.id] = { ...known, id: old.id };
    if (known || !before.has(pulled.id)) records[name] = { ...pulled, usedAt: this.context.now() };
    await this.save(records);
  }

  /**
   * Removes images that no task uses: those that were used last long ago, and the oldest while all of them take too much. `specs`: of
   * the tasks that there are now. Each removal may take seconds, in which others begin.
   */
  async sweep(specs: () => readonly Pick<LaunchSpec, 'container'>[], isDiskFull: boolean): Promise<void> {
    const records = await this.load();
    if (Object.keys(records).length === 0) return;
    const { imageKeepDays, imageCacheMegabytes } = this.context.settings.containers;
    const now = this.context.now();
    const used = new Set(specs().map(imageOfSpec));
    for (const [name, record] of Object.entries(records))
      if (used.has(name) && now - record.usedAt > usedMillis) records[name] = { ...record, usedAt: now };
    const unused = Object.entries(records)
      .filter(([name]) => !used.has(name))
      .toSorted(([, a], [, b]) => a.usedAt - b.usedAt);
    let bytes = unused.reduce((sum, [, record]) => sum + record.bytes, 0);
    for (const [name, record] of unused) {
      const isOld = imageKeepDays > 0 && now - record.usedAt > imageKeepDays * dayMillis;
      if (!isOld && !isDiskFull && bytes <= bytesOfMb(imageCacheMegabytes)) break;
      bytes -= record.bytes;
      const isTaken = records[name] !== record || specs().some((spec) => imageOfSpec(spec) === name);
      if (!isTaken && (await this.remove(name))) delete records[name];
    }
    await this.save(records);
  }

  /** False: it is still there, because something uses it or the engine does not answer. */
  private async remove(name: string): Promise<boolean> {
    const { engines, log, stopping } = this.context;
    const engine = await engines.engine();
    if (typeof engine === 'string') return false;
    try {
      await askEngine(engine, ['rmi', ...commandLine([], [name])], { timeoutMillis: shortMillis, signal: stopping });
      log.info(`Removed image ${name}, which no task uses`);
      return true;
    } catch (cause) {
      return isMissing(cause);
    }
  }

  /** With the credentials of the settings, for images of their registry. Others are as the engine itself is configured. */
  private async logIn(name: string, ask: Ask): Promise<void> {
    const { registryLogin } = this.context.settings.containers;
    if (!registryLogin || !name.startsWith(`${registryLogin.server}/`)) return;
    const { user, password, server } = registryLogin;
    const options = [
      ['username', user],
      ['password-stdin', true],
    ] as const;
    await ask(['login', ...commandLine(options, [server])], { input: password });
  }

  /** Ends the work before it takes what has to stay free. */
  private async whileThereIsRoom<T>(
    places: readonly string[],
    signal: AbortSignal,
    work: (over: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const over = new AbortController();
    const noRoom = new Error('The image does not fit on the disk of this machine, of which some has to stay free');
    const isFull = async () => (await Promise.all(places.map((place) => this.isFull(place)))).includes(true);
    if (await isFull()) throw noRoom;
    const done = new AbortController();
    const watch = async () => {
      while (!done.signal.aborted) {
        await delay(checkEveryMillis, undefined, { signal: done.signal }).catch(() => undefined);
        if (!done.signal.aborted && (await isFull())) return over.abort(noRoom);
      }
    };
    const watching = watch().catch(() => undefined);
    try {
      return await withSignal([signal, over.signal], work);
    } finally {
      done.abort();
      await watching;
    }
  }

  private async isFull(place: string): Promise<boolean> {
    const disk = await statfs(place).catch(() => undefined);
    return disk !== undefined && disk.bavail * disk.bsize < reservedBytes(this.context.settings, disk);
  }

  private load(): Promise<Records> {
    return (this.records ??= this.read());
  }

  private async read(): Promise<Records> {
    await rm(this.temporary, { recursive: true, force: true });
    try {
      this.saved = (await readIfThere(this.path)) ?? '{}';
      return Records.parse(JSON.parse(this.saved));
    } catch (cause) {
      this.context.log.warn(`${this.path} cannot be read, images that it names stay: ${messageOf(cause)}`);
      return {};
    }
  }

  /** One after the other, and only what is news. */
  private save(records: Records): Promise<void> {
    const write = async () => {
      const text = JSON.stringify(records);
      if (text !== this.saved) await writeDurably(this.path, text);
      this.saved = text;
    };
    return (this.saving = this.saving.then(write, write));
  }
}

const numbersAlone = [
  ['quiet', true],
  ['no-trunc', true],
] as const;

async function describe(ask: Ask, name: string): Promise<{ id: string; bytes: number } | undefined> {
  const [id = '', bytes = ''] = (await inspectImage(ask, name, '{{.Id}} {{.Size}}'))?.trim().split(' ') ?? [];
  return id === '' ? undefined : { id: id.startsWith('sha256:') ? id : `sha256:${id}`, bytes: Number(bytes) || 0 };
}
