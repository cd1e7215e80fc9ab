import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { z } from 'zod';
import { errorCode, isMissing, namesIn } from '../platform/files.js';

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
export const chunkBytes = 256 * 1024;

/** Each line begins with its time: this tells a file from all others. */
const headBytes = 512;

/** The beginning of a file, by which it is known again under whatever name, compressed or not. */
export const FileHead = z.object({ bytes: z.number(), digest: z.string() });
export type FileHead = z.infer<typeof FileHead>;

/**
 * A file in which the kubelet keeps output of a container: `0.log`, older ones `0.log.<time>`, and still older ones
 * `0.log.<time>.gz`.
 */
export interface SourceFile {
  path: string;
  /** Files are ordered as their texts are. */
  order: string;
  isCompressed: boolean;
}

/**
 * Files of a container that come after `done`, in the order in which they were begun; of one that is being compressed,
 * the whole one.
 */
export async function filesAfter(done: string, directory: string): Promise<SourceFile[]> {
  const found = new Map<string, SourceFile>();
  for (const name of (await namesIn(directory)).toSorted()) {
    const [, start, time = '~', ending] = /^(\d{1,9})\.log(?:\.(\d{8}-\d{6})(\.gz)?)?$/.exec(name) ?? [];
    if (start === undefined) continue;
    const order = `${start.padStart(9, '0')} ${time}`;
    if (order > done && !found.has(order))
      found.set(order, { path: join(directory, name), order, isCompressed: ending !== undefined });
  }
  return [...found.values()].toSorted((a, b) => (a.order < b.order ? -1 : 1));
}

/** Head made of the first bytes of a file, up to its limit. */
export function headOf(bytes: Buffer): FileHead {
  const first = bytes.subarray(0, headBytes);
  return { bytes: first.length, digest: createHash('sha256').update(first).digest('hex') };
}

export async function isSame({ path, isCompressed }: SourceFile, head: FileHead): Promise<boolean> {
  const parts: Buffer[] = [];
  let length = 0;
  try {
    if (!isCompressed) {
      const file = await openPlain(path);
      try {
        const { buffer, bytesRead } = (await file?.read(Buffer.alloc(head.bytes), 0, head.bytes, 0)) ?? {};
        return buffer !== undefined && headOf(buffer.subarray(0, bytesRead)).digest === head.digest;
      } finally {
        await file?.close();
      }
    }
    for await (const chunk of decompressed(path)) {
      parts.push(chunk);
      length += chunk.length;
      if (length >= head.bytes) break;
    }
  } catch {
    return false;
  }
  return headOf(Buffer.concat(parts).subarray(0, head.bytes)).digest === head.digest;
}

/** undefined: it is not there (any more), or is no file. */
export async function openPlain(path: string): Promise<FileHandle | undefined> {
  try {
    const handle = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if ((await handle.stat()).isFile()) return handle;
    await handle.close();
  } catch (cause) {
    if (!isMissing(cause) && errorCode(cause) !== 'ELOOP') throw cause;
  }
  return undefined;
}

export async function* decompressed(path: string): AsyncGenerator<Buffer> {
  const file = await openPlain(path);
  if (!file) return;
  const unpack = createGunzip({ chunkSize: chunkBytes });
  const feeding = pipeline(file.createReadStream(), unpack);
  feeding.catch(() => undefined);
  try {
    yield* unpack as AsyncIterable<Buffer>;
    await feeding;
  } finally {
    unpack.destroy();
    await file.close().catch(() => undefined);
  }
}
