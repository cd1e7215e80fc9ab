import { timingSafeEqual } from 'node:crypto';
import { request as call, type IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { SchedulerError } from '../errors.js';
import type { LeaderEndpoint } from '../process/process-role.js';
import { calledAddress, callerAddress, noteForwarded } from './addresses-of-call.js';
import { requestIdOf } from './middleware.js';

/** Routes about the process that leads, or about all processes of the instance. Every other route any of them can answer. */
const leaderOnlyRoutes = /^\/(metrics|readyz|api\/metrics|api\/disasters\/failover|api\/test\/.*)\/?$/;
/** `<key> <address of the caller> <address that was called>`; what a caller sends under this name goes no further. */
const forwardedHeader = 'x-muster-forwarded';
/** Headers about one of the two connections. */
const headersOfConnection = new Set([forwardedHeader, 'connection', 'keep-alive', 'proxy-connection', 'expect']);

const forwardedCalls = new WeakSet<Request>();
/** The process that answers a forwarded call counts it; this one does not. */
export const isForwarded = (request: Request): boolean => forwardedCalls.has(request);

/** In an API worker: forwards such calls to the leader, as they came, and its answers back. */
export function forwardToLeader({ port, key }: LeaderEndpoint): RequestHandler {
  return (request: Request, response: Response, next: NextFunction) => {
    if (!leaderOnlyRoutes.test(request.path)) return next();
    forwardedCalls.add(request);
    const headers = withoutThoseOfConnection(request.rawHeaders);
    headers.push(forwardedHeader, `${key} ${callerAddress(request)} ${calledAddress(request)}`, 'Connection', 'close');
    if (request.headers['x-request-id'] !== requestIdOf(request)) headers.push('X-Request-Id', requestIdOf(request));
    const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
    if (length === undefined && encoding === undefined) headers.push('Content-Length', '0');
    // Only what goes on is HTTP/1.1, which needs it.
    if (request.httpVersion === '1.0' && request.headers.host === undefined) headers.push('Host', 'localhost');
    const { method, originalUrl: path } = request;
    const onward = call({ host: '127.0.0.1', port, method, path, headers, agent: false, setHost: false });
    onward.once('response', (answer: IncomingMessage) => {
      const answered = withoutThoseOfConnection(answer.rawHeaders, 'transfer-encoding');
      for (let at = 0; at < answered.length; at += 2) response.removeHeader(answered[at]!);
      response.writeHead(answer.statusCode!, answered);
      pipeline(answer, response, () => undefined);
    });
    onward.once('error', (cause) => {
      if (response.headersSent || response.destroyed) return void response.destroy();
      next(new SchedulerError('UNAVAILABLE', 'The process that leads does not answer; try again', { cause }));
    });
    response.once('close', () => onward.destroy());
    if (request.headers.expect !== undefined) response.writeContinue();
    pipeline(request, onward, () => undefined);
  };
}

function withoutThoseOfConnection(raw: readonly string[], ...further: string[]): string[] {
  const isLeftOut = (name: string): boolean => headersOfConnection.has(name) || further.includes(name);
  return raw.filter((_text, index) => !isLeftOut(raw[index - (index % 2)]!.toLowerCase()));
}

/**
 * In the leader: lets in only what its workers forward, with the addresses of the caller's own connection. Another program on the
 * machine has no business there, and must not choose the address that it is taken to call from.
 */
export function acceptForwardedCalls(key: string): RequestHandler {
  const expected = Buffer.from(key);
  return (request: Request, response: Response, next: NextFunction) => {
    const [given = '', caller = '', called = ''] = (request.get(forwardedHeader) ?? '').split(' ');
    const proof = Buffer.from(given);
    if (proof.length !== expected.length || !timingSafeEqual(proof, expected)) {
      response.status(404).set('Connection', 'close').end();
      return;
    }
    delete request.headers[forwardedHeader];
    noteForwarded(request, { caller, called });
    next();
  };
}
