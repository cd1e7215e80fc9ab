import { BrokenResponse, fetchBackend, type FetchOptions } from 'rest-contract/fetch';
import {
  bytesBody,
  errorOf,
  type HandleRequest,
  headerOf,
  type HttpBody,
  readBytes,
  type RestRequest,
  type RestResponse,
} from 'rest-contract/client';
import { codeOf, MusterError, neverSent, ServiceUnreachable } from './errors.js';

export interface TransportOptions {
  readonly url: string;
  readonly fetch?: FetchOptions['fetch'];
  readonly headers: NonNullable<FetchOptions['headers']>;
  readonly signal?: AbortSignal | undefined;
  /** Number of times a call is repeated. */
  readonly retries: number;
  readonly maxResponseBytes: number;
}

const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 10_000;

/**
 * Sends calls, turns refusals into `MusterError`, and repeats what the service could not do just now. A read can be repeated
 * as it is. A write bears a key from its first try on, so that the service does it once however often it arrives.
 */
export function transport(options: TransportOptions): HandleRequest {
  const send = fetchBackend(options.url, {
    headers: options.headers,
    ...(options.fetch && { fetch: options.fetch }),
  });
  return async (asked) => {
    const request = prepared(asked, options.signal);
    const mayRepeat = isRead(request) || hasKey(request);
    for (let tries = 0; ; tries++) {
      let failure: MusterError | ServiceUnreachable;
      let pauseMs = pauseAfter(tries);
      try {
        const response = await send(request);
        if (response.status < 300) return await whole(response, options.maxResponseBytes);
        failure = await refusalOf(request, response);
        pauseMs = Math.max(pauseMs, failure.retryAfterMs ?? 0);
      } catch (cause) {
        failure = unreachable(request, options.url, cause);
      }
      if (!mayRepeat || tries >= options.retries || pauseMs > LONGEST_PAUSE_MS || !isPassing(failure)) throw failure;
      await pause(pauseMs, request.signal);
    }
  };
}

function prepared(request: RestRequest, signal: AbortSignal | undefined): RestRequest {
  const signals = [request.signal, signal].filter((one) => one !== undefined);
  const headers = mayBearKey(request) ? [...request.headers, ['idempotency-key', freshId()] as const] : request.headers;
  return { ...request, headers, signal: signals.length > 1 ? anySignal(...signals) : signals[0] };
}

const sourcesOf = new WeakMap<AbortSignal, readonly AbortSignal[]>();

/**
 * A signal that aborts with the first of these. It keeps them as long as it is there itself: AbortSignal.any of Node.js lets one with a
 * time limit that nothing else refers to be collected, and never aborts by it (nodejs/node#57736).
 */
export function anySignal(...signals: AbortSignal[]): AbortSignal {
  // oxlint-disable-next-line no-restricted-properties -- See above.
  const first = AbortSignal.any(signals);
  sourcesOf.set(first, signals);
  return first;
}

/** Browsers have crypto.randomUUID for pages that came by HTTPS alone. */
export function freshId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

const isRead = ({ method, path }: RestRequest): boolean => method === 'GET' && path[0] === 'api';

/** True for calls that do something outside of the database, which would happen again when they are repeated. */
const actsOutside = ({ path }: RestRequest): boolean => path[1] === 'test' || path.at(-1) === 'failover';

const mayBearKey = (request: RestRequest): boolean =>
  request.method !== 'GET' && request.path[0] === 'api' && !actsOutside(request) && !hasKey(request);

const hasKey = (request: RestRequest): boolean => headerOf(request, 'idempotency-key') !== undefined;

/** The service is there but cannot do it now, or it went away in the middle. One that never was there is told at once. */
const isPassing = (failure: MusterError | ServiceUnreachable): boolean =>
  failure instanceof MusterError
    ? failure.status === 503 || failure.code === 'IDEMPOTENT_CALL_RUNNING'
    : !neverSent(failure.code);

const pauseAfter = (tries: number): number => FIRST_PAUSE_MS * 2 ** tries * (0.75 + Math.random() / 2);

async function refusalOf(request: RestRequest, response: RestResponse): Promise<MusterError> {
  const { body, status } = await errorOf(response);
  const seconds = Number(headerOf(response, 'retry-after') ?? NaN);
  const retryAfterMs = seconds >= 0 ? 1000 * seconds : undefined;
  return new MusterError(status, detailsOf(body), `${request.method} /${request.path.join('/')}`, retryAfterMs);
}

function detailsOf(body: HttpBody): Readonly<Record<string, unknown>> {
  if (body.kind !== 'text') return {};
  try {
    const json: unknown = JSON.parse(body.content);
    return typeof json === 'object' && json !== null ? (json as Record<string, unknown>) : {};
  } catch {
    return {}; // a page of a proxy in between
  }
}

/** The error for a call without an answer. A caller who gave up gets their own reason, not that the service is away. */
function unreachable(request: RestRequest, url: string, cause: unknown): ServiceUnreachable {
  if (request.signal?.aborted) throw request.signal.reason;
  if (!(cause instanceof TypeError) && !(cause instanceof BrokenResponse)) throw cause;
  const code = codeOf(cause.cause);
  return new ServiceUnreachable(url, cause, { code, mayBeDone: request.method !== 'GET' && !neverSent(code) });
}

/** JSON is read here and now, so that an answer that breaks off counts as none. Files and texts stay streams. */
async function whole(response: RestResponse, maxBytes: number): Promise<RestResponse> {
  const { body } = response;
  if (body.kind !== 'stream' || !body.mediaType.startsWith('application/json')) return response;
  return { ...response, body: bytesBody(await readBytes(body, maxBytes), body.mediaType) };
}

export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error);
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal?.addEventListener('abort', stop, { once: true });
  });
}
