import express, { type NextFunction, type Request, type RequestHandler, type Response } from 'express';
import { SchedulerError } from '../errors.js';
import { markBodiless } from './needs-body.js';
import { BodyProblem, normalizeBody } from './normalize-body.js';
import { isPlainText, readsText } from './text-bodies.js';

const withoutBody = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Reads bodies of POST, PUT and DELETE alike: strict JSON in UTF-8, compressed or not, up to maxBytes. No body, an empty
 * one and null all read as {}, so that operations with an optional body need not tell them apart; `NeedsBody` does.
 */
export function jsonBody(maxBytes: number, acceptLegacyNames: boolean): RequestHandler[] {
  return [
    refuseOtherMediaTypes,
    express.text({ limit: maxBytes, type: (request) => readsText(request as Request), verify: noteIfEmpty }),
    express.json({ strict: false, limit: maxBytes, type: hasBody, verify: noteIfEmpty }),
    (request, _response, next) => {
      if (withoutBody.has(request.method)) return next();
      if (request.body === undefined || request.body === null) markBodiless(request);
      try {
        request.body = normalizeBody(request.body ?? {}, acceptLegacyNames);
        next();
      } catch (cause) {
        next(cause instanceof BodyProblem ? SchedulerError.invalid('INVALID_REQUEST', [cause.error]) : cause);
      }
    },
  ];
}

/** An empty body reads as {}; so does one that was never sent, which leaves nothing behind at all. */
function noteIfEmpty(request: object, _response: unknown, bytes: Buffer): void {
  if (bytes.length === 0) markBodiless(request);
}

const hasBody = (request: { method?: string }): boolean => !withoutBody.has(request.method ?? '');

function refuseOtherMediaTypes(request: Request, _response: Response, next: NextFunction): void {
  const given = request.get('content-type');
  const length = request.get('content-length');
  const empty = request.get('transfer-encoding') === undefined && (length === undefined || length === '0');
  const isJson = given !== undefined && /^application\/([\w.-]+\+)?json\s*(;|$)/i.test(given);
  if (empty || given === undefined || !hasBody(request) || isJson) return next();
  if (readsText(request) && isPlainText(given)) return next();
  next(new SchedulerError('UNSUPPORTED_MEDIA_TYPE', `The body must be application/json, not '${given}'`));
}
