import { timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ZodError } from 'zod';
import { EpochOver } from './epochs.js';
import { messageOf } from './files.js';
import type { Log } from './log.js';
import type { ErrorAnswer } from './protocol.js';

const maxBodyBytes = 64 * 1024 * 1024;

export interface Call {
  /** Of the path's variable part. */
  taskId: string;
  query: Record<string, string>;
  body: unknown;
  /** Aborted when the caller has gone away. */
  signal: AbortSignal;
  response: ServerResponse;
}

/** Answers a value to be sent as JSON, or undefined for 404; or `sent` when it has answered by itself. */
export type Handler = (call: Call) => Promise<unknown>;
export const sent = Symbol('answered already');

/** By "METHOD path", with `:taskId` as the only variable part. */
export type Routes = Record<string, Handler>;

/** The agent's HTTP server: checks the secret, finds the handler, turns what it throws into a status. */
export async function startServer(
  routes: Routes,
  secret: string,
  listen: { host: string; port: number },
  log: Log,
): Promise<{ server: Server; port: number }> {
  const server = createServer((request, response) => {
    answer(routes, secret, request, response).catch((cause: unknown) => {
      log.error(`${request.method} ${request.url} failed`, cause);
      response.destroy();
    });
  });
  // Long polls are open for as long as they wait; only a request that never becomes complete is cut off.
  server.requestTimeout = 60_000;
  // Longer than the scheduler keeps an idle connection, so that it is never closed just as a call comes in.
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(listen, resolve);
  });
  return { server, port: (server.address() as AddressInfo).port };
}

async function answer(
  routes: Routes,
  secret: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (!isAuthorized(request.headers.authorization, secret))
    return send(response, 401, error('The secret is missing or wrong'));
  const url = new URL(request.url ?? '/', 'http://agent');
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  try {
    const { handler, taskId } = find(routes, request.method ?? 'GET', url.pathname);
    if (!handler) return send(response, 404, error(`No operation ${request.method} ${url.pathname}`));
    const query = Object.fromEntries(url.searchParams);
    const value = await handler({ taskId, query, body: await readJson(request), signal: gone.signal, response });
    if (value === sent) return;
    return value === undefined ? send(response, 404, error('Not found')) : send(response, 200, value);
  } catch (cause) {
    if (gone.signal.aborted || response.headersSent) return void response.destroy();
    if (cause instanceof EpochOver) return send(response, 409, { ...error(cause.message), epoch: cause.highest });
    if (cause instanceof ZodError || cause instanceof SyntaxError || cause instanceof URIError)
      return send(response, 400, error(cause.message));
    send(response, 500, error(messageOf(cause)));
  }
}

function isAuthorized(header: string | undefined, secret: string): boolean {
  const given = Buffer.from(header ?? '');
  const wanted = Buffer.from(`Bearer ${secret}`);
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

function find(routes: Routes, method: string, path: string): { handler: Handler | undefined; taskId: string } {
  const parts = path.split('/');
  const isTaskPath = parts[2] === 'tasks' && parts[3] !== undefined && parts[3] !== '';
  const pattern = isTaskPath ? ['', 'v1', 'tasks', ':taskId', ...parts.slice(4)].join('/') : path;
  const key = `${method} ${pattern}`;
  const handler = Object.hasOwn(routes, key) ? routes[key] : undefined;
  return { handler, taskId: isTaskPath ? decodeURIComponent(parts[3] ?? '') : '' };
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBodyBytes) throw new SyntaxError(`The body must not be larger than ${maxBodyBytes} bytes`);
    chunks.push(chunk);
  }
  return bytes === 0 ? undefined : JSON.parse(Buffer.concat(chunks).toString('utf8'));
}

function send(response: ServerResponse, status: number, value: unknown): void {
  const body = JSON.stringify(value);
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
  response.end(body);
}

const error = (message: string): ErrorAnswer => ({ message });
