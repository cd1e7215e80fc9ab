import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { StreamableFile } from '@nestjs/common';
import type { Request, Response } from 'express';
import { map, type Observable } from 'rxjs';
import { SchedulerError } from '../errors.js';
import type { Settings } from '../settings/settings.js';
import { tagAnswer } from './entity-tag.js';
import { toJson } from './json.js';
import { asLargeAnswer } from './large-answer.js';
import { inOurNames, withLegacyNames } from './legacy-names.js';
import { pageOf } from './list-pages.js';
import { filterProperties } from './property-filter.js';

/** Brings what a handler under /api returns into the form that leaves: JSON whatever its type, filtered, in the names asked for. */
export class AnswerInterceptor implements NestInterceptor {
  constructor(private readonly legacyFieldNames: Settings['legacyFieldNames']) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const request = context.switchToHttp().getRequest<Request>();
    const response = context.switchToHttp().getResponse<Response>();
    if (!request.path.startsWith('/api/')) return next.handle();
    // Before anything is done. A handler with a type of its own (a download) sends it whatever was asked for.
    if (!takesJson(request) && response.getHeader('Content-Type') === undefined) {
      throw new SchedulerError('NOT_ACCEPTABLE', `Answers are application/json, not '${request.get('accept')}'`);
    }
    return next.handle().pipe(map((value) => this.shape(value, request, response)));
  }

  private shape(value: unknown, request: Request, response: Response): unknown {
    if (value === undefined || value === null || value instanceof StreamableFile) return value;
    // Whoever names another type sends something else than JSON.
    if (typeof value !== 'object' && response.getHeader('Content-Type') !== undefined) return value;
    const selected = typeof value === 'object' ? this.select(value, request, response) : value;
    const body = toJson(selected);
    response.type('application/json');
    tagAnswer(request, response, body);
    return asLargeAnswer(selected, body);
  }

  private select(value: object, request: Request, response: Response): unknown {
    const { property } = request.query;
    const isList = Array.isArray(value) && request.method !== 'POST';
    const page = isList ? pageOf(value, request, response) : value;
    const filtered = isList && property !== undefined ? filterProperties(page, this.paths(property)) : page;
    return this.legacyFieldNames === 'accept+emit' ? withLegacyNames(filtered) : filtered;
  }

  private paths(property: unknown): string[] {
    const paths = [property].flat().map(String);
    return this.legacyFieldNames === 'off' ? paths : paths.map(inOurNames);
  }
}

/** By itself a range with a character set matches only a type that has it, too. */
const json = ['application/json', 'application/json; charset=utf-8'];

/** An empty Accept asks for nothing in particular, as a missing one does. */
const takesJson = (request: Request): boolean => !request.get('accept')?.trim() || request.accepts(json) !== false;
