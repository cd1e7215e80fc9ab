import { createReadStream, createWriteStream, mkdirSync, renameSync, rmSync } from 'node:fs';
import { addAbortSignal, type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { Logger } from '@nestjs/common';
import { type Contents, UnusableBackup, write } from '../../platform/backup/backup-file.js';
import { restore } from '../../platform/backup/restore.js';
import { Snapshot } from '../../platform/backup/snapshot.repository.js';
import { StateInTheWay } from '../../platform/backup/objects.repository.js';
import { checkDatabase } from '../../platform/database/check-database.js';
import { EmbeddedServer } from '../../platform/embedded-server/embedded-server.js';
import { StartError } from '../../platform/errors.js';
import { PinoLogger } from '../../platform/logging/log.js';
import { holderOf, releasePidFile, takePidFile } from '../../platform/process/pid-file.js';
import type { Settings } from '../../platform/settings/settings.js';
import { exitCodes, type Outcome } from '../exit-codes.js';
import { plain } from '../../core/terminal-text.js';
import { writeError, writeOut } from '../output/streams.js';
import { projectFile } from '../project-file.js';
import { pidFileOf } from './instance-place.js';

const progressEveryMillis = 2_000;
/** As a name of a file: what is sent through a pipe. */
const pipe = '-';

/** A failure that is printed on one line, with an exit code. */
class Refusal extends Error {
  constructor(
    readonly outcome: Outcome,
    message: string,
  ) {
    super(message);
  }
}

/** Writes the whole database into a file, while everything goes on. Answers the exit code. */
export async function backUp(settings: Settings, file: string): Promise<number> {
  const { databaseUrl, dataDir } = settings;
  return told(file, async (signal) => {
    if (file === pipe && process.stdout.isTTY)
      throw new Refusal('usage', 'A backup is no text for a terminal: send it into a file or a pipe');
    if (databaseUrl === undefined && EmbeddedServer.urlIn(dataDir) === undefined)
      throw new Refusal('notFound', `There is no database in ${dataDir}: the first start creates it`);
    // A Muster that runs goes on using its server.
    const isFree = () => holderOf(pidFileOf(dataDir)) === undefined;
    await withDatabase(settings, isFree, async (url) => {
      const snapshot = await Snapshot.open(url);
      try {
        const read = new Meter();
        const written = new Meter();
        const stopTelling = tellNowAndThen(() => `${megabytes(read.bytes)} read, ${megabytes(written.bytes)} written`);
        try {
          await save(file, write(contentsOf(snapshot)), [read, written], signal);
        } finally {
          stopTelling();
        }
        const size = `${snapshot.tables.length} tables, ${megabytes(read.bytes)}, compressed ${megabytes(written.bytes)}`;
        if (file !== pipe) writeOut(`Backed up to ${file}: ${size}. It holds secrets: keep it as such.\n`);
      } finally {
        snapshot.close();
      }
    });
  });
}

/** Puts what `backUp` has written into an empty database, or in the place of what is there. Answers the exit code. */
export async function restoreFrom(settings: Settings, file: string, replace: boolean): Promise<number> {
  Logger.overrideLogger(new PinoLogger(settings.log));
  const { databaseUrl, dataDir } = settings;
  return told(file, async (signal) => {
    // Before a database is made for it.
    const source = file === pipe ? process.stdin : await opened(file);
    addAbortSignal(signal, source);
    if (databaseUrl === undefined) claim(dataDir);
    try {
      await withDatabase(
        settings,
        () => true,
        async (url) => {
          let rows = 0;
          const stopTelling = tellNowAndThen(() => `${rows} rows`);
          try {
            const uncompressed = createGunzip();
            // What fails in it is told to the reader of the other end.
            const fed = pipeline(source, uncompressed).catch(() => undefined);
            const progress = (done: number): void => void (rows = done);
            const { at, version, migrated, ...put } = await restore({ url, uncompressed, replace, progress });
            await fed;
            const steps = migrated > 0 ? `, migrated by ${migrated} steps` : '';
            writeOut(
              `Restored ${put.rows} rows as they were at ${at}, from a backup of Muster ${version}${steps}. Start Muster now.\n`,
            );
          } finally {
            stopTelling();
          }
        },
      );
    } finally {
      if (databaseUrl === undefined) releasePidFile(pidFileOf(dataDir));
    }
  });
}

function contentsOf(snapshot: Snapshot): Contents {
  async function* tables() {
    for (const table of snapshot.tables) yield { ...table, rows: snapshot.rowsOf(table) };
  }
  const { version } = JSON.parse(projectFile('package.json')) as { version: string };
  const head = { version, at: snapshot.at.toISOString(), migrations: snapshot.migrations };
  return { head, tables: tables(), sequences: () => snapshot.sequences() };
}

/** The file comes into being whole, or not at all: a former one stays until then. */
async function save(file: string, text: AsyncIterable<Buffer>, [read, written]: Meter[], signal: AbortSignal) {
  const compressed = createGzip();
  if (file === pipe) return pipeline(text, read!, compressed, written!, process.stdout, { signal, end: false });
  const part = `${file}.${process.pid}.part`;
  try {
    // For its owner alone, and on the disk before it has its name.
    const target = createWriteStream(part, { flags: 'wx', mode: 0o600, flush: true });
    await pipeline(text, read!, compressed, written!, target, { signal });
    renameSync(part, file);
  } catch (cause) {
    rmSync(part, { force: true });
    throw cause;
  }
}

/** Fails where it cannot be read, before anything else is done. */
function opened(file: string): Promise<Readable> {
  const source = createReadStream(file);
  return new Promise((resolve, reject) => {
    source.once('error', reject).once('readable', () => resolve(source));
  });
}

function claim(dataDir: string): void {
  mkdirSync(dataDir, { recursive: true, mode: 0o711 });
  const holder = takePidFile(pidFileOf(dataDir));
  if (holder === undefined) return;
  throw new StateInTheWay(`Muster runs on ${dataDir} (process ${holder}): stop it first (muster stop)`);
}

/** The one that was named, or the embedded one. */
async function withDatabase(
  { databaseUrl, dataDir }: Settings,
  mayStop: () => boolean,
  work: (url: string) => Promise<void>,
): Promise<void> {
  const server = databaseUrl === undefined ? await EmbeddedServer.start({ dataDir, say: note }) : undefined;
  const url = databaseUrl ?? server!.url;
  try {
    await checkDatabase(url);
    await work(url);
  } finally {
    if (mayStop()) await server?.stop();
  }
}

/**
 * Does the work and prints its failure as one line on stderr. Not by a CliError: that of the commands is another class,
 * in their file.
 */
async function told(file: string, work: (signal: AbortSignal) => Promise<void>): Promise<number> {
  const interrupt = new AbortController();
  // The second one ends the process at once.
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, () => interrupt.abort());
  try {
    await work(interrupt.signal);
    return exitCodes.done;
  } catch (cause) {
    const { outcome, message } = interrupt.signal.aborted
      ? new Refusal('interrupted', 'Interrupted: nothing has changed')
      : refusalOf(file, cause as NodeJS.ErrnoException);
    note(`muster: ${plain(message)}`);
    return exitCodes[outcome];
  }
}

