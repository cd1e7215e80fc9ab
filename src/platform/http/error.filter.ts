import { Catch, HttpException, Logger, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { Request, Response } from 'express';
import { SchedulerError } from '../errors.js';
import { errorBody, toErrorAnswer, type ErrorAnswer } from './error-answer.js';
import { requestIdOf } from './request-id.js';

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
    const request = host.switchToHttp().getRequest<Request>();
    const response = host.switchToHttp().getResponse<Response>();
    if (response.headersSent) {
      // A stream broke half-way: cutting the connection is the only way left to say so.
      response.destroy();
      return;
    }
    if (beforeRouting(cause)) {
      const allowed = this.allowedMethods(request.path);
      if (allowed.length === 0) return this.send(request, response, unknownPath(request));
      if (request.method === 'OPTIONS') return void response.set('Allow', allowed.join(', ')).status(204).end();
      if (!allowed.includes(request.method)) {
        response.set('Allow', allowed.join(', '));
        return this.send(request, response, wrongMethod(request, allowed));
      }
    }
    const answer = toErrorAnswer(cause);
    const failed = `${request.method} ${request.path} failed, requestId ${requestIdOf(request)}`;
    // Of an outage one line per call says enough.
    if (answer.status === 503) this.log.warn(`${failed}: ${cause instanceof Error ? cause.message : String(cause)}`);
    else if (answer.status >= 500) this.log.error(failed, cause);
    this.send(request, response, answer);
  }

  private send(request: Request, response: Response, answer: ErrorAnswer): void {
    if (answer.status === 503) response.set('Retry-After', '1');
    response.status(answer.status).json(errorBody(answer, requestIdOf(request), this.numericCode));
  }
}

/**
 * Raised by Nest when no route took the call, or by the body parser, which runs before routing: then whether the path
 * exists at all is still to be found out, and counts first.
 */
const beforeRouting = (cause: unknown): boolean =>
  cause instanceof HttpException
    ? !(cause.cause instanceof URIError)
    : cause instanceof SchedulerError && cause.code === 'UNSUPPORTED_MEDIA_TYPE';

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
