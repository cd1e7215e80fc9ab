import type { HttpBody } from './body.js';

/** Name and value, in the order given. A name may appear more than once. */
export type Entry = readonly [name: string, value: string];

/** A request as plain data: everything decoded, nothing URL-encoded. */
export interface RestRequest {
  readonly method: string;
  /** Decoded segments: a value may hold a slash. */
  readonly path: readonly string[];
  readonly query: readonly Entry[];
  /** Without content-type and content-length (the body knows them) and without cookie. */
  readonly headers: readonly Entry[];
  readonly cookies: readonly Entry[];
  readonly body: HttpBody;
  /** Fires when the caller gave up: time-out, abort, or a connection that closed. */
  readonly signal?: AbortSignal | undefined;
}

export interface RestResponse {
  readonly status: number;
  /** Without content-type: the body knows it. */
  readonly headers: readonly Entry[];
  readonly body: HttpBody;
}

/** The function that joins a server, a client and a network: all three use it. */
export type HandleRequest = (request: RestRequest) => Promise<RestResponse>;

export const noEntries: readonly Entry[] = Object.freeze([]);

/** First value under `name`; header names compare without case. */
export function headerOf(message: { readonly headers: readonly Entry[] }, name: string): string | undefined {
  const wanted = name.toLowerCase();
  for (const entry of message.headers) {
    if (entry[0].length === wanted.length && entry[0].toLowerCase() === wanted) return entry[1];
  }
  return undefined;
}

// Control characters and line breaks would start another header; HTTP strips outer blanks and has no letters above U+00FF.
// eslint-disable-next-line no-control-regex
const sendable = /^(?:[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)?$/;
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

export const isHeaderValue = (value: string): boolean => sendable.test(value);
export const isHeaderName = (name: string): boolean => token.test(name);
