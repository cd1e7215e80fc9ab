import { TooLarge, Unreadable } from './failures.js';
import { charsetOf } from './media-type.js';

/** Content plus media type, as it goes over the wire. A stream is read once; everything else may be read again. */
export type HttpBody = EmptyBody | TextBody | BytesBody | StreamBody;

export interface EmptyBody {
  readonly kind: 'empty';
}

export interface TextBody {
  readonly kind: 'text';
  readonly mediaType: string;
  readonly content: string;
}

export interface BytesBody {
  readonly kind: 'bytes';
  readonly mediaType: string;
  readonly content: Uint8Array;
}

export interface StreamBody {
  readonly kind: 'stream';
  readonly mediaType: string;
  readonly content: AsyncIterable<Uint8Array>;
  /** The announced length, when the other side announced one. */
  readonly length?: number | undefined;
  /** A shortcut some backends offer; must refuse more than `limit` bytes like `readBytes` does. */
  readonly readAll?: ((limit: number) => Promise<Uint8Array>) | undefined;
}

export const emptyBody: EmptyBody = Object.freeze({ kind: 'empty' });

export const textBody = (content: string, mediaType = 'text/plain;charset=utf-8'): TextBody => ({
  kind: 'text',
  mediaType,
  content,
});

export const bytesBody = (content: Uint8Array, mediaType = 'application/octet-stream'): BytesBody => ({
  kind: 'bytes',
  mediaType,
  content,
});

export const streamBody = (
  content: AsyncIterable<Uint8Array>,
  mediaType = 'application/octet-stream',
  length?: number,
): StreamBody => ({ kind: 'stream', mediaType, content, length });

export const mediaTypeOf = (body: HttpBody): string | undefined => (body.kind === 'empty' ? undefined : body.mediaType);

const encoder = new TextEncoder();
const nothing = new Uint8Array(0);

/** All bytes of a body; more than `limit` of them is `TooLarge`, found before they are held where the length was announced. */
export function readBytes(body: HttpBody, limit: number): Uint8Array | Promise<Uint8Array> {
  switch (body.kind) {
    case 'empty':
      return nothing;
    case 'text':
      return within(encoder.encode(body.content), limit);
    case 'bytes':
      return within(body.content, limit);
    case 'stream':
      if (body.length !== undefined && body.length > limit) throw new TooLarge(limit);
      return body.readAll ? body.readAll(limit) : collect(body.content, limit);
  }
}

/** The body as text, in the charset its media type names (UTF-8 where it names none). Broken bytes are `Unreadable`. */
export function readText(body: HttpBody, limit: number): string | Promise<string> {
  if (body.kind === 'empty') return '';
  if (body.kind === 'text') {
    // A UTF-16 unit is at most three bytes, so most texts need no count.
    if (body.content.length * 3 > limit) within(encoder.encode(body.content), limit);
    return body.content;
  }
  const bytes = readBytes(body, limit);
  return bytes instanceof Promise
    ? bytes.then((all) => decodeText(all, body.mediaType))
    : decodeText(bytes, body.mediaType);
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function decodeText(bytes: Uint8Array, mediaType: string): string {
  const charset = charsetOf(mediaType);
  try {
    return (charset === 'utf-8' ? utf8 : new TextDecoder(charset, { fatal: true })).decode(bytes);
  } catch {
    throw new Unreadable(`is not valid ${charset} text`);
  }
}

function within(bytes: Uint8Array, limit: number): Uint8Array {
  if (bytes.byteLength > limit) throw new TooLarge(limit);
  return bytes;
}

async function collect(content: AsyncIterable<Uint8Array>, limit: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of content) {
    size += chunk.byteLength;
    if (size > limit) throw new TooLarge(limit);
    chunks.push(chunk);
  }
  if (chunks.length === 1) return chunks[0] ?? nothing;
  const all = new Uint8Array(size);
  let offset = 0;
  for (const chunk of chunks) {
    all.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return all;
}

/** Gives a body up unread, so that a stream's source can let go of its file or socket. */
export async function discard(body: HttpBody): Promise<void> {
  if (body.kind !== 'stream') return;
  await body.content[Symbol.asyncIterator]().return?.();
}