function refusalOf(file: string, cause: NodeJS.ErrnoException): Refusal {
  if (cause instanceof Refusal) return cause;
  if (cause instanceof UnusableBackup) return new Refusal('usage', `${file}: ${cause.message}`);
  if (cause instanceof StateInTheWay) return new Refusal('conflict', cause.message);
  if (!(cause instanceof StartError) && ofFiles.test(cause.code ?? ''))
    return new Refusal('usage', `Cannot use ${file}: ${cause.code}`);
  return new Refusal('failed', cause.message);
}

const ofFiles = /^(EACCES|EEXIST|EISDIR|ENOENT|ENOSPC|ENOTDIR|EPERM|EROFS|ENAMETOOLONG|EDQUOT|EFBIG)$/;

/** Counts what passes. */
class Meter extends Transform {
  bytes = 0;
  override _transform(chunk: Buffer, _encoding: string, done: (error: null, chunk: Buffer) => void): void {
    this.bytes += chunk.length;
    done(null, chunk);
  }
}

const megabytes = (bytes: number): string => `${(bytes / 1_000_000).toFixed(1)} MB`;
const note = (line: string): void => writeError(`${line}\n`);

/** For people who wait; answers how to end it. */
function tellNowAndThen(what: () => string): () => void {
  if (!process.stderr.isTTY) return () => undefined;
  const timer = setInterval(() => note(what()), progressEveryMillis);
  return () => clearInterval(timer);
}
