import type { IncomingMessage, ServerResponse } from 'node:http';
import { emptyBody, type HttpBody } from '../raw/body.js';
import { TooLarge } from '../raw/failures.js';
import type { Entry, RestRequest } from '../raw/message.js';
import { decodeCookies, parseTarget } from '../raw/url.js';

/** These describe the body or are read elsewhere. */
const TAKEN = new Set(['content-type', 'content-length', 'cookie', 'transfer-encoding']);

class HungUp extends Error {
  override readonly name = 'HungUp';
  constructor() {
    super('The caller hung up');
  }
}

/** Fires when the connection closes before the response is out. */
export function hangUpSignal(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) controller.abort(new HungUp());
  });
  return controller.signal;
}

/** `Unreadable` when the target is not valid percent-encoding. */
export function readRequest(
  message: IncomingMessage,
  target: string,
  body: HttpBody,
  signal: AbortSignal,
): RestRequest {
  const { path, query } = parseTarget(target);
  const { cookie } = message.headers;
  return {
    method: message.method ?? 'GET',
    path,
    query,
    headers: headersOf(message),
    cookies: cookie === undefined ? [] : decodeCookies(cookie),
    body,
    signal,
  };
}

function headersOf({ headers }: IncomingMessage): Entry[] {
  const entries: Entry[] = [];
  for (const name in headers) {
    const value = headers[name];
    if (value === undefined || TAKEN.has(name)) continue;
    if (typeof value === 'string') entries.push([name, value]);
    else for (const one of value) entries.push([name, one]);
  }
  return entries;
}

export function incomingBody(message: IncomingMessage, signal: AbortSignal): HttpBody {
  const { 'content-length': announced, 'transfer-encoding': chunked, 'content-type': mediaType = '' } = message.headers;
  if (chunked === undefined && (announced === undefined || announced === '0')) return emptyBody;
  return {
    kind: 'stream',
    mediaType,
    length: announced === undefined ? undefined : Number(announced),
    // A reader who stops still wants to answer: the socket stays.
    content: message.iterator({ destroyOnReturn: false }),
    readAll: (limit) => readAll(message, limit, signal),
  };
}

function readAll(message: IncomingMessage, limit: number, signal: AbortSignal): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    message.on('data', (chunk: Buffer) => {
      size += chunk.byteLength;
      if (size <= limit) chunks.push(chunk);
      else {
        chunks.length = 0;
        reject(new TooLarge(limit));
      }
    });
    message.once('end', () => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)));
    message.once('error', (error) => reject(signal.aborted ? (signal.reason as Error) : error));
    message.once('close', () => reject(signal.aborted ? (signal.reason as Error) : new HungUp()));
  });
}
