import { randomUUID } from 'node:crypto';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import compression from 'compression';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import helmet from 'helmet';
import { SchedulerError } from '../errors.js';
import type { Leadership } from '../leadership/leadership.js';

/** A newer program has changed the schema: this one might read it wrongly, and write what the newer one does not expect. */
export function refuseNewerSchema(leadership: Pick<Leadership, 'standing'>): RequestHandler {
  return (_request: Request, _response: Response, next: NextFunction) => {
    const { newerSchema } = leadership.standing();
    if (newerSchema === undefined) return next();
    next(
      new SchedulerError(
        'NEWER_SCHEMA',
        `A newer Muster migrated the database, up to ${newerSchema}; this instance serves no calls until it is upgraded`,
      ),
    );
  };
}

/** Middleware that every call passes, one after the other: for Express it is one, which it looks up once. */
export function inOrder(...handlers: readonly RequestHandler[]): RequestHandler {
  return (request: Request, response: Response, next: NextFunction) => {
    let passed = 0;
    const go: NextFunction = (cause?: unknown): void => {
      if (cause !== undefined && cause !== null) return next(cause);
      const handler = handlers[passed++];
      if (!handler) return next();
      try {
        void handler(request, response, go);
      } catch (thrown) {
        next(thrown);
      }
    };
    go();
  };
}

interface IdentifiedRequest extends Request {
  requestId: string;
}

/** Pattern of ids that a caller may choose: they go into logs and answers, so they are kept short and plain. */
const acceptableRequestId = /^[\w.:-]{1,100}$/;

/** Gives every call an id (the caller's own, when it sent a usable one) that its answer and the log lines carry. */
export function assignRequestId(request: Request, response: Response, next: NextFunction): void {
  const given = request.headers['x-request-id'];
  const requestId = typeof given === 'string' && acceptableRequestId.test(given) ? given : randomUUID();
  (request as IdentifiedRequest).requestId = requestId;
  response.setHeader('X-Request-Id', requestId);
  next();
}

export const requestIdOf = (request: Request): string => (request as IdentifiedRequest).requestId;

/**
 * Headers for browsers about our pages: nothing of them comes from elsewhere, and no other page frames them. Styles may
 * stand in the page, since Swagger UI puts them there. The operator decides if the service is reached by HTTPS: nothing
 * here asks browsers to insist on it.
 */
const setSecurityHeaders = helmet({
  contentSecurityPolicy: {
    useDefaults: false,
    directives: {
      defaultSrc: ["'self'"],
      styleSrc: ["'self'", "'unsafe-inline'"],
      imgSrc: ["'self'", 'data:'],
      objectSrc: ["'none'"],
      baseUri: ["'self'"],
      formAction: ["'self'"],
      frameAncestors: ["'none'"],
    },
  },
  strictTransportSecurity: false,
  // The API is made to be called from elsewhere where CORS allows it.
  crossOriginResourcePolicy: { policy: 'cross-origin' },
});

/** They are the same for every answer, so they are made once. */
export function securityHeaders(): RequestHandler {
  const headers = new Map<string, string>();
  class Sample extends ServerResponse {
    override setHeader(name: string, value: unknown): this {
      headers.set(name, String(value));
      return this;
    }
  }
  const request = new IncomingMessage(new Socket());
  setSecurityHeaders(request, new Sample(request), () => undefined);
  return (_request: Request, response: Response, next: NextFunction) => {
    response.setHeaders(headers);
    next();
  };
}

/**
 * Refuses versions of HTTP that Node.js reads but does not speak, and a call without a Host, in place of Node.js, which was told to leave
 * that to us (`requireHostHeader`).
 */
export function requireVersionAndHost(
  { httpVersion, headers }: Request,
  _response: Response,
  next: NextFunction,
): void {
  if (httpVersion !== '1.0' && httpVersion !== '1.1')
    return next(
      new SchedulerError('MALFORMED_CALL', `HTTP/${httpVersion} is not answered, only HTTP/1.1 and HTTP/1.0 are`),
    );
  const isMissing = httpVersion === '1.1' && headers.host === undefined;
  next(isMissing ? new SchedulerError('MALFORMED_CALL', 'A call in HTTP/1.1 needs the header Host') : undefined);
}

/** Node.js has each byte of an address as a character of Latin-1. */
const bytesOf = (text: string): Buffer =>
  Buffer.from(
    text.replaceAll(/%([\da-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  );

/** Refuses bytes that are no text: the parser would put U+FFFD in their place. A percent sign that encodes nothing stands for itself. */
export function refuseUndecodedQueries({ url }: Request, _response: Response, next: NextFunction): void {
  const start = url.indexOf('?');
  if (start < 0 || !/%[89a-f]/i.test(url)) return next();
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytesOf(url.slice(start)));
    next();
  } catch {
    next(new SchedulerError('INVALID_PARAMETER', 'The query must be text in UTF-8, percent-encoded'));
  }
}

/** Shorter answers become longer by it. */
const compressedFromBytes = 256;

/** gzip and the like for callers that ask for it. For the others nothing stands between the answer and its connection. */
export function compressAnswers(): RequestHandler {
  const compress = compression({ threshold: compressedFromBytes });
  return (request: Request, response: Response, next: NextFunction) => {
    if (request.headers['accept-encoding'] !== undefined) return compress(request, response, next);
    if (response.hasHeader('Vary')) response.vary('Accept-Encoding');
    else response.setHeader('Vary', 'Accept-Encoding');
    next();
  };
}

/** Ends the connection of a caller who has read nothing of its answer for so long: all of it stands in memory until then. */
export function endUnreadAnswers(millis: number): RequestHandler {
  return (_request, response, next) => {
    // Node.js ends a connection that is idle for so long, and sets the limit anew with the next call.
    response.once('prefinish', () => response.socket?.setTimeout(millis));
    next();
  };
}
