import { execFile } from 'node:child_process';
import { createReadStream, createWriteStream } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createGunzip } from 'node:zlib';
import { errorCode, messageOf } from '../files.js';

/** Preparation failed because of what the deploy asked for; anything else that fails is the agent's own trouble. */
export class DeployFault extends Error {}

/** Fetches an http, https or file URL, or an absolute path. Redirects are followed. */
export async function download(source: string, target: string, signal: AbortSignal): Promise<void> {
  try {
    if (/^https?:/i.test(source)) await fetchTo(source, target, signal);
    else await copyFile(/^file:/i.test(source) ? fileURLToPath(source) : source, target);
  } catch (cause) {
    signal.throwIfAborted();
    if (cause instanceof DeployFault) throw cause;
    throw new DeployFault(`${source}: ${causeOf(cause)}`, { cause });
  }
}

async function fetchTo(url: string, target: string, signal: AbortSignal): Promise<void> {
  const response = await fetch(url, { signal });
  if (!response.ok || !response.body) {
    await response.body?.cancel();
    throw new DeployFault(`${url}: HTTP ${response.status}`);
  }
  await pipeline(Readable.fromWeb(response.body as ReadableStream), createWriteStream(target), { signal });
}

/** fetch says "fetch failed" and hides what failed one level down. */
const causeOf = (cause: unknown): string =>
  cause instanceof Error && cause.cause !== undefined ? messageOf(cause.cause) : messageOf(cause);

const run = promisify(execFile);
const tarEndings = ['.tar', '.tar.gz', '.tgz', '.tar.bz2', '.tbz2', '.tar.xz', '.txz'];

export const isArchive = (name: string): boolean =>
  [...tarEndings, '.zip', '.gz'].some((ending) => name.toLowerCase().endsWith(ending));

/** Unpacks into `folder`. `prefix` runs the tool as the task's user, so that an archive can do no more than the task. */
export async function extract(
  archive: string,
  folder: string,
  prefix: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const name = archive.toLowerCase();
  if (tarEndings.some((ending) => name.endsWith(ending)))
    await tool([...prefix, 'tar', '--no-same-owner', '-xf', archive, '-C', folder], signal);
  else if (name.endsWith('.zip')) await tool([...prefix, 'unzip', '-q', '-o', archive, '-d', folder], signal);
  else await gunzip(archive, join(folder, basename(archive).slice(0, -'.gz'.length)), signal);
}

async function gunzip(archive: string, target: string, signal: AbortSignal): Promise<void> {
  try {
    await pipeline(createReadStream(archive), createGunzip(), createWriteStream(target), { signal });
  } catch (cause) {
    signal.throwIfAborted();
    throw new DeployFault(`Cannot unpack ${basename(archive)}: ${messageOf(cause)}`, { cause });
  }
}

async function tool([program = '', ...words]: string[], signal: AbortSignal): Promise<void> {
  try {
    await run(program, words, { signal });
  } catch (cause) {
    signal.throwIfAborted();
    if (errorCode(cause) === 'ENOENT') throw new Error(`${program} is not installed on this machine`, { cause });
    throw new DeployFault(messageOf(cause).split('\n').slice(0, 2).join(' '), { cause });
  }
}
