import type { IncomingMessage, ServerResponse } from 'node:http';
import type { HandleRequest, RestResponse } from './raw/message.js';
import { emptyBody, type HttpBody } from './raw/body.js';
import { hangUpSignal, incomingBody, readRequest } from './node-http/request.js';
import { writeResponse } from './node-http/response.js';
import { basePathOf, outside, problemResponse, withoutBase } from './server/base-path.js';

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
