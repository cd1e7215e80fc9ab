import type { IncomingMessage, ServerResponse } from 'node:http';
import { answer } from './node.js';
import { incomingBody } from './node-http/request.js';
import { bytesBody, type HttpBody, textBody } from './raw/body.js';
import { essence, FORM_TYPE } from './raw/media-type.js';
import { decodePath, encodeForm } from './raw/url.js';
import type { Entry } from './raw/message.js';
import { basePathOf, withoutBase } from './server/base-path.js';
import type { ServedContract } from './server/serve.js';

export interface ExpressOptions {
  /** Path in front of all operations, where the router that mounts the handler does not take it off. */
  readonly basePath?: string;
  /** Paths that no operation has go on to the next handler, unless false: then they are 404. */
  readonly fallThrough?: boolean;
}

/** Node's request with the additions of Express, Nest and their body parsers. */
export interface ParsedMessage extends IncomingMessage {
  originalUrl?: string;
  body?: unknown;
  rawBody?: unknown;
}
type Next = (error?: unknown) => void;

/** Express middleware: `app.use('/api', expressHandler(serve(UserApi, new Users())))`. */
export function expressHandler(handle: ServedContract, options: ExpressOptions = {}) {
  const base = options.basePath === undefined ? undefined : basePathOf(options.basePath);
  const fallThrough = options.fallThrough ?? true;
  return (message: ParsedMessage, out: ServerResponse, next: Next): void => {
    // With a base path of our own, what routers in between took off the URL does not matter.
    const target = base === undefined ? message.url : withoutBase(message.originalUrl ?? message.url ?? '/', base);
    if (target === undefined || (fallThrough && !isKnown(handle, target))) next();
    else void answer(handle, message, out, target, bodyOf);
  };
}

function isKnown(handle: ServedContract, target: string): boolean {
  const end = target.indexOf('?');
  try {
    return handle.knows(decodePath(end < 0 ? target : target.slice(0, end)));
  } catch {
    return false; // not valid percent-encoding: the last handler says so
  }
}

/** A parser that ran before has emptied the stream: then its result is turned back into what it came from. */
function bodyOf(message: ParsedMessage, signal: AbortSignal): HttpBody {
  const { body, rawBody } = message;
  const untouched = incomingBody(message, signal);
  if (untouched.kind === 'empty' || body === undefined || !message.readableEnded) return untouched;
  const mediaType = message.headers['content-type'] ?? '';
  if (rawBody instanceof Uint8Array) return bytesBody(rawBody, mediaType);
  if (body instanceof Uint8Array) return bytesBody(body, mediaType);
  if (typeof body === 'string' && !essence(mediaType).endsWith('json')) return textBody(body, mediaType);
  if (essence(mediaType) === FORM_TYPE) return textBody(encodeForm(formEntries(body)), mediaType);
  return textBody(JSON.stringify(body), mediaType);
}

const formEntries = (body: unknown): Entry[] =>
  Object.entries(body as Record<string, unknown>).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map((one): Entry => [name, String(one)]),
  );
