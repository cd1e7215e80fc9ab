import { constants } from 'node:fs';
import { type FileHandle, open, readlink, realpath } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import { fileURLToPath } from 'node:url';
import { messageOf } from '../files.js';
import { pathOf } from '../sandbox/below.js';
import { isBelow } from '../wire/unsupported.js';
import { DeployFault, type FetchLimits } from './order.js';

const megabyte = 1024 * 1024;

/** Counts what all artifacts of a task bring. */
export class Meter {
  /** Set when it was too much: streams that are broken off tell of that first. */
  fault: DeployFault | undefined;
  private total = 0;

  constructor(private readonly limits: FetchLimits) {}

  count(bytes: number): void {
    this.total += bytes;
    this.check(this.total);
  }

  /** `bytes`: of everything that lies in the sandbox. */
  check(bytes: number, files = 0): void {
    const { totalBytes, files: most } = this.limits;
    if (bytes > totalBytes) this.refuse(`The files of the task are larger than ${totalBytes / megabyte} MB`);
    if (files > most) this.refuse(`The files of the task are more than ${most}`);
  }

  refuse(message: string): never {
    throw (this.fault ??= new DeployFault(message));
  }
}

interface Bounds {
  limits: FetchLimits;
  meter: Meter;
}

/** Fetches an http, https or file URL, or an absolute path. Redirects are followed, to http and https only. */
export async function download(source: string, target: FileHandle, bounds: Bounds): Promise<void> {
  try {
    const content = /^https?:/i.test(source) ? await bodyOf(source) : await localFile(source, bounds.limits);
    await pipeline(content, counted(source, bounds), (chunks) => append(chunks as AsyncIterable<Buffer>, target));
  } catch (cause) {
    if (bounds.meter.fault) throw bounds.meter.fault;
    if (cause instanceof DeployFault) throw cause;
    throw new DeployFault(`${source}: ${causeOf(cause)}`, { cause });
  }
}

/** `fetch` itself refuses redirects to anything else than http and https. */
async function bodyOf(url: string): Promise<Readable> {
  const response = await fetch(url);
  if (response.ok && response.body) return Readable.fromWeb(response.body as ReadableStream);
  await response.body?.cancel();
  throw new DeployFault(`${url}: HTTP ${response.status}`);
}

/** What is open is compared, not what the path was: a link may be changed between a check and its use. */
async function localFile(source: string, { allowedPaths }: FetchLimits): Promise<Readable> {
  const path = /^file:/i.test(source) ? fileURLToPath(source) : source;
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const real = await readlink(pathOf(file));
  const allowed = await Promise.all(allowedPaths.map((folder) => realpath(folder).catch(() => undefined)));
  if ((await file.stat()).isFile() && allowed.some((folder) => folder && isBelow(real, folder)))
    return file.createReadStream();
  await file.close();
  throw new DeployFault(`cluster.local.allowedArtifactPaths allows no file ${source}`);
}

const counted = (source: string, { limits, meter }: Bounds) =>
  async function* (chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    let bytes = 0;
    for await (const chunk of chunks) {
      bytes += chunk.length;
      if (bytes > limits.artifactBytes) meter.refuse(`${source}: is larger than ${limits.artifactBytes / megabyte} MB`);
      meter.count(chunk.length);
      yield chunk;
    }
  };

async function append(chunks: AsyncIterable<Buffer>, target: FileHandle): Promise<void> {
  for await (const chunk of chunks) await target.appendFile(chunk);
}

/** fetch says "fetch failed" and hides what failed one level down. */
const causeOf = (cause: unknown): string =>
  cause instanceof Error && cause.cause !== undefined ? messageOf(cause.cause) : messageOf(cause);
