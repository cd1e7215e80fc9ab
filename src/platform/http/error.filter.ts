import {
  type ArgumentsHost,
  Catch,
  type ExceptionFilter,
  HttpException,
  type INestApplication,
  Logger,
} from '@nestjs/common';
import type { Express, Request, Response } from 'express';
import type { FieldError } from '../../core/field-error.js';
import { errorCodes } from '../error-codes.js';
import { type ErrorCode, SchedulerError } from '../errors.js';
import { isPassing, isRefusedText, isShortOfResources } from '../database/database-errors.js';
import { sendJson } from './json.js';
import { KeptAnswer } from './kept-answer.js';
import { requestIdOf } from './middleware.js';
import { inNamesSent } from './names-sent.js';

const refused = new WeakMap<Response, { code: ErrorCode; message: string }>();

/** The error that the caller was sent; undefined: the answer was none. */
export const refusalOf = (response: Response): { code: ErrorCode; message: string } | undefined =>
  refused.get(response);

/** Writes the one error shape of this API, whatever failed and wherever. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  private readonly log = new Logger(ErrorFilter.name);

  constructor(
    private readonly allowedMethods: (path: string) => string[],
    /** As errorBody says. */
    private readonly numericCode: boolean,
  ) {}

  catch(cause: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<Request>();
    const response = http.getResponse<Response>();
    if (cause instanceof KeptAnswer) return cause.send(response);
    if (response.headersSent) {
      // A stream broke half-way: cutting the connection is the only way left to say so.
      response.destroy();
      return;
    }
    if (beforeRouting(cause)) {
      // About the service as a whole, not about a path.
      if (request.method === 'OPTIONS' && request.url === '*') return void response.status(204).end();
      const allowed = this.allowedMethods(request.path);
      if (allowed.length === 0) return this.send(request, response, unknownPath(request));
      if (request.method === 'OPTIONS') return void response.set('Allow', allowed.join(', ')).status(204).end();
      if (!allowed.includes(request.method)) {
        response.set('Allow', allowed.join(', '));
        return this.send(request, response, wrongMethod(request, allowed));
      }
    }
    const answer = inNamesSent(toErrorAnswer(cause), request);
    const failed = `${request.method} ${request.path} failed, requestId ${requestIdOf(request)}`;
    // One line per call is enough for an outage.
    if (answer.status === 503) this.log.warn(`${failed}: ${cause instanceof Error ? cause.message : String(cause)}`);
    else if (answer.status >= 500) this.log.error(failed, cause);
    this.send(request, response, answer);
  }

  private send(request: Request, response: Response, answer: ErrorAnswer): void {
    if (answer.status === 503) response.set('Retry-After', '1');
    refused.set(response, answer);
    // What the operation would have answered may be of another type.
    response.removeHeader('Content-Type');
    sendJson(response.status(answer.status), errorBody(answer, requestIdOf(request), this.numericCode));
  }
}

/**
 * Raised by Nest when no route took the call, or by the body parser, which runs before routing: then whether the path
 * exists at all is still to be found out, and counts first.
 */
const beforeRouting = (cause: unknown): boolean =>
  cause instanceof HttpException
    ? !(cause.cause instanceof URIError)
    : cause instanceof SchedulerError && (cause.code === 'UNSUPPORTED_MEDIA_TYPE' || cause.code === 'INVALID_JSON');

const unknownPath = ({ path }: Request): ErrorAnswer => ({
  status: 404,
  code: 'NOT_FOUND',
  message: `There is nothing at ${path}`,
  errors: [],
});

const wrongMethod = ({ method, path }: Request, allowed: string[]): ErrorAnswer => ({
  status: 405,
  code: 'METHOD_NOT_ALLOWED',
  message: `${method} is not possible at ${path}, only ${allowed.join(', ')}`,
  errors: [],
});

interface ErrorAnswer {
  status: number;
  code: ErrorCode;
  message: string;
  errors: FieldError[];
  extra?: Record<string, unknown>;
}

/** As it is written. `numericCode`: legacy clients expect the status in `code`; ours then stands in `error`. */
export function errorBody(
  { status, code, message, errors, extra }: ErrorAnswer,
  requestId: string,
  numericCode: boolean,
): Record<string, unknown> {
  const names = numericCode ? { code: status, error: code } : { code };
  return { status, ...names, message, errors, requestId, ...extra };
}

/** The answer to a failure. Anything not meant for callers becomes a 500 without details. */
function toErrorAnswer(cause: unknown): ErrorAnswer {
  if (cause instanceof SchedulerError) {
    return { status: cause.status, code: cause.code, message: cause.message, errors: cause.errors, extra: cause.extra };
  }
  if (cause instanceof HttpException) return fromHttpException(cause);
  if (isShortOfResources(cause)) {
    return answer(
      'OUT_OF_RESOURCES',
      'The database is short of disk, memory or connections; try again when it has room',
    );
  }
  if (isPassing(cause)) {
    return answer('UNAVAILABLE', 'The service cannot reach its database or is changing leaders; try again');
  }
  if (isRefusedText(cause))
    return answer('INVALID_PARAMETER', 'The path or query contains a character that cannot be stored');
  return answer(
    'INTERNAL_ERROR',
    'Something went wrong inside the service; the log has the details under the requestId',
  );
}

/** Express and Nest throw these: bodies that cannot be read, malformed paths. */
function fromHttpException(cause: HttpException): ErrorAnswer {
  switch (cause.getStatus()) {
    case 400:
      return cause.cause instanceof URIError
        ? answer('INVALID_PARAMETER', 'The path contains a malformed percent sign')
        : answer('INVALID_JSON', `The body is not valid JSON: ${cause.message}`);
    case 413:
      return answer('BODY_TOO_LARGE', 'The body is larger than this service accepts');
    case 415:
      return answer('UNSUPPORTED_MEDIA_TYPE', `The body cannot be read: ${cause.message}`);
    default: {
      const known = (Object.keys(errorCodes) as ErrorCode[]).find(
        (code) => errorCodes[code].status === cause.getStatus(),
      );
      return { ...answer(known ?? 'INTERNAL_ERROR', cause.message), status: cause.getStatus() };
    }
  }
}

const answer = (code: ErrorCode, message: string): ErrorAnswer => ({
  status: errorCodes[code].status,
  code,
  message,
  errors: [],
});

interface Layer {
  route?: { path: unknown; methods: Record<string, boolean> };
  match(path: string): boolean;
}

/**
 * Answers which methods a path knows, for 405 and OPTIONS. Empty: no such path. Asked only when no route took a call. A path that
 * has routes of its own is not that of an id which happens to be called so.
 */
export function routesOf(app: INestApplication): (path: string) => string[] {
  const express = app.getHttpAdapter().getInstance() as Express;
  return (path) => {
    // Express has no other list of its routes; `methods` of a route it does not declare.
    const layers = express.router.stack as unknown as Layer[];
    const routes = layers.filter((layer) => layer.route && matches(layer, path)).map(({ route }) => route!);
    const own = routes.filter((route) => !/[:*]/.test(String(route.path)));
    const methods = new Set<string>();
    for (const route of own.length > 0 ? own : routes) {
      for (const method of Object.keys(route.methods)) methods.add(method.toUpperCase());
    }
    if (methods.has('GET')) methods.add('HEAD');
    if (methods.size > 0) methods.add('OPTIONS');
    methods.delete('_ALL');
    return [...methods].sort();
  };
}

function matches(layer: Layer, path: string): boolean {
  try {
    return layer.match(path);
  } catch {
    return false; // a malformed percent sign: such a path names nothing
  }
}
