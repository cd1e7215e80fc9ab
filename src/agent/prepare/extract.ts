import { execFile } from 'node:child_process';
import { createReadStream, createWriteStream } from 'node:fs';
import { basename, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { createGunzip } from 'node:zlib';
import { errorCode, messageOf } from '../files.js';
import { DeployFault } from './faults.js';

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
