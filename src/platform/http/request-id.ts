import { randomUUID } from 'node:crypto';
import type { NextFunction, Request, Response } from 'express';

export interface IdentifiedRequest extends Request {
  requestId: string;
}

const header = 'X-Request-Id';
/** What a caller may choose as id: it goes into logs and answers, so it is kept short and plain. */
const acceptable = /^[\w.:-]{1,100}$/;

/** Gives every call an id (the caller's own, when it sent a usable one) that its answer and the log lines carry. */
export function assignRequestId(request: Request, response: Response, next: NextFunction): void {
  const given = request.get(header);
  const requestId = given !== undefined && acceptable.test(given) ? given : randomUUID();
  (request as IdentifiedRequest).requestId = requestId;
  response.set(header, requestId);
  next();
}

export const requestIdOf = (request: Request): string => (request as IdentifiedRequest).requestId;
