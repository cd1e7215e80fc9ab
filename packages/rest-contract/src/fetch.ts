import { bodyToStream } from './codec/stream-bytes.js';
import { emptyBody, type HttpBody, streamBody } from './raw/body.js';
import type { Entry, HandleRequest, RestRequest } from './raw/message.js';
import { encodeCookies, requestTarget } from './raw/url.js';
import { type ByteReadable, chunksOf, toReadable } from './raw/web-streams.js';

export type { ByteReadable } from './raw/web-streams.js';
export { fetchHandler, type FetchHandlerOptions } from './server/fetch-handler.js';

/** As much of an answer of fetch as is asked for. */
export interface FetchAnswer {
  readonly status: number;
  readonly headers: Pick<Headers, 'get' | 'has'> & {
    forEach(resolveAnswer: (value: string, name: string) => void): void;
  };
  readonly body: ByteReadable | null;
  arrayBuffer(): Promise<ArrayBuffer | Uint8Array>;
}

export interface FetchOptions {
  /** Another implementation of fetch than the platform's. */
  fetch?(url: string, init: RequestInit): Promise<FetchAnswer>;
  /** Sent with every request; a function is asked each time, for tokens that expire. */
  readonly headers?: readonly Entry[] | (() => readonly Entry[] | Promise<readonly Entry[]>);
  /** Passed on to fetch: `credentials`, `keepalive`, an undici `dispatcher`. */
  readonly init?: RequestInit;
}

/** Sends requests with `fetch`. The base URL may have a path. */
export function fetchBackend(baseUrl: string | URL, options: FetchOptions = {}): HandleRequest {
  const base = String(baseUrl).replace(/\/+$/, '');
  return async (request) => {
    const send = options.fetch ?? globalThis.fetch;
    const response = await send(base + requestTarget(request), await initOf(request, options));
    const headers: Entry[] = [];
    response.headers.forEach((value, name) => {
      if (name !== 'content-type') headers.push([name, value]);
    });
    return { status: response.status, headers, body: bodyOf(response, request) };
  };
}

/**
 * The connection closed in the middle of an answer: its server failed or went away. What came before is no whole, and why
 * it broke is known to the server alone.
 */
export class BrokenResponse extends Error {
  override readonly name = 'BrokenResponse';
}

/** A caller that gave up is told its own reason. */
function brokenOff({ method, path, signal }: RestRequest, cause: unknown): unknown {
  if (signal?.aborted) return signal.reason;
  return new BrokenResponse(`The response to ${method} /${path.join('/')} broke off`, { cause });
}

async function initOf(request: RestRequest, { headers: extra, init }: FetchOptions): Promise<RequestInit> {
  const headers: [string, string][] = [];
  const add = (entries: readonly Entry[]) => entries.forEach(([name, value]) => headers.push([name, value]));
  if (extra) add(typeof extra === 'function' ? await extra() : extra);
  add(request.headers);
  if (request.cookies.length > 0) headers.push(['cookie', encodeCookies(request.cookies)]);
  const { body } = request;
  if (body.kind !== 'empty') headers.push(['content-type', body.mediaType]);
  return {
    ...init,
    method: request.method,
    headers,
    ...(request.signal && { signal: request.signal }),
    ...contentOf(body),
  };
}

function contentOf(body: HttpBody): RequestInit {
  if (body.kind === 'empty') return {};
  if (body.kind !== 'stream') return { body: body.content } as RequestInit;
  // `duplex` is what fetch asks for to send a stream; its type declarations are older.
  return { body: toReadable(bodyToStream(body)), duplex: 'half' } as RequestInit;
}

function bodyOf(response: FetchAnswer, request: RestRequest): HttpBody {
  const { body } = response;
  if (!body || response.status === 204 || response.status === 205 || response.status === 304) return emptyBody;
  const mediaType = response.headers.get('content-type') ?? '';
  // A length that counts compressed bytes says nothing of the content.
  const announced = response.headers.has('content-encoding') ? null : response.headers.get('content-length');
  const length = announced === null ? undefined : Number(announced);
  const stream = streamBody(
    chunksOf(body, (cause) => brokenOff(request, cause)),
    mediaType,
    length,
  );
  // Of known length and within the limit, which the caller checked: the platform's own way is the fastest.
  return length === undefined ? stream : { ...stream, readAll: () => wholeOf(response, request) };
}

async function wholeOf(response: FetchAnswer, request: RestRequest): Promise<Uint8Array> {
  try {
    return new Uint8Array(await response.arrayBuffer());
  } catch (cause) {
    throw brokenOff(request, cause);
  }
}
