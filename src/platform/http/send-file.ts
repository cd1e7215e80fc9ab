import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { SchedulerError } from '../errors.js';

/** A file that can be sent whole or in part. */
export interface SentFile {
  name: string;
  /** Bytes, when it was found. */
  size: number;
  /** Epoch milliseconds. */
  mtime: number;
  /** `length` bytes from `offset`. */
  open(offset: number, length: number): Promise<NodeJS.ReadableStream>;
}

/** `fresh`: what the caller has is the file as it is, as Express finds out. */
type FileRequest = Pick<IncomingMessage, 'method' | 'headers'> & { fresh?: boolean };

/**
 * Streams a file, or the range of it that was asked for. A file that grows meanwhile is cut at the length it had; one
 * that shrinks breaks the connection, since the length is promised by then.
 */
export async function sendFile(request: FileRequest, response: ServerResponse, file: SentFile): Promise<void> {
  const etag = `"${file.mtime.toString(36)}-${file.size.toString(36)}"`;
  const headers = {
    ETag: etag,
    'Last-Modified': new Date(file.mtime).toUTCString(),
    'Accept-Ranges': 'bytes',
    // Compressing on the way would change the length and the meaning of ranges.
    'Cache-Control': 'no-cache, no-transform',
    'X-Content-Type-Options': 'nosniff',
  };
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  if (request.fresh) {
    response.removeHeader('Content-Type');
    response.statusCode = 304;
    return void response.end();
  }
  const sameFile = [undefined, etag].includes(request.headers['if-range'] as string | undefined);
  const range = readRange(sameFile ? request.headers.range : undefined, file.size);
  if (range === 'NONE') {
    response.removeHeader('Content-Disposition');
    response.setHeader('Content-Range', `bytes */${file.size}`);
    throw new SchedulerError('RANGE_NOT_SATISFIABLE', `The file has only ${file.size} bytes`);
  }
  const { first, last } = range === 'ALL' ? { first: 0, last: file.size - 1 } : range;
  const length = last - first + 1;
  if (range !== 'ALL') {
    response.statusCode = 206;
    response.setHeader('Content-Range', `bytes ${first}-${last}/${file.size}`);
  }
  response.setHeader('Content-Length', String(length));
  if (request.method === 'HEAD' || length === 0) return void response.end();
  await stream(await file.open(first, length), response, length);
}

async function stream(source: NodeJS.ReadableStream, response: ServerResponse, promised: number): Promise<void> {
  let sent = 0;
  try {
    await pipeline(
      source,
      async function* (chunks) {
        for await (const chunk of chunks) {
          sent += (chunk as Buffer).length;
          yield chunk as Buffer;
        }
        if (sent < promised) throw new Error('The file became shorter');
      },
      response,
    );
  } catch (cause) {
    // The caller went away, or the rest cannot be had: what is left of the connection says so.
    response.destroy();
    if (!response.headersSent) throw cause;
  }
}

/** Part of a file, both ends included, as positions of bytes. */
export interface ByteRange {
  first: number;
  last: number;
}

/**
 * The range that a Range header asks for. 'ALL' also where it asks for several ranges, or for something else than
 * bytes: a server may ignore what it does not serve. 'NONE': the range begins behind the end of the file.
 */
export function readRange(header: string | undefined, size: number): ByteRange | 'ALL' | 'NONE' {
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.replaceAll(' ', '') ?? '');
  if (!match || (match[1] === '' && match[2] === '')) return 'ALL';
  const [, from, to] = match as unknown as [string, string, string];
  if (from === '') return lastBytes(Number(to), size);
  const first = Number(from);
  const last = to === '' ? size - 1 : Math.min(Number(to), size - 1);
  if (to !== '' && Number(to) < first) return 'ALL';
  return first < size ? { first, last } : 'NONE';
}

const lastBytes = (count: number, size: number): ByteRange | 'NONE' =>
  count === 0 || size === 0 ? 'NONE' : { first: Math.max(0, size - count), last: size - 1 };
