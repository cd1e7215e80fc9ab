import { bodyToStream } from '../codec/stream-bytes.js';
import { discard, emptyBody, type HttpBody, streamBody } from '../raw/body.js';
import type { Entry, HandleRequest, RestRequest, RestResponse } from '../raw/message.js';
import { decodeCookies, parseTarget } from '../raw/url.js';
import { chunksOf, toReadable } from '../raw/web-streams.js';
import { basePathOf, outside, problemResponse, withoutBase } from './base-path.js';

export interface FetchHandlerOptions {
  /** Path in front of all operations: requests outside of it are 404. */
  readonly basePath?: string;
}

/**
 * Answers a `Request` of the web platform with a `Response`: `Bun.serve({ fetch: fetchHandler(serve(UserApi, new Users())) })`,
 * `Deno.serve(fetchHandler(…))`, `export default { fetch: fetchHandler(…) }` of a worker, a route of Next or Hono.
 */
export function fetchHandler(handle: HandleRequest, options: FetchHandlerOptions = {}) {
  const base = basePathOf(options.basePath);
  return async (request: Request): Promise<Response> => {
    const target = withoutBase(targetOf(request.url), base);
    if (target === undefined) return responseOf(outside, request.method);
    try {
      return await responseOf(await handle(requestOf(request, target)), request.method);
    } catch (problem) {
      return responseOf(problemResponse(problem), request.method);
    }
  };
}

/** Path and query as they were sent: the URL class would change some of them. */
function targetOf(url: string): string {
  const path = url.indexOf('/', url.indexOf('//') + 2);
  const target = path < 0 ? '/' : url.slice(path);
  const fragment = target.indexOf('#');
  return fragment < 0 ? target : target.slice(0, fragment);
}

/** These describe the body or are read elsewhere. */
const taken = new Set(['content-type', 'content-length', 'cookie', 'transfer-encoding']);

function requestOf(request: Request, target: string): RestRequest {
  const { path, query } = parseTarget(target);
  const headers: Entry[] = [];
  request.headers.forEach((value, name) => {
    if (!taken.has(name)) headers.push([name, value]);
  });
  const cookie = request.headers.get('cookie');
  return {
    method: request.method,
    path,
    query,
    headers,
    cookies: cookie === null ? [] : decodeCookies(cookie),
    body: bodyOf(request),
    signal: request.signal,
  };
}

function bodyOf({ body, headers }: Request): HttpBody {
  if (!body) return emptyBody;
  const length = headers.get('content-length');
  const announced = length === null ? undefined : Number(length);
  return streamBody(chunksOf(body), headers.get('content-type') ?? '', announced);
}

async function responseOf({ status, headers, body }: RestResponse, method: string): Promise<Response> {
  const sent = new Headers();
  for (const [name, value] of headers) sent.append(name, value);
  if (body.kind !== 'empty') sent.set('content-type', body.mediaType);
  if (body.kind === 'empty') return new Response(null, { status, headers: sent });
  if (method === 'HEAD') {
    await discard(body);
    return new Response(null, { status, headers: sent });
  }
  const content =
    body.kind === 'stream' ? toReadable(bodyToStream(body)) : (body.content as string | Uint8Array<ArrayBuffer>);
  return new Response(content, { status, headers: sent });
}
