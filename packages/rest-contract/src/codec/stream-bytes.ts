import type { HttpBody } from '../raw/body.js';

const encoder = new TextEncoder();

/** A body's chunks; one that is already whole is one chunk. */
export async function* bodyToStream(body: HttpBody): AsyncGenerator<Uint8Array> {
  switch (body.kind) {
    case 'stream':
      yield* body.content;
      return;
    case 'bytes':
      yield body.content;
      return;
    case 'text':
      yield encoder.encode(body.content);
  }
}

/** Text pieces of a byte stream; letters split between chunks are joined, broken UTF-8 is an error. */
export async function* decodeUtf8(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  for await (const chunk of chunks) {
    const piece = decoder.decode(chunk, { stream: true });
    if (piece !== '') yield piece;
  }
  const rest = decoder.decode();
  if (rest !== '') yield rest;
}

export async function* encodeUtf8(pieces: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) yield encoder.encode(piece);
}
