import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { chmod, copyFile, mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { ClusterArtifact, EmbeddedArtifact, ExternalArtifact } from '../../core/model/deploy.js';
import { errorCode } from '../files.js';
import { DeployFault, download, extract, isArchive } from './downloads.js';

/** What is needed to put files into a task's folder. */
export interface Staging {
  folder: string;
  /** Words before a command that make it run as the task's user. */
  asUser: readonly string[];
  signal: AbortSignal;
  /** Makes everything in the folder the property of the task's user. */
  give(): Promise<void>;
  /** A line for executor.log. */
  note(line: string): Promise<void>;
}

/** Downloads of plain commands and of single runs: unpacked unless they are made executable or asked to stay as they are. */
export async function placeDownload(artifact: ClusterArtifact, staging: Staging): Promise<void> {
  const target = join(staging.folder, artifact.outputFile ?? nameFromUri(artifact.uri));
  await mkdir(dirname(target), { recursive: true });
  await download(artifact.uri, target, staging.signal);
  if (artifact.executable) await chmod(target, 0o755);
  else if (artifact.extract !== false && isArchive(target)) await unpack(target, staging.folder, staging);
}

/** Files that came inside the deploy, as base64. */
export async function placeEmbedded(artifact: EmbeddedArtifact, staging: Staging): Promise<void> {
  const target = join(await targetFolder(artifact, staging), artifact.filename ?? '');
  await mkdir(dirname(target), { recursive: true });
  // Each element is base64 text of its own: padding may end any of them.
  const content = Buffer.concat((artifact.content ?? []).map((text) => Buffer.from(text, 'base64')));
  try {
    await writeFile(target, content, { flag: 'wx', mode: 0o644 });
  } catch (cause) {
    if (errorCode(cause) !== 'EEXIST') throw cause;
    throw new DeployFault(`${artifact.filename}: there is already a file of this name`, { cause });
  }
  await checkFile(target, artifact);
}

/** Fetched aside and checked first, so that the task's folder never holds half of one. */
export async function placeExternal(artifact: ExternalArtifact, staging: Staging): Promise<void> {
  const { filename = '', url = '' } = artifact;
  const folder = await targetFolder(artifact, staging);
  const fetched = join(staging.folder, `.fetching-${basename(filename)}`);
  try {
    await download(url, fetched, staging.signal);
    await checkFile(fetched, artifact);
    if (filename.endsWith('.tar.gz')) await unpack(fetched, folder, staging);
    else await place(fetched, join(folder, filename), filename);
  } finally {
    await rm(fetched, { force: true });
  }
}

async function unpack(archive: string, folder: string, staging: Staging): Promise<void> {
  await staging.give();
  await extract(archive, folder, staging.asUser, staging.signal);
}

/** A file that is there already may only be the same one. */
async function place(fetched: string, target: string, filename: string): Promise<void> {
  await mkdir(dirname(target), { recursive: true });
  const existing = await md5Of(target).catch(() => undefined);
  if (existing === undefined) return copyFile(fetched, target);
  if (existing !== (await md5Of(fetched)))
    throw new DeployFault(`${filename}: there is already another file of this name`);
}

async function targetFolder(
  artifact: { filename?: string; targetFolderRelativeToTask?: string },
  staging: Staging,
): Promise<string> {
  const asked = artifact.targetFolderRelativeToTask ?? '';
  const isAbsolute = asked.startsWith('/');
  if (isAbsolute)
    await staging.note(`${artifact.filename}: target folder ${asked} is absolute, using the task's folder`);
  const folder = join(staging.folder, isAbsolute ? '' : asked);
  await mkdir(folder, { recursive: true });
  return folder;
}

/** The last part of the path. A name in a URL may be percent-encoded. */
function nameFromUri(uri: string): string {
  const name = /^[a-z]+:\/\//i.test(uri) ? basename(decoded(new URL(uri).pathname)) : basename(uri);
  if (!name || name === '..') throw new DeployFault(`${uri}: has no file name, give outputFile`);
  return name;
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

async function md5Of(path: string): Promise<string> {
  const hash = createHash('md5');
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

/** Size first, then content. What the artifact does not tell is not checked. */
async function checkFile(
  path: string,
  artifact: { filename?: string; filesize?: number; md5sum?: string },
): Promise<void> {
  const { size } = await stat(path);
  if (artifact.filesize !== undefined && artifact.filesize !== size)
    throw new DeployFault(`${artifact.filename}: ${size} bytes instead of ${artifact.filesize}`);
  if (!artifact.md5sum) return;
  const md5 = await md5Of(path);
  if (md5 !== artifact.md5sum.toLowerCase())
    throw new DeployFault(`${artifact.filename}: md5 ${md5} instead of ${artifact.md5sum}`);
}
