import { constants } from 'node:fs';
import { type FileHandle, open, readlink, realpath, statfs } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { Agent, interceptors, request } from 'undici';
import { errorCode, messageOf } from '../../platform/files.js';
import { pathOf } from '../sandbox/below.js';
import { isBelow } from '../../core/files/paths.js';
import { DeployFault, type FetchLimits, tooMuchDisk } from './order.js';

const megabyte = 1024 * 1024;

/** So much may come between two looks at what is free. */
const bytesPerCheck = megabyte;

export const diskIsFull = 'The disk of this machine is full';

/** Counts what all artifacts of a task bring. */
export class Meter {
  /** Set when it was too much: streams that are broken off tell of that first. */
  fault: Error | undefined;
  /** The artifact that is put in its place, for messages. */
  present = '';
  private total = 0;
  private checkedAt = 0;

  constructor(
    private readonly limits: FetchLimits,
    private readonly root: string,
  ) {}

  async count(bytes: number): Promise<void> {
    this.total += bytes;
    this.check(this.total);
    if (this.total - this.checkedAt < bytesPerCheck) return;
    this.checkedAt = this.total;
    await this.checkDisk();
  }

  /** `bytes`: of everything that lies in the sandbox. */
  check(bytes: number, files = 0): void {
    const { totalBytes, files: most, isTaskDisk, section } = this.limits;
    if (bytes > totalBytes)
      this.refuse(
        `The files of the task are larger than ${totalBytes / megabyte} MB (${this.present})`,
        isTaskDisk ? tooMuchDisk : undefined,
      );
    if (this.isTooMany(files))
      this.refuse(`The files of the task are more than ${most}, ${section}.maxArtifactFiles (${this.present})`);
  }

  isTooMany = (files: number): boolean => files > this.limits.files;

  /** Checks that enough of the disk stays free for the running tasks and the agent. */
  async checkDisk(comingBytes = 0): Promise<void> {
    const { bavail, bsize } = await statfs(this.root);
    if (bavail * bsize < this.limits.reservedBytes + comingBytes)
      throw (this.fault ??= new Error(`${diskIsFull} (${this.limits.section}.reservedDiskMb)`));
  }

  refuse(message: string, reason?: string): never {
    throw (this.fault ??= new DeployFault(message, undefined, reason));
  }
}

export interface DownloadLimits {
  limits: FetchLimits;
  meter: Meter;
}

/** Errors of this machine, for which no deploy is to blame. */
const lacking = new Set(['ENOSPC', 'EDQUOT', 'EIO', 'EROFS', 'EMFILE', 'ENFILE', 'ENOMEM']);
export const isTrouble = (cause: unknown): boolean => lacking.has(errorCode(cause) ?? '');

/** Fetches an http, https or file URL, or an absolute path. Redirects are followed, to http and https only. */
export async function download(source: string, target: FileHandle, bounds: DownloadLimits): Promise<void> {
  const name = nameOfSource(source);
  try {
    const content = /^https?:/i.test(source) ? await bodyOf(source, bounds) : await localFile(source, bounds.limits);
    await pipeline(content, counted(name, bounds), (chunks) => append(chunks as AsyncIterable<Buffer>, target));
  } catch (cause) {
    if (bounds.meter.fault) throw bounds.meter.fault;
    if (cause instanceof DeployFault || isTrouble(cause)) throw cause;
    throw new DeployFault(`${name}: ${causeOf(cause)}`, { cause });
  }
}

const longestName = 60;

/** For messages: host and file. Users, passwords and tokens of a URL are not for all readers of a message. */
export function nameOfSource(source: string): string {
  if (!/^https?:/i.test(source) || !URL.canParse(source)) return source;
  const { host, pathname } = new URL(source);
  const whole = `${host}${pathname}`;
  return whole.length <= longestName ? whole : `...${whole.slice(-longestName)}`;
}

const mostRedirects = 20;

/** A server that sends nothing for so long has died. */
const silentMillis = 60_000;

/** As it comes: what a server calls an encoding may be the archive itself. */
async function bodyOf(url: string, { limits }: DownloadLimits): Promise<Readable> {
  const { username, password } = new URL(url);
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  const dispatcher = new Agent({
    connect: { rejectUnauthorized: limits.verifyTls },
    headersTimeout: silentMillis,
    bodyTimeout: silentMillis,
  }).compose(interceptors.redirect({ maxRedirections: mostRedirects }));
  const { statusCode, body } = await request(url, {
    dispatcher,
    headers: username ? { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` } : {},
  });
  if (statusCode >= 200 && statusCode < 300) return body;
  body.on('error', () => undefined).destroy();
  throw new DeployFault(`${nameOfSource(url)}: HTTP ${statusCode}`);
}

/** The open file is compared, not its path: a link may be changed between a check and its use. */
async function localFile(source: string, { allowedPaths, section }: FetchLimits): Promise<Readable> {
  const path = /^file:/i.test(source) ? fileURLToPath(source) : source;
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const real = await readlink(pathOf(file));
  const allowed = await Promise.all(allowedPaths.map((directory) => realpath(directory).catch(() => undefined)));
  if ((await file.stat()).isFile() && allowed.some((directory) => directory && isBelow(real, directory)))
    return file.createReadStream();
  await file.close();
  throw new DeployFault(`${section}.allowedArtifactPaths allows no file ${source}`);
}

/** `name`: of what comes, for messages. */
export const counted = (name: string, { limits, meter }: DownloadLimits) =>
  async function* (chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    let bytes = 0;
    for await (const chunk of chunks) {
      bytes += chunk.length;
      if (bytes > limits.artifactBytes) meter.refuse(`${name}: is larger than ${limits.artifactBytes / megabyte} MB`);
      await meter.count(chunk.length);
      yield chunk;
    }
  };

export async function append(chunks: AsyncIterable<Buffer>, target: FileHandle): Promise<void> {
  for await (const chunk of chunks) await target.appendFile(chunk);
}

/** Some errors say "failed" and hide what failed one level down; others have a code and no words. */
const causeOf = (cause: unknown): string => {
  const inner = cause instanceof Error && cause.cause !== undefined ? cause.cause : cause;
  return messageOf(inner) || errorCode(inner) || 'failed';
};
