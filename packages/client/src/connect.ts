import type { FetchOptions } from 'rest-contract/fetch';
import { caller, type OperationRow } from './call.js';
import { calls, type Muster } from './generated/operations.js';
import { transport } from './transport.js';

export interface MusterOptions {
  /** Address of the service, with its context path if it has one: `http://127.0.0.1:7099`. */
  readonly url: string | URL;
  /**
   * Token of the caller: one that the service made, or of an OpenID Connect provider. A function is asked before each call, for
   * tokens that expire.
   */
  readonly token?: string | (() => string | Promise<string>) | undefined;
  /** Sent with each call. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Another implementation of fetch than the platform's. */
  readonly fetch?: FetchOptions['fetch'] | undefined;
  /** Gives up all calls of this client. */
  readonly signal?: AbortSignal | undefined;
  /** Longest wait for an answer, repetitions included; 60 seconds unless given, 0: no limit. */
  readonly timeoutMs?: number | undefined;
  /**
   * Number of times a call is repeated that was answered 503, or whose connection was lost; 3 unless given. A write is
   * done once all the same: each bears an `Idempotency-Key`.
   */
  readonly retries?: number | undefined;
  /**
   * Makes the service refuse members of a body and parameters of a query that it does not know, so that a misspelt one
   * is reported; true unless given. false: it leaves them out and goes on.
   */
  readonly strict?: boolean | undefined;
  /** The longest answer that is read; 256 MB unless given. Files have no limit. */
  readonly maxResponseBytes?: number | undefined;
}

const MINUTE_MS = 60_000;
const MAX_RESPONSE_BYTES = 268_435_456;

/** A client of the service at this address. Nothing is sent before the first call. */
export function connectMuster(options: MusterOptions): Muster {
  const { token, headers = {}, strict = true, retries = 3 } = options;
  const { timeoutMs = MINUTE_MS, maxResponseBytes = MAX_RESPONSE_BYTES } = options;
  const backend = transport({
    url: String(options.url).replace(/\/+$/, ''),
    fetch: options.fetch,
    headers: async () => {
      const present = typeof token === 'function' ? await token() : token;
      return [
        ...(strict ? [['prefer', 'handling=strict'] as const] : []),
        ...Object.entries(headers),
        ...(present ? [['authorization', proofOf(present)] as const] : []),
      ];
    },
    signal: options.signal,
    retries,
    maxResponseBytes,
  });
  const bounds = { backend, timeoutMs, read: { maxBytes: maxResponseBytes } };
  const muster = {};
  for (const [name, group] of Object.entries<Readonly<Record<string, OperationRow>>>(calls)) {
    // Made when it is used first: a program rarely uses more than a few.
    let made: object | undefined;
    const make = () =>
      Object.fromEntries(Object.entries(group).map(([each, operation]) => [each, caller(operation, bounds)]));
    Object.defineProperty(muster, name, { enumerable: true, get: () => (made ??= make()) });
  }
  return muster as Muster;
}

/** Tokens of providers are JWTs; the others are the service's own. */
const proofOf = (token: string): string => `${/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token) ? 'Bearer' : 'Token'} ${token}`;
