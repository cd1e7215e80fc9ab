import type { IncomingMessage, ServerResponse } from 'node:http';
import { Unreadable } from './raw/failures.js';
import { HttpErrorException } from './raw/http-error.js';
import type { HandleRequest, RestResponse } from './raw/message.js';
import { emptyBody, type HttpBody } from './raw/body.js';
import { hangUpSignal, incomingBody, readRequest } from './node-http/request.js';
import { writeResponse } from './node-http/response.js';

export interface NodeOptions {
  /** Path in front of all operations: requests outside of it are 404. */
  readonly basePath?: string;
}

/** `createServer(nodeListener(serve(UserApi, new Users()))).listen(8080)` */
export function nodeListener(handle: HandleRequest, options: NodeOptions = {}) {
  const base = basePathOf(options.basePath);
  return (message: IncomingMessage, out: ServerResponse): void => {
    const target = withoutBase(message.url ?? '/', base);
    if (target === undefined || message.url === '*') {
      void writeResponse(message, out, message.url === '*' && message.method === 'OPTIONS' ? reachable : outside);
      return;
    }
    void answer(handle, message, out, target);
  };
}

/** `OPTIONS *` asks whether there is a server, not about a path. */
const reachable: RestResponse = { status: 204, headers: [], body: emptyBody };
const outside = new HttpErrorException(404, 'No operation has this path').toResponse();

/** Answers one request of Node's. `readBody` is for frameworks that may have read the body before. */
export async function answer(
  handle: HandleRequest,
  message: IncomingMessage,
  out: ServerResponse,
  target: string,
  readBody: (message: IncomingMessage, signal: AbortSignal) => HttpBody = incomingBody,
): Promise<void> {
  const signal = hangUpSignal(out);
  try {
    const request = readRequest(message, target, readBody(message, signal), signal);
    await writeResponse(message, out, await handle(request));
  } catch (problem) {
    if (out.headersSent) out.destroy();
    else await writeResponse(message, out, problemResponse(problem));
  }
}

const problemResponse = (problem: unknown) =>
  (problem instanceof Unreadable
    ? new HttpErrorException(400, problem.message)
    : new HttpErrorException(500, 'Internal server error')
  ).toResponse();

/** `''`, or a slash in front and none behind. */
export const basePathOf = (path = '') => {
  const trimmed = path.replace(/^\/+|\/+$/g, '');
  return trimmed === '' ? '' : `/${trimmed}`;
};

/** The target behind the base path; undefined outside of it. */
export function withoutBase(target: string, base: string): string | undefined {
  if (base === '') return target;
  if (!target.startsWith(base)) return undefined;
  const rest = target.slice(base.length);
  if (rest === '' || rest.startsWith('?')) return `/${rest}`;
  return rest.startsWith('/') ? rest : undefined;
}
