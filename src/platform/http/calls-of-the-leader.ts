import { timingSafeEqual } from 'node:crypto';
import { request as call, type IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { SchedulerError } from '../errors.js';
import type { Doorway } from '../process/part.js';
import { requestIdOf } from './middleware.js';

/** They concern the process that leads, or all processes of the instance. The rest is answered by any of them. */
const callsOfTheLeader = /^\/(metrics|readyz|api\/metrics|api\/disasters\/failover|api\/test\/.*)\/?$/;
const isOfLeader = (path: string): boolean => callsOfTheLeader.test(path);
/** `<key> <address of the caller> <address that was called>`; what a caller sends under this name goes no further. */
const passedOnHeader = 'x-muster-passed-on';
/** They are about one of the two connections. */
const headersOfConnection = new Set([passedOnHeader, 'connection', 'keep-alive', 'proxy-connection', 'expect']);

const passedOn = new WeakSet<Request>();
export const wasPassedOn = (request: Request): boolean => passedOn.has(request);

/** In an API worker: hands such calls to the process that leads, as they came, and its answers back. */
export function passOn({ port, key }: Doorway): RequestHandler {
  return (request: Request, response: Response, next: NextFunction) => {
    if (!isOfLeader(request.path)) return next();
    passedOn.add(request);
    const { remoteAddress = '', localAddress = '' } = request.socket;
    const headers = withoutThoseOfConnection(request.rawHeaders);
    headers.push(passedOnHeader, `${key} ${remoteAddress} ${localAddress}`, 'Connection', 'close');
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
    pipeline(request, onward, () => undefined);
  };
}

function withoutThoseOfConnection(raw: readonly string[], ...further: string[]): string[] {
  const isLeftOut = (name: string): boolean => headersOfConnection.has(name) || further.includes(name);
  return raw.filter((_text, index) => !isLeftOut(raw[index - (index % 2)]!.toLowerCase()));
}

/**
 * In the process that leads: lets in only what its workers pass on, and has the connection tell the addresses of the caller's own.
 * Another program on the machine has no business there, and must not choose the address that it is taken to call from.
 */
export function takePassedOn(key: string): RequestHandler {
  const expected = Buffer.from(key);
  return (request: Request, response: Response, next: NextFunction) => {
    const [given = '', remoteAddress, localAddress] = (request.get(passedOnHeader) ?? '').split(' ');
    const proof = Buffer.from(given);
    if (proof.length !== expected.length || !timingSafeEqual(proof, expected)) {
      response.status(404).set('Connection', 'close').end();
      return;
    }
    delete request.headers[passedOnHeader];
    // Each call has a connection of its own.
    Object.defineProperties(request.socket, {
      remoteAddress: { value: remoteAddress },
      localAddress: { value: localAddress },
    });
    next();
  };
}
