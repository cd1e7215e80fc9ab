import { createHash } from 'node:crypto';
import type { Request, Response } from 'express';

/** Larger answers cost more to sum up than it saves to leave some of them out. */
const mostCharacters = 1_048_576;
/** Clients read an ETag of this resource as a whole number, and do without one. */
const isRead = /^\/api\/requests\/request\/[^/]+\/?$/;

/** Names the state of what is read, so that a caller that has it already is told 304 instead. */
export function tagAnswer(request: Request, response: Response, body: string): void {
  if (request.method !== 'GET' && request.method !== 'HEAD') return;
  if (body.length > mostCharacters || isRead.test(request.path) || response.getHeader('ETag') !== undefined) return;
  response.set('ETag', `W/"${createHash('sha1').update(body).digest('base64url')}"`);
}
