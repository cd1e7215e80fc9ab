import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { StreamableFile } from '@nestjs/common';
import type { Request, Response } from 'express';
import { map, type Observable } from 'rxjs';
import { SchedulerError } from '../errors.js';
import { withLegacyNames } from './legacy-names.js';
import { filterProperties } from './property-filter.js';

/** Brings what a handler under /api returns into the form that leaves: JSON whatever its type, filtered, in the names asked for. */
export class AnswerInterceptor implements NestInterceptor {
  constructor(private readonly emitLegacyNames: boolean) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const request = context.switchToHttp().getRequest<Request>();
    const response = context.switchToHttp().getResponse<Response>();
    if (!request.path.startsWith('/api/')) return next.handle();
    // Before anything is done. A handler with a type of its own (a download) sends it whatever was asked for.
    if (!request.accepts('application/json') && response.getHeader('Content-Type') === undefined) {
      throw new SchedulerError('NOT_ACCEPTABLE', `Answers are application/json, not '${request.get('accept')}'`);
    }
    return next.handle().pipe(map((value) => this.shape(value, request, response)));
  }

  private shape(value: unknown, request: Request, response: Response): unknown {
    if (value === undefined || value === null || value instanceof StreamableFile) return value;
    // A bare text or boolean is JSON too; Nest would send it as text/html.
    if (typeof value !== 'object') {
      if (response.getHeader('Content-Type') !== undefined) return value;
      response.type('application/json');
      return JSON.stringify(value);
    }
    const { property } = request.query;
    const filtered =
      property !== undefined && request.method !== 'POST' && Array.isArray(value)
        ? filterProperties(value, [property].flat().map(String))
        : value;
    return this.emitLegacyNames ? withLegacyNames(filtered) : filtered;
  }
}
