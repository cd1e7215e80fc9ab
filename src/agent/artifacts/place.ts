import { createHash } from 'node:crypto';
import { type FileHandle, mkdir, open, rename, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { isBase64, oneBase64, textsOf } from '../../core/base64.js';
import type { ClusterArtifact, EmbeddedArtifact } from '../../core/model/deploy.js';
import { errorCode } from '../../platform/files.js';
import { fileNameOf } from '../wire/unsupported.js';
import { createFileBelow, openFileBelow, openDirectoryBelow, pathOf } from '../sandbox/below.js';
import { append, counted, download, nameOfSource } from './download.js';
import { DeployFault, type WithFileNumber, type RemoteFile } from './order.js';
import { isArchive, unpack } from './unpack.js';
import type { StagingArea } from './staging.js';

/** Downloads of plain commands and of single runs: unpacked unless they are made executable or asked to stay as they are. */
export async function placeDownload(artifact: WithFileNumber<ClusterArtifact>, staging: StagingArea): Promise<void> {
  const target = join(staging.directory, artifact.outputFile ?? nameFromUri(artifact.uri));
  staging.meter.present = basename(target);
  await fetchTo({ ...artifact, url: artifact.uri }, target, staging);
  if (artifact.executable) await makeExecutable(target, staging);
  else if (artifact.extract !== false && isArchive(target))
    await withFile(target, staging, (file) => unpack(basename(target), file, staging.directory, staging));
}

/** Files that came inside the deploy, as base64. */
export async function placeEmbedded(artifact: EmbeddedArtifact, staging: StagingArea): Promise<void> {
  staging.meter.present = artifact.filename ?? '';
  const target = join(await targetDirectory(artifact, staging), artifact.filename ?? '');
  const texts = textsOf(artifact.content);
  if (!texts.every(isBase64)) throw new DeployFault(`${artifact.filename}: its content is not base64`);
  const content = Buffer.from(oneBase64(texts), 'base64');
  await staging.meter.count(content.length);
  const file = await newFile(target, staging, artifact.filename);
  await file.writeFile(content).finally(() => file.close());
  await withFile(target, staging, (handle) => checkFile(handle, artifact));
}

/** Fetched aside and checked first, so that the task's directory never holds half of one. What the agent has kept it has checked. */
export async function placeRemote(artifact: WithFileNumber<RemoteFile>, staging: StagingArea): Promise<void> {
  const { filename = '', cached } = artifact;
  staging.meter.present = filename;
  const directory = await targetDirectory(artifact, staging);
  const isPacked = filename.endsWith('.tar.gz');
  if (isPacked && cached !== undefined)
    return withCached(cached, (file) => unpack(basename(filename), file, directory, staging));
  const fetched = join(staging.directory, `.fetching-${basename(filename)}`);
  await fetchTo(artifact, fetched, staging);
  if (cached === undefined) await withFile(fetched, staging, (file) => checkFile(file, artifact));
  if (!isPacked) return moveInto(fetched, join(directory, filename), staging, filename);
  await withFile(fetched, staging, (file) => unpack(basename(filename), file, directory, staging));
  await remove(fetched, staging);
}

/** A former file of that name is replaced. Half a file does not stay. */
async function fetchTo(
  { url = '', cached }: WithFileNumber<{ url?: string }>,
  target: string,
  staging: StagingArea,
): Promise<void> {
  await makeDirectory(dirname(target), staging);
  await remove(target, staging);
  const file = await newFile(target, staging);
  try {
    await (cached === undefined ? download(url, file, staging) : copyCached(cached, nameOfSource(url), file, staging));
  } catch (cause) {
    await remove(target, staging);
    throw cause;
  } finally {
    await file.close();
  }
}

async function copyCached(cached: number, name: string, target: FileHandle, staging: StagingArea): Promise<void> {
  try {
    await withCached(cached, (file) =>
      pipeline(file.createReadStream({ autoClose: false }), counted(name, staging), (chunks) =>
        append(chunks as AsyncIterable<Buffer>, target),
      ),
    );
  } catch (cause) {
    throw staging.meter.fault ?? cause;
  }
}

/** Opened anew for each use, at its beginning. It belongs to the agent, and can only be read. */
async function withCached<T>(cached: number, work: (file: FileHandle) => Promise<T>): Promise<T> {
  const file = await open(`/proc/self/fd/${cached}`, 'r');
  return work(file).finally(() => letGo(file));
}

async function withFile<T>(path: string, { root }: StagingArea, work: (file: FileHandle) => Promise<T>): Promise<T> {
  const opened = await openFileBelow(root, path, 'NONE');
  if (!opened) throw new DeployFault(`${basename(path)}: is gone`);
  return work(opened.handle).finally(() => letGo(opened.handle));
}

/** Closes without a wait: a stream that was broken off may still read. */
const letGo = (file: FileHandle): void => void file.close().catch(() => undefined);

/** A file that is there already may only be the same one. */
async function moveInto(fetched: string, target: string, staging: StagingArea, name: string): Promise<void> {
  await makeDirectory(dirname(target), staging);
  const existing = await md5OfPath(target, staging);
  if (existing !== undefined && existing === (await md5OfPath(fetched, staging))) return remove(fetched, staging);
  await (await newFile(target, staging, name)).close();
  await inDirectoryOf(target, staging, async (path) => {
    await inDirectoryOf(fetched, staging, (from) => rename(from, path));
  });
}

async function makeExecutable(path: string, staging: StagingArea): Promise<void> {
  const opened = await openFileBelow(staging.root, path, 'NONE');
  await opened?.handle.chmod(0o755).finally(() => opened.handle.close());
}

async function newFile(path: string, staging: StagingArea, name = path): Promise<FileHandle> {
  await makeDirectory(dirname(path), staging);
  try {
    return await createFileBelow(staging.root, path, 0o644);
  } catch (cause) {
    if (errorCode(cause) === 'EEXIST')
      throw new DeployFault(`${name}: there is already a file of this name`, { cause });
    throw cause;
  }
}

async function targetDirectory(
  artifact: { filename?: string; targetFolderRelativeToTask?: string },
  staging: StagingArea,
): Promise<string> {
  const asked = artifact.targetFolderRelativeToTask ?? '';
  const isAbsolute = asked.startsWith('/');
  if (isAbsolute)
    await staging.note(`${artifact.filename}: target folder ${asked} is absolute, using the task's folder`);
  const directory = join(staging.directory, isAbsolute ? '' : asked);
  await makeDirectory(directory, staging);
  return directory;
}

/** With all directories above it. A link on the way, which an archive may have brought, is not followed. */
async function makeDirectory(path: string, { root }: StagingArea): Promise<void> {
  if (path === '.') return;
  const existing = await openDirectoryBelow(root, path, 'NONE');
  if (existing) return existing.handle.close();
  await makeDirectory(dirname(path), { root } as StagingArea);
  const parent = await openDirectoryBelow(root, dirname(path), 'NONE');
  try {
    await mkdir(`${pathOf(parent!.handle)}/${basename(path)}`);
  } catch (cause) {
    if (errorCode(cause) !== 'EEXIST') throw cause;
    throw new DeployFault(`${path} is no folder of the sandbox`, { cause });
  } finally {
    await parent?.handle.close();
  }
}

async function inDirectoryOf<T>(path: string, { root }: StagingArea, work: (path: string) => Promise<T>): Promise<T> {
  const directory = await openDirectoryBelow(root, dirname(path), 'NONE');
  if (!directory) throw new DeployFault(`${dirname(path)} is no folder of the sandbox`);
  return work(`${pathOf(directory.handle)}/${basename(path)}`).finally(() => directory.handle.close());
}

const remove = (path: string, staging: StagingArea): Promise<void> =>
  inDirectoryOf(path, staging, async (place) => {
    await unlink(place).catch((cause: unknown) => {
      if (errorCode(cause) === 'EISDIR') throw new DeployFault(`${path} is a folder`, { cause });
      if (errorCode(cause) !== 'ENOENT') throw cause;
    });
  });

function nameFromUri(uri: string): string {
  const name = fileNameOf(uri);
  if (name === undefined) throw new DeployFault(`${uri}: has no file name, give outputFile`);
  return name;
}

/** undefined: no such file. */
async function md5OfPath(path: string, { root }: StagingArea): Promise<string | undefined> {
  const opened = await openFileBelow(root, path, 'NONE');
  return opened && md5Of(opened.handle).finally(() => opened.handle.close());
}

export async function md5Of(file: FileHandle): Promise<string> {
  const hash = createHash('md5');
  await pipeline(file.createReadStream({ autoClose: false, start: 0 }), hash);
  return hash.digest('hex');
}

/** Size first, then content, which is answered. What the artifact does not tell is not checked. */
export async function checkFile(
  file: FileHandle,
  { filename = '', filesize, md5sum }: Pick<RemoteFile, 'filename' | 'filesize' | 'md5sum'>,
): Promise<string> {
  const { size } = await file.stat();
  if (filesize !== undefined && filesize !== size)
    throw new DeployFault(`${filename}: ${size} bytes instead of ${filesize}`);
  const md5 = await md5Of(file);
  if (md5sum && md5 !== md5sum.toLowerCase()) throw new DeployFault(`${filename}: md5 ${md5} instead of ${md5sum}`);
  return md5;
}
